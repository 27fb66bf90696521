/**
 * What stands in the field of an open keyboard. Kodi's only way to type replaces all of it (players.md 7.3), so what is
 * there is read, and sent again with what is typed behind it.
 */
import { until } from "../../system/sleep.ts";
import type { KodiDevice } from "./device.ts";
import type { Window } from "./protocol.ts";

/** The edit control of each keyboard shows what it holds as its second label (Kodi 20.1, ran). */
const labels: Readonly<Record<number, string>> = {
  10103: "Control.GetLabel(312).index(1)",
  10109: "Control.GetLabel(4)",
};
/** What was sent is shown a moment later. */
const shownWithin = 500;
const lookEvery = 25;

export class Field {
  /** What was typed into the keyboard that is open, as far as it is known to be the same. */
  #typed: { readonly window: number; readonly text: string } | null = null;
  /** Whether this Kodi shows what it was sent; not known before it was sent something. */
  readonly #shows = new Map<number, boolean>();

  /** The keyboard may be another by now. */
  forget(): void {
    this.#typed = null;
    for (const [window, shows] of this.#shows) if (!shows) this.#shows.delete(window);
  }

  /** Types behind what stands there. */
  async type(device: KodiDevice, window: Window, text: string, signal: AbortSignal): Promise<void> {
    const { id } = window;
    const whole = (await this.#content(device, id, signal)) + text;
    await device.command("Input.SendText", { text: whole, done: false }, signal);
    this.#typed = { window: id, text: whole };
    if (this.#shows.get(id) === false) return;
    const isShown = async () => (await shown(device, id, signal)) === whole;
    this.#shows.set(id, await until(isShown, { everyMs: lookEvery, timeoutMs: shownWithin, signal }));
  }

  async #content(device: KodiDevice, id: number, signal: AbortSignal): Promise<string> {
    const typed = this.#typed?.window === id ? this.#typed.text : "";
    // One that hides what it holds, or shows nothing, is known by what it was sent.
    if (this.#shows.get(id) === false) return typed;
    const now = await shown(device, id, signal);
    return now === "" && !this.#shows.get(id) ? typed : now;
  }
}

async function shown(device: KodiDevice, id: number, signal: AbortSignal): Promise<string> {
  const label = labels[id];
  if (label === undefined) return "";
  const said = (await device.read("XBMC.GetInfoLabels", { labels: [label] }, signal))[label];
  return typeof said === "string" ? said : "";
}
