/**
 * Calls to a Roku's control port, with its refusals explained (protocols/roku.md 1.2): any 2xx is yes, 401 is disabled,
 * 403 is limited mode or a caller outside its network, 400 is a key it does not know, 404 is not installed.
 */
import { DeviceError, hasCode, inStandby, protocolError, wrongDevice, ZapdError } from "../../api/errors.ts";
import { type Answer, bodyText, DeviceHttp, type Read, refuseRedirect } from "../../transport/http.ts";
import { documentText } from "../../transport/xml.ts";
import type { Address, Emit, Facts, PlatformHost, Power, Sighting } from "../platform.ts";
import { type RokuMemory, type RokuTarget, readDescription, readDeviceInfo, type Said } from "./identity.ts";

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
  launch: (id: string, params: Readonly<Record<string, string>>) => {
    const query = Object.entries(params).map(
      ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
    );
    return `/launch/${encodeURIComponent(id)}${query.length > 0 ? `?${query.join("&")}` : ""}`;
  },
  exit: (id: string) => `/exit-app/${encodeURIComponent(id)}`,
} as const;

export const ecpPort = 8060;

/** Where the user sets who may control a Roku (1.2), in the set's own words. */
export const accessHint =
  "On the Roku: Settings > System > Advanced system settings > Control by mobile apps > Network access: Enabled";

/** For a set that zapd cannot turn on. */
const remoteHint = "Turn it on with its own remote, and see that it is on the network";

export const developerHint =
  "Turn developer mode on at the set: press Home three times, Up twice, Right, Left, Right, Left, Right, and choose a password";

const appListBytes = 1024 * 1024;

interface DocumentOptions {
  readonly proven?: boolean;
  readonly check?: () => void;
}

/** What a set says of itself: its facts, and whether it is on. */
export type DeviceInfo = Facts & { readonly power: Power };

/** How long a set's word on who it is and whether it is on holds: it may be turned off by another hand meanwhile. */
const wordHolds = 2_000;

/** The control port of one Roku. */
export class Ecp {
  readonly http: DeviceHttp;
  readonly #target: RokuTarget;
  readonly #emit: Emit<RokuMemory>;
  #power: { readonly is: Power; readonly access: Facts["access"]; readonly at: number } | undefined;

  constructor(target: RokuTarget, platformHost: PlatformHost, emit: Emit<RokuMemory>, canTurnOn = () => true) {
    this.#target = target;
    this.#emit = emit;
    this.http = new DeviceHttp({
      address: target,
      platformHost,
      prove: async (read) => void (await this.#identity(read)),
      proofHoldsMs: wordHolds,
      get silentHint() {
        return canTurnOn() ? undefined : remoteHint;
      },
    });
  }

  /** What the set says of itself, proven to be the set that is meant; `null` where it refuses to say. */
  async info(signal: AbortSignal): Promise<DeviceInfo | null> {
    return this.#identity((path) => this.http.read(path, signal));
  }

  /** Whether the set has just said that it is in standby. A player does not know, for it is never off itself (1.3). */
  get inStandby(): boolean {
    const said = this.#said;
    return said !== undefined && this.#target.facts.kind !== "player" && (said.is === "standby" || said.is === "off");
  }

  /** Whether its settings let it say which apps it has. */
  get listsApps(): boolean {
    const { access } = this.#target.facts;
    return access !== "limited" && access !== "disabled";
  }

  /** Its word is an old one: what was just sent may turn it on or off. */
  powerChanges(): void {
    this.#power = undefined;
    this.http.requireProof();
  }

  get #said() {
    return this.#power && performance.now() - this.#power.at < wordHolds + 500 ? this.#power : undefined;
  }

  /**
   * Keeps back what a set in standby would take and lose. `device_unreachable` has it turned on first, and asked again;
   * `device_refused` where its settings let nobody turn it on.
   */
  readonly mustBeOn = (): void => {
    if (!this.inStandby) return;
    const access = this.#said?.access;
    if (access === "limited" || access === "disabled") throw refused("is in standby, and cannot be turned on", access);
    throw inStandby(remoteHint);
  };

  /**
   * One document; fails with `device_refused` when the set's settings withhold it, and gives `null` when it has none.
   * `proven: false` takes it from whoever answers, for a caller that asks beside it who that is; `check` is called before
   * it is asked for, when it is known who will answer.
   */
  async document(
    path: string,
    what: string,
    signal: AbortSignal,
    options: DocumentOptions = {},
  ): Promise<string | null> {
    const { proven = true, check } = options;
    const answer = await this.http.read(path, signal, { maxBytes: appListBytes, proven, ...(check && { check }) });
    if (answer.status === 404 || answer.status === 400) return null;
    await this.#accept(answer, what, signal);
    return documentText(answer);
  }

