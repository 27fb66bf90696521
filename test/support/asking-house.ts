/** A fake platform whose sets must be paired by a code, a login or a confirmation, and zapd with it; without a network. */
import { DeviceError, pairingFailed, ZapdError } from "../../src/api/errors.ts";
import type { Paired, Pairing, Platform } from "../../src/platforms/platform.ts";
import { fakePlatform, sightingOf } from "./fake-platform.ts";
import { type House, openHouseOf } from "./house-of.ts";

/** A set that must be paired. */
export class AskingSet {
  readonly asks: Pairing["step"];
  /** The code that it shows, or `user:password`. */
  readonly secret: string;
  expiresMs = 60_000;
  /** Whether it shows a prompt now, and how many it has shown. */
  showing = false;
  times = 0;
  /** Every code or login that was entered. */
  readonly typed: string[] = [];
  /** Whether zapd has asked to be paired. */
  isAsked = false;
  /** It asks its user once this ends. */
  begins: Promise<unknown> = Promise.resolve();
  #user = Promise.withResolvers<Paired>();

  constructor(asks: Pairing["step"], secret: string) {
    this.asks = asks;
    this.secret = secret;
  }

  /** Somebody accepts at the set, or refuses. */
  answer(accepts: boolean): void {
    this.showing = false;
    if (accepts) this.#user.resolve(this.#key());
    else this.#user.reject(pairingFailed("denied", "was denied: somebody refused it there"));
  }

  pairing(): Pairing {
    this.showing = true;
    this.times++;
    this.#user = Promise.withResolvers<Paired>();
    this.#user.promise.catch(() => {});
    const enter = async (typed: string): Promise<Paired> => {
      this.typed.push(typed);
      // A careless set repeats what was entered.
      if (typed !== this.secret) throw pairingFailed("wrong", `does not know ${typed.split(":").at(-1)}`);
      this.showing = false;
      return this.#key();
    };
    const cancel = () => {
      this.showing = false;
      this.#user.reject(new DeviceError("device_error", "hung up", { phase: "sent", reason: "closed" }));
    };
    const { expiresMs } = this;
    if (this.asks === "code")
      return { step: "code", form: "digits", length: this.secret.length, expiresMs, enter, cancel };
    if (this.asks === "login")
      return { step: "login", expiresMs, cancel, enter: (user = "usual", password) => enter(`${user}:${password}`) };
    return { step: "confirm", expiresMs, cancel, done: this.#user.promise };
  }

  #key(): Paired {
    return { secret: { key: `key-of-${this.secret}` }, facts: { access: "full" } };
  }
}

export interface AskingHouse extends House {
  /** Adds a set under a name, unpaired. */
  add(name: string, set: AskingSet): Promise<string>;
}

const askingPort = 4_711;

/** The platform of these sets, by their ports. */
function askingPlatform(sets: ReadonlyMap<number, AskingSet>): Platform {
  const setAt = (port: number) => {
    const set = sets.get(port);
    if (!set) throw new ZapdError("device_unreachable", "did not answer");
    return set;
  };
  return {
    ...fakePlatform({
      name: "asking",
      port: askingPort,
      identify: async ({ port }) => {
        setAt(port);
        return sightingOf(`asking-${port}`, {}, { pairing: "required" });
      },
      describe: ({ access }) => ({
        has: new Set(["pair", "state"]),
        withheld: new Set(access === "full" ? [] : ["state"]),
        keys: new Set(),
      }),
    }),
    async pair({ port }) {
      const set = setAt(port);
      set.isAsked = true;
      await set.begins;
      return set.pairing();
    },
  };
}

export async function openAskingHouse(): Promise<AskingHouse> {
  const sets = new Map<number, AskingSet>();
  const house = await openHouseOf(askingPlatform(sets));
  return {
    ...house,
    async add(name, set) {
      const port = askingPort + sets.size;
      sets.set(port, set);
      const { status, body } = await house.api("POST", "/devices", { host: "127.0.0.1", port, name });
      if (status !== 200) throw new Error(`${name} was not added: ${JSON.stringify(body)}`);
      return body.data.id;
    },
  };
}
