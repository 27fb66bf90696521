/** Keys that are held down from the page: one press at once, and after half a second the daemon is told that the key is down. */
import { addressOf, call, send } from "./calls.ts";
import { attempt, type Entry, press } from "./store.ts";
import { say } from "./ui/status.tsx";
import type { Key } from "./words.ts";

/** A finger that rests for so long means to hold. */
const holdAfterMs = 500;
/** The daemon lets go of a key 2 s after it was last told that it is down. */
const renewEveryMs = 700;
/** A set that has not taken a held key by then is gone: the daemon would go on waiting for it to wake. */
const patienceMs = 1_200;

/** Keys that mean another thing when they come twice, or whose repeats nobody wants. */
const once: ReadonlySet<string> = new Set(["power", "power-on", "power-off", "home", "mute", "play-pause", "select"]);

/** Says that a key is up. It is heard even when the page is on its way out. */
function sendUp(id: string, key: string): void {
  const body = JSON.stringify({ key, phase: "up" });
  const headers = { "content-type": "application/json" };
  send(addressOf("pressKey", { id }), { method: "POST", body, headers, keepalive: true }).catch(() => {});
}

/** Presses a key, and holds it until the answer is called. */
export function holdKey(entry: Entry, key: Key): () => void {
  const device = entry.device.peek();
  const doing = `pressing ${key}`;
  const first = press(entry, key, doing);
  if (once.has(key) || !device.capabilities.includes("hold")) return () => {};
  let isUp = false;
  let isDown = false;
  let underWay: Promise<unknown> = Promise.resolve();
  let isWaiting = false;
  const down = async () => {
    if (isWaiting) return;
    isDown = isWaiting = true;
    const signal = AbortSignal.timeout(patienceMs);
    const told = attempt(entry, doing, () => call("pressKey", { id: entry.id, body: { key, phase: "down" }, signal }));
    underWay = told;
    const taken = (await told) !== null;
    isWaiting = false;
    if (taken) return;
    // A set that is gone and comes back does not go on by itself, though the finger rests still.
    clearInterval(timer);
    if (signal.aborted && !isUp) say(`${device.name} did not answer, and was let go of the key`);
  };
  let timer: ReturnType<typeof setTimeout> | undefined = setTimeout(async () => {
    // One that was refused is not held.
    if ((await first) === null || isUp) return;
    void down();
    timer = setInterval(() => void down(), renewEveryMs);
  }, holdAfterMs);
  return () => {
    if (isUp) return;
    isUp = true;
    clearTimeout(timer);
    clearInterval(timer);
    if (!isDown) return;
    sendUp(entry.id, key);
    // A `down` that was still on its way may have come after it.
    void underWay.then(() => sendUp(entry.id, key));
  };
}

/** What was typed, in order: while a piece is on its way, what comes meanwhile is the next piece. */
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
      const text = this.#waiting;
      this.#waiting = "";
      if (!(await typeText(this.#entry, text))) this.#waiting = "";
    }
    this.#isBusy = false;
  }
}

/** Types a text; whether the device took it. */
export async function typeText(entry: Entry, text: string): Promise<boolean> {
  const count = [...text].length;
  const done = await attempt(entry, "typing", () =>
    call("pressKey", { id: entry.id, body: { key: `literal:${text}` } }),
  );
  if (done !== null && count > 1) say(`${count} characters typed`);
  return done !== null;
}