  /** A picture, as it gives it; `null` where it has none. Fails as a document does, and where it is larger than it may be. */
  async picture(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null> {
    const answer = await this.http.read(path, signal, { maxBytes, proven: true });
    if (answer.status === 404 || answer.status === 400) return null;
    await this.#accept(answer, "give that picture", signal);
    return answer.body;
  }

  /**
   * One command. Any 2xx is accepted (202 for PowerOn and for an app that runs already); gives the status of a 400 or 404.
   * `check` may keep it back, once the set has said who and how it is.
   */
  async command(path: string, what: string, signal: AbortSignal, check?: () => void): Promise<number> {
    const answer = await this.http.command(path, signal, check && { check });
    if (answer.status !== 400 && answer.status !== 404) await this.#accept(answer, what, signal);
    return answer.status;
  }

  async #identity(read: Read): Promise<DeviceInfo | null> {
    const who = await whoAnswers(read);
    if (!who.ids.includes(this.#target.identity)) {
      if (who.passing) throw protocolError("did not say who it is");
      throw wrongDevice(this.#target.host);
    }
    const { facts, memory, power } = who;
    this.#emit({ type: "facts", facts, memory });
    if (power === null) return null;
    this.#power = { is: power, access: facts.access, at: performance.now() };
    if (power !== "unknown") this.#emit({ type: "state", patch: { power } });
    return { ...facts, power };
  }

  async #accept(answer: Answer, what: string, signal: AbortSignal): Promise<void> {
    if (isOk(answer)) return;
    refuseRedirect(answer);
    const problem = `refused to ${what}`;
    if (answer.status === 401) throw refused(problem, "disabled");
    if (answer.status !== 403)
      throw new ZapdError("device_error", `could not ${what}: it answered with a failure of its own`);
    if (/limited mode/i.test(bodyText(answer))) throw refused(problem, "limited");
    const info = await this.info(signal).catch(() => null);
    if (info?.access !== "full") throw refused(problem, info?.access === "disabled" ? "disabled" : "limited");
    throw new ZapdError("device_refused", `${problem}: it takes commands only from its own network`, {
      hint: accessHint.replace("Enabled", "Permissive, or run zapd in the network of the set"),
    });
  }
}

export function isOk({ status }: Answer): boolean {
  return status >= 200 && status <= 299;
}

function refusedMode(status: number): Facts["access"] {
  return status === 401 ? "disabled" : status === 403 ? "limited" : null;
}

/** What its settings do not allow. */
function refused(problem: string, access: "limited" | "disabled"): DeviceError {
  const said = `${problem}: its network access is set to ${access === "limited" ? "Limited" : "Disabled"}`;
  return new DeviceError("device_refused", said, { phase: "answered", reason: "denied", hint: accessHint });
}

/** Who lives at an address: `device_unreachable`, or `device_error` when it is no Roku. */
export async function identifyRoku(
  address: Address,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Sighting<RokuMemory>> {
  const http = new DeviceHttp({ address, platformHost });
  const { ids, facts, memory, power, passing } = await whoAnswers((path) => http.read(path, signal)).finally(() =>
    http.close(),
  );
  const [identity] = ids;
  if (identity === undefined)
    throw new ZapdError("device_error", "says no serial number, nor anything else that it could be known by");
  return {
    identity,
    facts,
    memory,
    pairing: "none",
    ...(power !== null && { power }),
    ...(passing && { provisional: true }),
  };
}

interface Who extends Said {
  /** `null` where the set did not say what it is. */
  readonly power: Power | null;
  /** Whether its serial number may stand in a document that could not be read now. */
  readonly passing: boolean;
}

/**
 * Who answers, read alike when it is found and when it is proven. The description is asked for only where device-info has
 * no serial number: in disabled mode nothing else answers, and on some sets it alone says one (1.3).
 */
async function whoAnswers(read: Read): Promise<Who> {
  const asked = await attempt(async () => {
    const answer = await read(paths.deviceInfo);
    return { answer, info: isOk(answer) ? await attempt(() => readDeviceInfo(documentText(answer))) : null };
  });
  const info = asked?.info;
  if (info?.facts.serial) return { ...info, passing: false };
  const describe = async () => {
    const answer = await read(paths.description);
    if (!isOk(answer)) throw protocolError("is not a Roku");
    return readDescription(documentText(answer));
  };
  if (!info) {
    const described = await describe();
    const access = asked ? refusedMode(asked.answer.status) : null;
    const passing = described.facts.serial === null && access === null;
    return { ...described, facts: { ...described.facts, access }, power: null, passing };
  }
  const described = await attempt(describe);
  const ids = [...(described?.ids ?? []), ...info.ids];
  const facts = { ...info.facts, serial: described?.facts.serial ?? null };
  return { ...info, facts, ids, passing: described === null };
}

/** What came of it, or `null` when the device failed at it. Nobody there, or no time left, is the end of the whole. */
async function attempt<T>(work: () => T | Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (hasCode(error, "device_error")) return null;
    throw error;
  }
}
