/**
 * The text in the field of an open keyboard. Kodi's only way to type replaces all of it (players.md 7.3), so the text that is
 * there is read, and sent again with the new text after it.
 */
import { unlessSlept } from "../../system/clock.ts";
import { until } from "../../system/sleep.ts";
import type { KodiDevice } from "./device.ts";
import type { Window } from "./protocol.ts";

/** The labels that show the text of each keyboard (Kodi 20.1, ran). */
const labels: Readonly<Record<number, string>> = {
  10103: "Control.GetLabel(312).index(1)",
  10109: "Control.GetLabel(4)",
};
/** Sent text is shown a moment later. */
const shownWithinMs = 500;
const pollEveryMs = 25;
/** Where no notification tells that the keyboard was closed, hidden text, such as a PIN, must not come up in the next one. */
const unfollowedHoldsMs = 60_000;

export class KeyboardField {
  /** What was typed into the open keyboard. */
  #typed: { readonly window: number; readonly text: string; readonly at: number } | null = null;
  /** By keyboard: whether it shows the text that it was sent. */
  readonly #isReadable = new Map<number, boolean>();

  /** Another keyboard may be open by now. */
  forget(): void {
    this.#typed = null;
    for (const [window, isReadable] of this.#isReadable) if (!isReadable) this.#isReadable.delete(window);
  }

  /** Types after the text that is there. */
  async type(device: KodiDevice, { id }: Window, text: string, signal: AbortSignal): Promise<void> {
    if (!device.isFollowed && this.#typed && performance.now() - this.#typed.at > unfollowedHoldsMs) this.forget();
    const whole = (await unlessSlept(this.#content(device, id, signal))) + text;
    await device.command("Input.SendText", { text: whole, done: false }, signal);
    this.#typed = { window: id, text: whole, at: performance.now() };
    if (this.#isReadable.get(id) === false) return;
    const isShown = async () => (await readLabel(device, id, signal)) === whole;
    try {
      this.#isReadable.set(id, await until(isShown, { everyMs: pollEveryMs, timeoutMs: shownWithinMs, signal }));
    } catch {
      // It is typed, whether or not a busy Kodi can say what it shows: a failure would have it typed twice.
    }
  }

  async #content(device: KodiDevice, id: number, signal: AbortSignal): Promise<string> {
    const typed = this.#typed?.window === id ? this.#typed.text : "";
    // A keyboard that hides its text, as for a password, holds what was typed.
    if (this.#isReadable.get(id) === false) return typed;
    const shown = await readLabel(device, id, signal);
    return shown === "" && !this.#isReadable.get(id) ? typed : shown;
  }
}

async function readLabel(device: KodiDevice, id: number, signal: AbortSignal): Promise<string> {
  const label = labels[id];
  if (label === undefined) return "";
  const shown = (await device.read("XBMC.GetInfoLabels", { labels: [label] }, signal))[label];
  return typeof shown === "string" ? shown : "";
}
