/**
 * What a TV is asked over HTTP (smart-tvs.md 3.1, 3.3): who it is, whether it is on, and its apps. Nothing of it wakes a TV
 * or shows anything on it, and it needs no token. Sets that give tokens are asked over TLS, and must show the certificate of
 * their pairing before a word is said.
 */
import { DeviceError, inStandby, protocolError, wrongDevice, ZapdError } from "../../api/errors.ts";
import { type Answer, bodyText, DeviceHttp } from "../../transport/http.ts";
import { type PlatformHost, pinOf } from "../platform.ts";
import { isAddressIdentity } from "../query.ts";
import type { SamsungTarget } from "./memory.ts";
import { type AppNow, appPath, type Info, infoPath, readAppNow, readInfo } from "./protocol.ts";

/** The ports of the TV (3.1): over TLS, and without. */
export const securePort = 8_002;
export const plainPort = 8_001;

/** What a TV said of itself so lately is so still: many keys come at a time. */
const freshMs = 2_000;

/** Whether a TV is reached over TLS: all but those that have been seen not to; one that gave a token whatever is said of it. */
export function isSecure({ memory, port, secret }: Pick<SamsungTarget, "memory" | "port" | "secret">): boolean {
  return secret.readAnyway()?.token !== undefined || (memory.token ?? port !== plainPort);
}

/** Fails with `wrong_device` where another TV answers, and with `device_unproven` where it keeps to itself who it is, and did not. */
export function mustBe({ identity, host }: Pick<SamsungTarget, "identity" | "host">, { duid }: Info): void {
  if (duid === identity || isAddressIdentity(identity)) return;
  if (duid !== null) throw wrongDevice(host);
  throw new DeviceError("device_unproven", "does not say who it is any more: it may be another device", {
    phase: "connect",
    reason: "wrong_device",
    hint: "If the set was really replaced or reset: zapd forget {device}, then zapd discover",
  });
}

/** What a TV says of itself. Fails with `device_error` where it says nothing. */
export function infoOf(answer: Answer): Info {
  if (answer.status !== 200) throw protocolError(`answered ${answer.status} when it was asked who it is`);
  return readInfo(bodyText(answer));
}

export class Rest {
  readonly #http: DeviceHttp;
  readonly #target: SamsungTarget;
  #said: { readonly info: Info; readonly at: number } | undefined;

  constructor(target: SamsungTarget, platformHost: PlatformHost) {
    this.#target = target;
    this.#http = new DeviceHttp({
      address: target,
      platformHost,
      ...(isSecure(target) && { certificate: pinOf(target) }),
      prove: async (read) => void this.#take(await read(infoPath)),
    });
  }

  /** What the TV says of itself now: it has proven to be the one that is meant. Fails as a command does where it does not answer. */
  async info(signal: AbortSignal): Promise<Info> {
    return this.#take(await this.#http.read(infoPath, signal));
  }

  /** Fails where it is not on: with `asleep`, where it says so. */
  async mustBeOn(signal: AbortSignal): Promise<void> {
    const isFresh = this.#said !== undefined && performance.now() - this.#said.at < freshMs;
    const { power } = isFresh && this.#said ? this.#said.info : await this.info(signal);
    if (power === "standby") throw inStandby();
  }

  /** What it said is old: it was told something that changes it. */
  forget(): void {
    this.#said = undefined;
    this.#http.requireProof();
  }

  /** An app as it is now; `null` where the TV has none of that id, or keeps its state to itself. */
  async app(id: string, signal: AbortSignal): Promise<AppNow | null> {
    const answer = await this.#http.read(appPath(id), signal, { proven: true });
    if (answer.status === 404) return null;
    if (answer.status !== 200) throw refused(answer);
    return readAppNow(id, bodyText(answer));
  }

  async launch(id: string, signal: AbortSignal): Promise<void> {
    const answer = await this.#http.command(appPath(id), signal);
    if (answer.status === 404) throw noSuchApp(id);
    if (answer.status >= 300) throw refused(answer);
  }

  async stop(id: string, signal: AbortSignal): Promise<void> {
    const answer = await this.#http.command(appPath(id), signal, { method: "DELETE" });
    // It has ended by itself meanwhile.
    if (answer.status >= 300 && answer.status !== 404) throw refused(answer);
  }

  close(): void {
    this.#http.close();
  }

  #take(answer: Answer): Info {
    const info = infoOf(answer);
    mustBe(this.#target, info);
    this.#said = { info, at: performance.now() };
    return info;
  }
}

export function noSuchApp(id: string): ZapdError {
  return new ZapdError("app_not_found", `has no app "${id}" installed`, {
    hint: "See what is installed: zapd refresh -d {device}, then zapd apps -d {device}",
  });
}

function refused({ status }: Answer): DeviceError {
  return new DeviceError("device_refused", `refused it: it answered ${status}`, {
    phase: "answered",
    reason: "denied",
  });
}
