/**
 * HTTP requests to a TV (smart-tvs.md 3.1, 3.3): its identity, its power and its apps. They need no token, wake no TV
 * and show no prompt. TVs that give tokens are asked over TLS, and must show the certificate of their pairing first.
 */
import { DeviceError, hasReason, inStandby, protocolError, wrongDevice, ZapdError } from "../../api/errors.ts";
import { type Answer, bodyText, DeviceHttp, refuseRedirect } from "../../transport/http.ts";
import { type PlatformHost, pinOf } from "../platform.ts";
import { isAddressIdentity } from "../query.ts";
import type { SamsungTarget } from "./memory.ts";
import { type AppStatus, appPath, type Info, infoPath, readAppStatus, readInfo } from "./protocol.ts";

/** The TV's ports (3.1): with TLS, and without. */
export const securePort = 8_002;
export const plainPort = 8_001;

/** What a TV reported about itself is reused this long, because keys often come in bursts. */
const infoFreshMs = 2_000;

/** Whether a TV takes keys only with a token: always once it gave one, else unless it has been seen without. */
export function givesToken({ memory, port, secret }: Pick<SamsungTarget, "memory" | "port" | "secret">): boolean {
  return secret.readAnyway()?.token !== undefined || (memory.token ?? port !== plainPort);
}

/**
 * Whether a TV is reached over TLS. Some of 2016 answer at the port with TLS, and give no tokens
 * (tavicu/homebridge-samsung-tizen#52); the others are never known by that port.
 */
export function isSecure(target: SamsungTarget): boolean {
  return target.port === securePort || givesToken(target);
}

/**
 * Fails with `wrong_device` where another TV answers, and with `device_unproven` where it no longer reports its identity.
 */
export function requireIdentity({ identity, host }: Pick<SamsungTarget, "identity" | "host">, { duid }: Info): void {
  if (duid === identity || isAddressIdentity(identity)) return;
  if (duid !== null) throw wrongDevice(host);
  throw new DeviceError("device_unproven", "no longer reports its identity: it may be another device", {
    phase: "connect",
    reason: "wrong_device",
    hint: "If it was replaced or reset: zapd forget {device}, then zapd discover",
  });
}

/** Fails with `device_error` where the answer is not that of a TV. */
export function parseInfo(answer: Answer): Info {
  refuseRedirect(answer);
  if (answer.status !== 200) throw protocolError("does not answer as a Samsung TV does");
  return readInfo(bodyText(answer));
}

export class Rest {
  readonly #http: DeviceHttp;
  readonly #target: SamsungTarget;
  #last: { readonly info: Info; readonly at: number } | undefined;

  constructor(target: SamsungTarget, platformHost: PlatformHost) {
    this.#target = target;
    this.#http = new DeviceHttp({
      address: target,
      platformHost,
      ...(isSecure(target) && { certificate: pinOf(target) }),
      prove: async (read) => void this.#record(await read(infoPath)),
    });
  }

  /**
   * Reads what the TV reports about itself, and checks its identity. Fails as a command does where it does not answer.
   */
  async info(signal: AbortSignal): Promise<Info> {
    return this.#record(await this.#http.read(infoPath, signal));
  }

  /** Fails with `asleep` where the TV reports standby. */
  async requireOn(signal: AbortSignal): Promise<void> {
    const last = this.#last;
    const { power } = last && performance.now() - last.at < infoFreshMs ? last.info : await this.info(signal);
    if (power === "standby") throw inStandby();
  }

  /** Forgets what was read before a command that changes it. */
  invalidate(): void {
    this.#last = undefined;
    this.#http.closeKept();
  }

  /** An app and its status; `null` where it is not installed or has no status, `undefined` where the TV does not say. */
  async app(id: string, signal: AbortSignal): Promise<AppStatus | null | undefined> {
    const answer = await this.#http.read(appPath(id), signal, { proven: true });
    if (answer.status === 404) return null;
    // Seen at the launch of an app that is not installed (balmli/com.samsung.smart#65).
    if (answer.status === 401) return undefined;
    if (answer.status !== 200) throw refused();
    return readAppStatus(id, bodyText(answer));
  }

  async launch(id: string, signal: AbortSignal): Promise<void> {
    const answer = await this.#http.command(appPath(id), signal);
    if (answer.status === 404) throw noSuchApp(id);
    if (answer.status >= 300) throw refused();
  }

  async stop(id: string, signal: AbortSignal): Promise<void> {
    const answer = await this.#http.command(appPath(id), signal, { method: "DELETE" });
    // It has ended by itself.
    if (answer.status >= 300 && answer.status !== 404) throw refused();
  }

  close(): void {
    this.#http.close();
  }

  #record(answer: Answer): Info {
    const info = parseInfo(answer);
    requireIdentity(this.#target, info);
    this.#last = { info, at: performance.now() };
    return info;
  }
}

/**
 * A TV that does not answer after a command that it took is off, or does not show the effect. `device_unreachable` would have
 * the command sent again.
 */
export function falseIfSilent(signal: AbortSignal): (error: unknown) => false {
  return (error) => {
    signal.throwIfAborted();
    if (hasReason(error, "refused", "no_route", "timeout", "closed")) return false;
    throw error;
  };
}

export function noSuchApp(id: string): ZapdError {
  return new ZapdError("app_not_found", `has no app "${id}" installed`, {
    hint: "See what is installed: zapd refresh -d {device}, then zapd apps -d {device}",
  });
}

export function refused(): DeviceError {
  return new DeviceError("device_refused", "refused the request", { phase: "answered", reason: "denied" });
}
