/**
 * Calls to a Roku's control port, with its refusals explained (protocols/roku.md 1.2): any 2xx is yes, 401 is disabled,
 * 403 is limited mode or a caller outside its network, 400 is an unknown key, 404 is an app that is not installed.
 */
import { DeviceError, hasCode, hasReason, inStandby, protocolError, wrongDevice, ZapdError } from "../../api/errors.ts";
import {
  type Answer,
  bodyText,
  DeviceHttp,
  type Read,
  type ReadOptions,
  refuseRedirect,
} from "../../transport/http.ts";
import { documentText } from "../../transport/xml.ts";
import type { Address, DeepLink, Emit, Facts, PlatformHost, Power, Sighting } from "../platform.ts";
import { type RokuIdentity, type RokuMemory, type RokuTarget, readDescription, readDeviceInfo } from "./identity.ts";

/** The paths of ECP that zapd uses (1.2 to 1.8). */
export const paths = {
  description: "/",
  deviceInfo: "/query/device-info",
  apps: "/query/apps",
  activeApp: "/query/active-app",
  mediaPlayer: "/query/media-player",
  audioDevice: "/query/audio-device",
  tvChannels: "/query/tv-channels",
  tvActiveChannel: "/query/tv-active-channel",
  icon: (id: string) => `/query/icon/${encodeURIComponent(id)}`,
  key: (word: string) => `/keypress/${encodeURIComponent(word)}`,
  /** One character. Not form encoding: a space is %20, a plus is %2B (1.8). */
  character: (character: string) => `/keypress/Lit_${encodeURIComponent(character)}`,
  launch: (id: string, params: DeepLink) => {
    const query = Object.entries(params).map(
      ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
    );
    return `/launch/${encodeURIComponent(id)}${query.length > 0 ? `?${query.join("&")}` : ""}`;
  },
  exit: (id: string) => `/exit-app/${encodeURIComponent(id)}`,
} as const;

export const ecpPort = 8060;

/** The menu path of the access mode (1.2), in the set's words. */
export const accessHint =
  "On the Roku: Settings > System > Advanced system settings > Control by mobile apps > Network access: Enabled";

const permissiveHint = accessHint.replace("Enabled", "Permissive, or run zapd in the network of the Roku");

const remoteHint = "Turn it on with its own remote, and check that it is on the network";

export const developerHint =
  "Turn on developer mode on the Roku: press Home three times, Up twice, Right, Left, Right, Left, Right, and choose a password";

const maxDocumentBytes = 1024 * 1024;

/** What a set does not have: an app, a key, a document (1.2); 501 is the answer of evilutioner/smart-tv-emulator. */
const absent: ReadonlySet<number> = new Set([400, 404, 501]);

export type DeviceInfo = Facts & { readonly power: Power };

/** How long a proven identity and a power state hold: somebody may turn the set off meanwhile. */
const identityHoldsMs = 2_000;

/** The control port of one Roku. */
export class Ecp {
  readonly http: DeviceHttp;
  readonly #target: RokuTarget;
  readonly #emit: Emit<RokuMemory>;
  /** As of the last proof, which was at most `identityHoldsMs` old when the last request was sent, however late its answer came. */
  #power: { readonly is: Power; readonly access: Facts["access"] } | undefined;

