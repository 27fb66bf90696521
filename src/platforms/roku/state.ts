/**
 * Reads the state of a Roku, whole or in parts. Each part is a document of its own, so that polling asks only for those that may
 * have changed (protocols/roku.md 1.3 to 1.7).
 */
import { hasCode } from "../../api/errors.ts";
import { tryOr } from "../../system/try-or.ts";
import { type PlatformApp, type PlatformState, type Playback, type StatePart, stateParts } from "../platform.ts";
import { type Ecp, paths } from "./ecp.ts";
import type { RokuTarget } from "./identity.ts";
import { inputOf, readActiveApp, readPlayback, readVolume } from "./protocol.ts";

/** For so long a proven identity holds for reading parts. The whole state, and a command, always need a proof. */
const pollingProofHoldsMs = 40_000;

const nothingShown = { app: null, screensaver: false, playback: null, input: null } as const;

export class RokuState {
  readonly #ecp: Ecp;
  readonly #target: RokuTarget;
  #provenAt = Number.NEGATIVE_INFINITY;
  /** The id of the app that was last shown, `null` at home, `undefined` where it was never told. */
  #active: string | null | undefined;
  #wasOff = false;
  /** The parts whose documents came too late when they were last asked for. */
  readonly #late = new Set<StatePart>();

  constructor(ecp: Ecp, target: RokuTarget) {
    this.#ecp = ecp;
    this.#target = target;
  }

  /** An access mode that withholds the list of apps withholds the player, too (1.2), and may still let an app play a file. */
  get showsPlayback(): boolean {
    return this.#ecp.listsApps;
  }

  /** The failure of one document leaves the others; when all fail, the failure of the first is thrown. */
  async read(signal: AbortSignal): Promise<PlatformState> {
    const unknown: PlatformState = { ...nothingShown, power: "unknown", screensaver: null, volume: null };
    return { ...unknown, ...(await this.#read(stateParts, signal)) };
  }

  /** Reads parts. More may be returned: those of the same document, or those that depend on it. */
  async readParts(parts: readonly StatePart[], signal: AbortSignal): Promise<Partial<PlatformState>> {
    const isKnown = performance.now() - this.#provenAt < pollingProofHoldsMs;
    const wasOff = this.#wasOff;
    // What plays does not count while an input is shown, so whether one is shown is read as well.
    const maySwitch = parts.includes("playback") && this.#active != null && inputOf(this.#active) !== null;
    const asked = maySwitch ? ([...parts, "app"] as const) : parts;
    const read = await this.#read(isKnown ? asked : [...asked, "power"], signal).catch((error: unknown) => {
      // The access mode has changed: the whole state shows it.
      if (hasCode(error, "device_refused")) return this.read(signal);
      throw error;
    });
    // It has been turned on, so every part may have changed.
    return wasOff && !this.#wasOff ? this.read(signal) : read;
  }

  async #read(parts: readonly StatePart[], signal: AbortSignal): Promise<Partial<PlatformState>> {
    const ecp = this.#ecp;
    const wants = (...some: StatePart[]) => some.some((part) => parts.includes(part));
    const [wantsPower, wantsApp] = [wants("power"), wants("app", "screensaver", "input")];
    const document = (path: string, what: string) => ecp.document(path, what, signal, { proven: false });
    const asked = [
      wantsPower ? ecp.info(signal) : undefined,
      wantsApp ? document(paths.activeApp, "report which app is shown") : undefined,
      wants("playback") ? document(paths.mediaPlayer, "report what is playing") : undefined,
      wants("volume") && this.#target.memory.volume === true
        ? document(paths.audioDevice, "report its volume")
        : undefined,
    ] as const;
    const settling = Promise.allSettled(asked);
    // None answers, or another set, of which nothing may be taken.
    await asked[0]?.catch((error: unknown) => {
      if (hasCode(error, "device_unreachable")) throw error;
    });
    const settled = await settling;
    const [info, active, player, audio] = settled;
    const facts = info.status === "fulfilled" ? (info.value ?? null) : null;
    if (wantsPower && facts === null && active.status === "rejected") throw active.reason;
    const shown = readSettled(active, readActiveApp);
    if (info.status === "rejected" && shown === null) throw info.reason;
    const failed = settled.find((one) => one.status === "rejected");
    if (failed && settled.every((one) => one.status === "rejected" || one.value === undefined)) throw failed.reason;
    const power = facts?.power ?? "unknown";
    if (wantsPower) {
      this.#provenAt = info.status === "fulfilled" ? performance.now() : Number.NEGATIVE_INFINITY;
      this.#wasOff = power === "standby";
    }
    const keepsApp = this.#keeps("app", active);
    const keepsPlayback = this.#keeps("playback", player);
    const keepsVolume = this.#keeps("volume", audio);
    if (wantsApp && !keepsApp) this.#active = shown === null ? undefined : (shown.app?.platformId ?? null);
    return {
      ...(wantsPower && { power }),
      ...(wantsApp && !keepsApp && this.#shown(shown)),
      ...(wants("playback") && !keepsPlayback && { playback: this.#playback(player) }),
      ...(wants("volume") && !keepsVolume && { volume: readSettled(audio, readVolume) }),
      // In standby some sets still report what they showed before.
      ...(wantsPower && this.#wasOff && nothingShown),
    };
  }

  /** Whether a part stays as it was: a document that comes too late once says nothing of it. */
  #keeps(part: StatePart, document: PromiseSettledResult<string | null | undefined>): boolean {
    // It was not asked for.
    if (document.status === "fulfilled" && document.value === undefined) return false;
    const isLate = document.status === "rejected" && hasCode(document.reason, "device_timeout");
    const keeps = isLate && !this.#late.has(part);
    if (isLate) this.#late.add(part);
    else this.#late.delete(part);
    return keeps;
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
    // The player says nothing of an input (1.6).
    if (this.#active && inputOf(this.#active) !== null) return null;
    return readSettled(player, (text) => readPlayback(text, this.#active));
  }
}

function readSettled<T>(settled: PromiseSettledResult<string | null | undefined>, read: (text: string) => T): T | null {
  return settled.status === "rejected" ? null : ifReadable(settled.value ?? null, read);
}

/** What `read` makes of a document; `null` where there is none, or it cannot be read. */
export function ifReadable<T>(text: string | null, read: (text: string) => T): T | null {
  return tryOr(() => (text === null ? null : read(text)), null);
}
