/**
 * Calls to a Roku's control port, with its refusals explained (protocols/roku.md 1.2): any 2xx is yes, 401 is disabled,
 * 403 is limited mode or a caller outside its network, 400 is a key it does not know, 404 is not installed.
 */
import { ZapdError } from "../../errors.ts";
import { Elsewhere } from "../elsewhere.ts";
import { type Answer, bodyText, DeviceHttp, type Read } from "../http.ts";
import type { DeviceSurroundings, Facts, Power, Target } from "../platform.ts";
import { accessHint, paths } from "./paths.ts";

const appListBytes = 1024 * 1024;

export type DeviceInfo = Facts & { readonly power: Power };

/** The control port of one Roku. */
export class Ecp {
  readonly http: DeviceHttp;
  readonly #target: Target;
  readonly #surroundings: DeviceSurroundings;

  constructor(target: Target, surroundings: DeviceSurroundings) {
    this.#target = target;
    this.#surroundings = surroundings;
    this.http = new DeviceHttp({
      address: target,
      surroundings,
      prove: async (read) => void (await this.#identity(read)),
    });
  }

  /** What the set says of itself, proven to be the set that is meant; `null` where it refuses to say. */
  async info(signal: AbortSignal): Promise<DeviceInfo | null> {
    return this.#identity((path) => this.http.read(path, signal));
  }

  /**
   * One document; fails with `device_refused` when the set's settings withhold it, and gives `null` when it has none.
   * `proven: false` takes it from whoever answers, for a caller that asks beside it who that is.
   */
  async document(
    path: string,
    what: string,
    signal: AbortSignal,
    { proven = true }: { proven?: boolean } = {},
  ): Promise<string | null> {
    const answer = await this.http.read(path, signal, { maxBytes: appListBytes, proven });
    if (answer.status === 404 || answer.status === 400) return null;
    await this.#accept(answer, what, signal);
    return bodyText(answer);
  }

  /** One command. Any 2xx is accepted (202 for PowerOn and for an app that runs already); gives the status of a 400 or 404. */
  async command(path: string, what: string, signal: AbortSignal): Promise<number> {
    const answer = await this.http.command(path, signal);
    if (answer.status !== 400 && answer.status !== 404) await this.#accept(answer, what, signal);
    return answer.status;
  }

  async #identity(read: Read): Promise<DeviceInfo | null> {
    const info = await read(paths.deviceInfo);
    const { readDescription, readDeviceInfo } = await import("./identity.ts");
    const facts = isOk(info) ? readDeviceInfo(bodyText(info)) : null;
    // In disabled mode only the description says who is there (1.3).
    const found = facts ?? readDescription(bodyText(await read(paths.description)));
    if (found.identity !== this.#target.identity) throw new Elsewhere(this.#target.host);
    this.#surroundings.learned(facts ?? { ...found, access: refusedMode(info.status) });
    return facts;
  }

  async #accept(answer: Answer, what: string, signal: AbortSignal): Promise<void> {
    if (isOk(answer)) return;
    if (answer.status >= 300 && answer.status < 400)
      throw new ZapdError("device_error", "answered with a redirect, and none is ever followed");
    if (answer.status === 401) throw refused(what, "Disabled");
    if (answer.status !== 403)
      throw new ZapdError("device_error", `could not ${what}: it answered with a failure of its own`);
    if (/limited mode/i.test(bodyText(answer))) throw refused(what, "Limited");
    const info = await this.info(signal).catch(() => null);
    if (info?.access !== "full") throw refused(what, info?.access === "disabled" ? "Disabled" : "Limited");
    throw new ZapdError("device_refused", `refused to ${what}: it takes commands only from its own network`, {
      hint: accessHint.replace("Enabled", "Permissive, or run zapd in the network of the set"),
    });
  }
}

function isOk(answer: Answer): boolean {
  return answer.status >= 200 && answer.status <= 299;
}

function refusedMode(status: number): Facts["access"] {
  return status === 401 ? "disabled" : status === 403 ? "limited" : null;
}

function refused(what: string, mode: string): ZapdError {
  return new ZapdError("device_refused", `refused to ${what}: its network access is set to ${mode}`, {
    hint: accessHint,
  });
}

/** Who lives at an address: `device_unreachable`, or `device_error` when it is no Roku. */
export async function identifyRoku(http: DeviceHttp, signal: AbortSignal): Promise<Facts> {
  const info = await http.read(paths.deviceInfo, signal).catch((error: unknown) => {
    if (error instanceof ZapdError && error.code === "device_unreachable") throw error;
    return null; // a stick on 12.0.0 had no such document: the description still tells (1.3)
  });
  const { readDescription, readDeviceInfo } = await import("./identity.ts");
  if (info && isOk(info)) {
    const facts = attempt(() => readDeviceInfo(bodyText(info)));
    if (facts) return facts;
  }
  const description = await http.read(paths.description, signal);
  if (!isOk(description)) throw new ZapdError("device_error", "is not a Roku");
  return { ...readDescription(bodyText(description)), access: info ? refusedMode(info.status) : null };
}

function attempt<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}