  constructor(target: RokuTarget, platformHost: PlatformHost, emit: Emit<RokuMemory>, canTurnOn = () => true) {
    this.#target = target;
    this.#emit = emit;
    this.http = new DeviceHttp({
      address: target,
      platformHost,
      prove: async (read) => void (await this.#identity(read)),
      proofHoldsMs: identityHoldsMs,
      get silentHint() {
        return canTurnOn() ? undefined : remoteHint;
      },
    });
  }

  /** The facts and the power of the set, proven to be the one that is meant; `null` where it refuses to tell them. */
  async info(signal: AbortSignal): Promise<DeviceInfo | null> {
    return this.#identity((path) => this.http.read(path, signal));
  }

  /** Whether the set has just told that it is in standby. Of a player that says nothing (1.3). */
  get inStandby(): boolean {
    return this.#target.facts.kind !== "player" && this.#power?.is === "standby";
  }

  /** Whether its access mode lets it list its apps. */
  get listsApps(): boolean {
    const { access } = this.#target.facts;
    return access !== "limited" && access !== "disabled";
  }

  /** What was just sent may have turned the set on or off. */
  forgetPower(): void {
    this.#power = undefined;
    this.http.closeKept();
  }

  /**
   * Throws where the set is in standby, and would lose the command: the reason `asleep` has the set turned on and the command
   * sent again, `device_refused` says that its access mode lets nobody turn it on.
   */
  readonly mustBeOn = (): void => {
    if (!this.inStandby) return;
    const access = this.#power?.access;
    if (access === "limited" || access === "disabled") throw refused("is in standby and cannot be turned on", access);
    throw inStandby();
  };

  /**
   * The text of a document; `null` where the set has none. Fails with `device_refused` when its access mode withholds it.
   * `proven: false` leaves the check of the identity to the caller; `check` runs after that check, and may throw.
   */
  async document(path: string, what: string, signal: AbortSignal, options: ReadOptions = {}): Promise<string | null> {
    const answer = await this.#get(path, what, signal, { maxBytes: maxDocumentBytes, ...options });
    return answer && documentText(answer);
  }

  /** The bytes of a picture; `null` where the set has none. Fails as `document` does, and where it is longer than `maxBytes`. */
  async picture(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null> {
    return (await this.#get(path, "send that picture", signal, { maxBytes }))?.body ?? null;
  }

  async #get(path: string, what: string, signal: AbortSignal, options: ReadOptions): Promise<Answer | null> {
    const answer = await this.http.read(path, signal, { proven: true, ...options });
    if (absent.has(answer.status)) return null;
    await this.#requireOk(answer, what, signal);
    return answer;
  }

  /**
   * Sends one command, and returns the status: a 2xx (202 for PowerOn and for an app that runs already), 400, 404 or 501.
   * `check` runs when the identity and the power of the set are known, and may throw.
   */
  async command(path: string, what: string, signal: AbortSignal, check?: () => void): Promise<number> {
    const answer = await this.http.command(path, signal, check && { check });
    if (!absent.has(answer.status)) await this.#requireOk(answer, what, signal);
    return answer.status;
  }

  async #identity(read: Read): Promise<DeviceInfo | null> {
    const answerer = await readIdentity(read);
    if (!answerer.ids.includes(this.#target.identity)) {
      if (answerer.isIncomplete) throw protocolError("did not report its identity");
      throw wrongDevice(this.#target.host);
    }
    const { facts, memory, power } = answerer;
    this.#emit({ type: "facts", facts, memory });
    this.#power = power === null ? undefined : { is: power, access: facts.access };
    if (power === null) return null;
    if (power !== "unknown") this.#emit({ type: "state", patch: { power } });
    return { ...facts, power };
  }

  async #requireOk(answer: Answer, what: string, signal: AbortSignal): Promise<void> {
    if (isOk(answer)) return;
    refuseRedirect(answer);
    const problem = `refused to ${what}`;
    if (answer.status === 401) throw refused(problem, "disabled");
    if (answer.status !== 403) throw new ZapdError("device_error", "reported an internal error");
    if (/limited mode/i.test(bodyText(answer))) throw refused(problem, "limited");
    const info = await this.info(signal).catch((failure: unknown) => {
      if (hasReason(failure, "denied")) throw failure;
      return null;
    });
    if (info?.access !== "full") throw refused(problem, info?.access === "disabled" ? "disabled" : "limited");
    throw denied("device_refused", `${problem}: it accepts commands only from its own network`, permissiveHint);
  }
}

export function isOk({ status }: Answer): boolean {
  return status >= 200 && status <= 299;
}

function refusedMode(status: number): Facts["access"] {
  return status === 401 ? "disabled" : status === 403 ? "limited" : null;
}

function refused(problem: string, access: "limited" | "disabled"): DeviceError {
  const mode = access === "limited" ? "Limited" : "Disabled";
  return denied("device_refused", `${problem}: its network access is set to ${mode}`, accessHint);
}

function denied(code: "device_refused" | "device_error", message: string, hint: string): DeviceError {
  return new DeviceError(code, message, { phase: "answered", reason: "denied", hint });
}

/** Identifies the Roku at an address. Fails with `device_unreachable`, or with `device_error` when it is no Roku. */
export async function identifyRoku(
  address: Address,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Sighting<RokuMemory>> {
  const http = new DeviceHttp({ address, platformHost });
  const { ids, facts, memory, power, isIncomplete } = await readIdentity((path) => http.read(path, signal)).finally(
    () => http.close(),
  );
  const [identity] = ids;
  if (identity === undefined) throw new ZapdError("device_error", "reports no serial number and no other id");
  return {
    identity,
    facts,
    memory,
    pairing: "none",
    ...(power !== null && { power }),
    provisional: isIncomplete,
  };
}

interface Identified extends RokuIdentity {
  /** `null` where the set did not answer with its device-info. */
  readonly power: Power | null;
  /** A document that could not be read now may hold its serial number. */
  readonly isIncomplete: boolean;
}

/**
 * Reads which set answers, in the same way when it is found and when it is proven. The description is read only where
 * device-info has no serial number: in disabled mode nothing else answers, and on some sets it alone has one (1.3).
 */
async function readIdentity(read: Read): Promise<Identified> {
  const deviceInfo = await orNull(async () => {
    const answer = await read(paths.deviceInfo);
    return { answer, info: isOk(answer) ? await orNull(() => readDeviceInfo(documentText(answer))) : null };
  });
  const info = deviceInfo?.info;
  if (info?.facts.serial) return { ...info, isIncomplete: false };
  const readUpnp = async () => {
    const answer = await read(paths.description);
    // In its own network it serves this in every mode, outside it nothing (1.2). `device_refused` would not do: that comes from a
    // set that has proven who it is, and an installation may go on after it.
    if (answer.status === 403 && deviceInfo?.answer.status === 403)
      throw denied("device_error", "refuses everything, as a Roku does to other networks", permissiveHint);
    if (!isOk(answer)) throw protocolError("does not answer as a Roku does");
    return readDescription(documentText(answer));
  };
  if (!info) {
    const upnp = await readUpnp();
    const access = deviceInfo ? refusedMode(deviceInfo.answer.status) : null;
    const isIncomplete = upnp.facts.serial === null && access === null;
    return { ...upnp, facts: { ...upnp.facts, access }, power: null, isIncomplete };
  }
  const upnp = await orNull(readUpnp);
  const ids = [...(upnp?.ids ?? []), ...info.ids];
  const known = Object.entries(info.facts).filter(([, fact]) => fact !== null);
  const facts = { ...info.facts, ...upnp?.facts, ...Object.fromEntries(known) };
  return { ...info, facts, ids, isIncomplete: upnp === null };
}

/** `null` where the device answered something wrong; no answer at all fails. */
async function orNull<T>(read: () => T | Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (hasCode(error, "device_error")) return null;
    throw error;
  }
}
