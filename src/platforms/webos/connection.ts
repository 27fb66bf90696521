/** The session of a set that lets us in, with what it pushes, its pointer, and its power. */
import { ZapdError } from "../../errors.ts";
import { deadline } from "../http.ts";
import { isJson } from "../json.ts";
import { Link, type Session } from "../link.ts";
import type { DeviceSurroundings, Target } from "../platform.ts";
import { doorsOf, enter } from "./doors.ts";
import { knownFacts } from "./identity.ts";
import { admit, pairingRequired } from "./pairing.ts";
import { Pointer } from "./pointer.ts";
import { type Payload, readLaunchPoints, uris } from "./protocol.ts";
import type { WebosSession } from "./session.ts";
import { WebosState } from "./state.ts";

/** A session that was heard this lately is taken to live: a key is answered by nobody. */
const heardLately = 2_000;
const provenWithin = 1_500;
/** Text goes where the focus is; whether there is one is only told to those who subscribe (2.4). */
export type Focus = boolean | null;

/** A session, ready for commands. */
export class Ready implements Session {
  readonly session: WebosSession;
  readonly state: WebosState;
  readonly pointer: Pointer;
  readonly #titles = new Map<string, string>();
  focus: Focus = null;
  /** The last of play and pause that was sent. */
  lastMedia: "play" | "pause" = "play";
  /** Commands under way that are no request. */
  #busy = 0;

  constructor(session: WebosSession, state: WebosState, pointer: Pointer) {
    this.session = session;
    this.state = state;
    this.pointer = pointer;
  }

  get alive(): boolean {
    return this.session.alive;
  }

  get pending(): number {
    return this.session.pending + this.#busy;
  }

  close(): void {
    this.pointer.close();
    this.session.close();
  }

  async busy<T>(work: () => Promise<T>): Promise<T> {
    this.#busy++;
    try {
      return await work();
    } finally {
      this.#busy--;
    }
  }

  title(appId: string): string | null {
    return this.#titles.get(appId) ?? null;
  }

  /** The list of apps, whose names are remembered for the state. */
  async apps(signal: AbortSignal) {
    const apps = readLaunchPoints(await this.session.request(uris.launchPoints, {}, signal));
    for (const { platformId, name } of apps) this.#titles.set(platformId, name);
    return apps;
  }

  /** Fails with `device_unreachable` when the set is gone though its socket is open still (2.2). */
  async proveAlive(signal: AbortSignal): Promise<void> {
    if (this.session.quiet < heardLately) return;
    const proof = this.session.request(uris.power, {}, deadline(provenWithin, signal));
    await proof.catch((error: unknown) => {
      if (signal.aborted) throw signal.reason;
      if (error instanceof ZapdError && (error.code === "unsupported_operation" || error.code === "device_refused"))
        return;
      this.session.destroy();
      throw new ZapdError("device_unreachable", "no longer answers, though it has not hung up", {
        hint: "It may be asleep: try zapd key power-on",
        cause: error,
      });
    });
  }

  request(uri: string, payload: Payload, signal: AbortSignal): Promise<Payload> {
    this.state.commanded();
    return this.session.request(uri, payload, signal).finally(() => this.state.commanded());
  }
}

/** The link to one set; opening it never makes the set show anything. */
export function linkTo(target: Target, surroundings: DeviceSurroundings): Link<Ready> {
  const link: Link<Ready> = new Link<Ready>({
    debug: (message) => surroundings.debug(`${target.host}: ${message}`),
    onEnd: () => surroundings.fellSilent(),
    async open(signal, _unasked, ended) {
      const { credentials } = surroundings;
      if (!credentials.read()?.["key"]) {
        surroundings.learned({ access: "unpaired" });
        throw pairingRequired("takes no commands: it is not paired with zapd");
      }
      const doors = doorsOf(target, target.ports, target.traits["door"]);
      const { session, hello } = await enter(doors, surroundings, signal, target.identity);
      try {
        await admit(session, credentials, signal);
      } catch (error) {
        session.destroy();
        if (error instanceof ZapdError && error.code === "pairing_required")
          surroundings.learned({ access: "unpaired" });
        throw error;
      }
      let ready: Ready | undefined;
      session.onEnd(({ again, why }) => {
        surroundings.debug(
          `${target.host}: the set ${why.reason || "hung up"}${why.code === null ? "" : ` (${why.code})`}`,
        );
        ready?.pointer.close();
        ended({ again });
      });
      // As sets do on their way off, and while they start (2.5): nothing has been asked of it that it could have done.
      const stillThere = () => {
        if (!session.alive) throw new ZapdError("device_unreachable", "hung up: it is turning off, or still starting");
      };
      const state = await WebosState.follow(
        session,
        {
          power(power, leaving) {
            // The first answers come with the session; what comes later was said by itself.
            if (power !== null) surroundings.heard(power);
            if (!ready || !(leaving || power === "off")) return;
            session.leaving = true;
            // It leaves its socket open and silent: nothing more is to be heard there.
            link.drop();
          },
        },
        signal,
      );
      const pointer = new Pointer(session, target, surroundings);
      ready = new Ready(session, state, pointer);
      const made = ready;
      stillThere();
      await session.subscribe(uris.keyboard, (said) => followFocus(made, said), signal).catch(() => {});
      surroundings.learned(await knownFacts(session, hello, target, signal));
      stillThere();
      return ready;
    },
  });
  return link;
}

function followFocus(ready: Ready, said: Payload): void {
  const widget = said["currentWidget"];
  const focus = isJson(widget) ? widget["focus"] : undefined;
  if (typeof focus === "boolean") ready.focus = focus;
}
