/** Holding keys from the page: a press is sent at once, and after half a second a `down` that is renewed until release. Also typing. */
import { pressLimits } from "../api/limits.ts";
import { addressOf, call, send } from "./calls.ts";
import { attempt, command, type Entry, press } from "./store.ts";
import { announce } from "./ui/status.tsx";
import type { Key } from "./words.ts";

/** A press that lasts this long becomes a hold. */
const holdAfterMs = 500;
/** The daemon releases a key so long after the last `down`. */
const releasedAfterMs = 2_000;
const renewEveryMs = 700;
/** A device that has not accepted a `down` by then does not answer; the daemon itself would wait for it to wake. */
const downTimeoutMs = 1_200;

/** Keys that are never held: a repeat would undo them, or is never wanted. */
const singlePressKeys: ReadonlySet<string> = new Set([
  "power",
  "power-on",
  "power-off",
  "home",
  "mute",
  "play-pause",
  "select",
]);

/** One Enter, or as many characters as one request takes. */
const nextToType = new RegExp(`^(?:\\n|[^\\n]{1,${pressLimits.characters}})`, "u");

/** Sends `up`; `keepalive` lets it arrive even while the page unloads. */
function sendUp(id: string, key: string): void {
  const body = JSON.stringify({ key, phase: "up" });
  const headers = { "content-type": "application/json" };
  send(addressOf("pressKey", { id }), { method: "POST", body, headers, keepalive: true }).catch(() => {});
}

/** Presses a key and holds it until the returned function is called. */
export function holdKey(entry: Entry, key: Key): () => void {
  const device = entry.device.peek();
  const description = `pressing ${key}`;
  const firstPress = press(entry, key, description);
  if (singlePressKeys.has(key) || !device.capabilities.includes("hold")) return () => {};
  let isUp = false;
  let lastDown: Promise<unknown> | undefined;
  let isSending = false;
  const down = async () => {
    if (isSending) return;
    isSending = true;
    const signal = AbortSignal.timeout(downTimeoutMs);
    const body = { key, phase: "down" } as const;
    const request = attempt(entry, description, () => call("pressKey", { id: entry.id, body, signal }));
    lastDown = request;
    const accepted = (await request) !== null;
    isSending = false;
    if (accepted) return;
    // A device that answers again later must not continue the hold by itself.
    clearInterval(timer);
    if (signal.aborted && !isUp) announce(`${device.name} did not answer, so the key was released`);
  };
  let heldAt = Date.now();
  let isPressed = false;
  // After a sleep of the machine, which has released the key, who held it may have let go unseen.
  const hasSlept = () => Date.now() - heldAt > releasedAfterMs;
  const renew = () => {
    if (hasSlept()) return clearInterval(timer);
    heldAt = Date.now();
    // A first press that takes long is waited for: a key whose press was refused is not held.
    if (isPressed) void down();
  };
  let isLong = false;
  let timer: ReturnType<typeof setTimeout> | undefined = setTimeout(() => {
    isLong = true;
    timer = setInterval(renew, renewEveryMs);
    renew();
  }, holdAfterMs);
  void firstPress.then((pressed) => {
    isPressed = pressed !== null;
    if (!isPressed) clearInterval(timer);
    // Where that took long, the hold begins at once.
    else if (isLong && !isUp) renew();
  });
  return () => {
    if (isUp) return;
    isUp = true;
    clearTimeout(timer);
    clearInterval(timer);
    if (!lastDown) return;
    sendUp(entry.id, key);
    // A `down` that was still under way may have arrived after the `up`.
    void lastDown.then(() => sendUp(entry.id, key));
  };
}

/**
 * Types keystrokes in order: those made while a request is under way go together in the next one. A line feed stands for
 * the Enter key.
 */
export class Typing {
  readonly #entry: Entry;
  #waiting = "";
  #isBusy = false;

  constructor(entry: Entry) {
    this.#entry = entry;
  }

  type(text: string): void {
    this.#waiting += text;
    if (!this.#isBusy) void this.#send();
  }

  async #send(): Promise<void> {
    this.#isBusy = true;
    while (this.#waiting !== "") {
      const [next = ""] = nextToType.exec(this.#waiting) ?? [];
      this.#waiting = this.#waiting.slice(next.length);
      const isAccepted =
        next === "\n"
          ? (await press(this.#entry, "select", "pressing select")) !== null
          : await typeText(this.#entry, next);
      if (!isAccepted) this.#waiting = "";
    }
    this.#isBusy = false;
  }
}

/** Types a text. Resolves with whether the device accepted it. */
export async function typeText(entry: Entry, text: string): Promise<boolean> {
  const count = [...text].length;
  const result = await command(entry, "typing", () =>
    call("pressKey", { id: entry.id, body: { key: `literal:${text}` } }),
  );
  if (result !== null && count > 1) announce(`${count} characters typed`);
  return result !== null;
}
