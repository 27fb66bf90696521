/**
 * What a Roku does, read whole or in parts. Each part is a document of its own, so that whoever looks often asks the set
 * only for what may have changed (protocols/roku.md 1.3 to 1.7).
 */
import { hasCode } from "../../api/errors.ts";
import { type PlatformApp, type PlatformState, type Playback, type StatePart, stateParts } from "../platform.ts";
import { type Ecp, paths } from "./ecp.ts";
import type { RokuTarget } from "./identity.ts";
import { inputOf, readActiveApp, readPlayback, readVolume } from "./protocol.ts";

/**
 * For so long its word on who it is holds for looks at what it does: other hardware at its address is met at the next. A
 * command, and whoever asks for the whole state, has it proven at once.
 */
const knownForMs = 40_000;

const nothingShown = { app: null, screensaver: false, playback: null, input: null } as const;

export class RokuState {
  readonly #ecp: Ecp;
  readonly #target: RokuTarget;
  #provenAt = Number.NEGATIVE_INFINITY;
  /** The id of the app that was shown last, `null` at home; `undefined` where it was never said. */
  #active: string | null | undefined;
  #wasOff = false;

  constructor(ecp: Ecp, target: RokuTarget) {
    this.#ecp = ecp;
    this.#target = target;
  }

  /** Every document may fail alone; all of them failing is the failure of the first. */
  async read(signal: AbortSignal): Promise<PlatformState> {
    const unknown: PlatformState = { ...nothingShown, power: "unknown", screensaver: null, volume: null };
    return { ...unknown, ...(await this.#read(stateParts, signal)) };
  }

  /** Parts of it; one that is more than was asked for has come with the same document, or because of what that said. */
  async readParts(parts: readonly StatePart[], signal: AbortSignal): Promise<Partial<PlatformState>> {
    const isKnown = performance.now() - this.#provenAt < knownForMs;
    const wasOff = this.#wasOff;
    // What plays counts for nothing while an input is shown: whether it still is may have changed since it was last asked.
    const mayBeOther = parts.includes("playback") && this.#active != null && inputOf(this.#active) !== null;
    const asked = mayBeOther ? ([...parts, "app"] as const) : parts;
    const seen = await this.#read(isKnown ? asked : [...asked, "power"], signal).catch((error: unknown) => {
      // Its settings are others now: what they are stands in the whole.
      if (hasCode(error, "device_refused")) return this.read(signal);
      throw error;
    });
    // It came on: what it shows is another thing than before.
    return wasOff && !this.#wasOff ? this.read(signal) : seen;
  }

  async #read(parts: readonly StatePart[], signal: AbortSignal): Promise<Partial<PlatformState>> {
    const ecp = this.#ecp;
    const asks = (...some: StatePart[]) => some.some((part) => parts.includes(part));
    const [asksPower, asksApp] = [asks("power"), asks("app", "screensaver", "input")];
    const document = (path: string, what: string) => ecp.document(path, what, signal, { proven: false });
    const settled = await Promise.allSettled([
      asksPower ? ecp.info(signal) : undefined,
      asksApp ? document(paths.activeApp, "say which app is shown") : undefined,
      asks("playback") ? document(paths.mediaPlayer, "say what plays") : undefined,
      asks("volume") && this.#target.memory.volume === true ? document(paths.audioDevice, "say its volume") : undefined,
    ] as const);
    const [info, active, player, audio] = settled;
    // Another set at the address: nothing that it says may be taken for ours.
    if (info.status === "rejected" && hasCode(info.reason, "device_unreachable")) throw info.reason;
    const said = info.status === "fulfilled" ? (info.value ?? null) : null;
    if (asksPower && said === null && active.status === "rejected") throw active.reason;
    const shown = textOf(active, readActiveApp);
    if (info.status === "rejected" && shown === null) throw info.reason;
    const failed = settled.find((one) => one.status === "rejected");
    if (failed && settled.every((one) => one.status === "rejected" || one.value === undefined)) throw failed.reason;
    const power = said?.power ?? "unknown";
    if (asksPower) {
      this.#provenAt = info.status === "fulfilled" ? performance.now() : Number.NEGATIVE_INFINITY;
      this.#wasOff = power === "standby" || power === "off";
    }
    if (asksApp) this.#active = shown === null ? undefined : (shown.app?.platformId ?? null);
    return {
      ...(asksPower && { power }),
      ...(asksApp && this.#shown(shown)),
      ...(asks("playback") && { playback: this.#playback(player) }),
      ...(asks("volume") && { volume: textOf(audio, readVolume) }),
      // Some go on saying what they showed before.
      ...(asksPower && this.#wasOff && nothingShown),
    };
  }

  #shown(shown: { app: PlatformApp | null; screensaver: boolean } | null): Partial<PlatformState> {
    const input = this.#active ? inputOf(this.#active) : null;
    return {
      app: shown?.app ?? null,
      screensaver: shown?.screensaver ?? null,
      input,
      ...(input !== null && { playback: null }),
    };
  }

  #playback(player: PromiseSettledResult<string | null | undefined>): Playback | null {
    // What comes from an input is not the player's (1.6).
    if (this.#active && inputOf(this.#active) !== null) return null;
    return textOf(player, (text) => readPlayback(text, this.#active));
  }
}

function textOf<T>(settled: PromiseSettledResult<string | null | undefined>, read: (text: string) => T): T | null {
  return settled.status === "rejected" ? null : ifReadable(settled.value ?? null, read);
}

/** What a document says, or `null` where there is none that can be read. */
export function ifReadable<T>(text: string | null, read: (text: string) => T): T | null {
  try {
    return text === null ? null : read(text);
  } catch {
    return null;
  }
}
