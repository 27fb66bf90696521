/** `zapd remote`: a remote that fills the terminal. */
import { exits } from "../../api/errors.ts";
import type { Device, KeyOrText } from "../../api/schemas.ts";
import { ask, call } from "../client.ts";
import type { Context } from "../context.ts";
import { CommandError, type Failure, notRunning } from "../failure.ts";
import { begin, type Effect, type Event, isAsleep, type Model, update } from "./model.ts";
import { render } from "./screen.ts";
import { Terminal } from "./terminal.ts";

export async function remote(context: Context): Promise<number> {
  if (!Terminal.isThere)
    throw new CommandError(
      "the remote needs a terminal to fill, and here is none",
      exits.usage,
      "For scripts there are `zapd key`, `zapd keys` and `zapd launch`",
    );
  // Before the screen is taken: a daemon that does not run, or a name that is none, is said as everywhere.
  const { data: devices } = await call(context, "listDevices", {});
  const current = await chosen(context, devices);

  const terminal = new Terminal();
  const looks = { colour: context.colour, unicode: showsUnicode(process.env, process.platform) };
  const show = () => terminal.show(render(session.model, { ...terminal.size, ...looks, now: new Date() }));
  const redraw = () => {
    terminal.clear();
    show();
  };
  const display = { show, redraw, suspend: () => terminal.suspend() };
  const session = new Session(context, display, begin(devices, current));
  let status: number = exits.ok;
  terminal.open({
    input: (input) => session.dispatch({ name: "input", input }),
    resized: redraw,
    resumed: () => session.resumed(),
    ended(with_) {
      status = with_;
      session.quit();
    },
  });
  try {
    await session.run();
  } finally {
    terminal.close();
  }
  return status;
}

/** The set that is named, else the default one, else the first. */
async function chosen(context: Context, devices: readonly Device[]): Promise<string | null> {
  const id = context.words[0] ?? context.device;
  if (id !== "default") return (await call(context, "getDevice", { id })).data.id;
  const asked = await ask(context, "getDevice", { id }, 5_000);
  return asked.ok ? asked.data.id : (devices[0]?.id ?? null);
}

/** By the locale, as every program decides it. */
export function showsUnicode(env: Readonly<Record<string, string | undefined>>, platform: string): boolean {
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"];
  if (!locale) return platform !== "linux";
  return /utf-?8/i.test(locale);
}

/** Where the model is shown. */
interface Display {
  show(model: Model): void;
  /** Draws everything anew, whatever is on the screen. */
  redraw(): void;
  /** Gives the terminal back and stops the process until it is continued. */
  suspend(): void;
}

/** A daemon that has not answered by then hangs: it gives its devices 30 s at most for one answer. */
const readTimeoutMs = 10_000;
/** Turning a set on takes up to 45 s, and a long text longer. */
const commandTimeoutMs = 60_000;
const textTimeoutMs = 600_000;
const litMs = 150;
const noticeMs = 8_000;
/** A set needs a moment until its state shows what a key did. */
const settleMs = 250;
/** The list of sets is read anew every so many looks: sets come, go and are renamed. */
const listEvery = 10;

export class Session {
  readonly #context: Context;
  readonly #display: Display;
  readonly #presses: Presses;
  readonly #watch = new Watch((signal) => this.#look(signal));
  #model: Model;
  #quit: () => void = () => {};
  #drawing = false;
  #looks = 0;
  #unlit: ReturnType<typeof setTimeout> | undefined;
  #hushed: ReturnType<typeof setTimeout> | undefined;

  constructor(context: Context, display: Display, model: Model) {
    this.#context = context;
    this.#display = display;
    this.#model = model;
    this.#presses = new Presses({
      send: (id, key) => this.#press(id, key),
      settled: (id, key, failure) => this.#settled(id, key, failure),
      dropped: (id, count) => this.dispatch({ name: "dropped", id, count }),
      now: () => performance.now(),
    });
  }

  get model(): Model {
    return this.#model;
  }

  /** Runs until the user quits. */
  run(): Promise<void> {
    this.#watch.start();
    this.#draw();
    return new Promise((resolve) => {
      this.#quit = resolve;
    });
  }

  /** Ends the run; nothing is asked or sent after it. */
  quit(): void {
    this.#watch.stop();
    this.#presses.clear();
    clearTimeout(this.#unlit);
    clearTimeout(this.#hushed);
    this.#quit();
  }

  /** The process was stopped, and goes on. */
  resumed(): void {
    this.#display.redraw();
    this.#watch.start();
  }

  dispatch(event: Event): void {
    const before = this.#model;
    const { model, effects } = update(before, event);
    this.#model = model;
    if (model.lit !== null && event.name === "input") this.#unlight();
    if (model.notice !== before.notice) this.#hush();
    if (model !== before) this.#draw();
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: Effect): void {
    switch (effect.name) {
      case "press":
        return this.#presses.press(effect.id, effect.key);
      case "launch":
        return void this.#launch(effect.id, effect.app);
      case "list":
        return void this.#list(effect.id);
      case "look":
        return this.#watch.anew();
      case "redraw":
        return this.#display.redraw();
      case "suspend":
        this.#watch.stop();
        return this.#display.suspend();
      case "quit":
        return this.quit();
    }
  }

  async #look(signal: AbortSignal): Promise<Glimpse> {
    const { current, lost } = this.#model;
    if (current === null || lost || this.#looks++ % listEvery === listEvery - 1) {
      const asked = await ask(this.#context, "listDevices", { signal }, readTimeoutMs);
      if (!asked.ok) return this.#lose();
      this.dispatch({ name: "devices", devices: asked.data });
    }
    const id = this.#model.current;
    if (id === null) return "asleep";
    const asked = await ask(this.#context, "getState", { id, signal }, readTimeoutMs);
    if (asked.ok) this.dispatch({ name: "state", id, ...asked.data });
    else if (asked.code === notRunning) return this.#lose();
    // Forgotten meanwhile: the list tells which are left.
    else if (asked.code === "device_not_found") this.#looks = listEvery - 1;
    else this.dispatch({ name: "stateless", id, failure: asked });
    return isAsleep(this.#model) ? "asleep" : "awake";
  }

  #lose(): Glimpse {
    this.#presses.clear();
    this.dispatch({ name: "lost" });
    return "lost";
  }

  #settled(id: string, what: string, failure: Failure | null): void {
    if (failure?.code === notRunning) this.#lose();
    else this.dispatch(failure ? { name: "failed", id, what, failure } : { name: "done", id, what });
    this.#watch.soon(settleMs);
  }

  /** A key, or `literal:` with a text; answers with what went wrong. */
  async #press(id: string, key: string): Promise<Failure | null> {
    const timeoutMs = key.startsWith("literal:") ? textTimeoutMs : commandTimeoutMs;
    // The daemon knows the keys, and says so of one that is none.
    const asked = await ask(this.#context, "pressKey", { id, body: { key: key as KeyOrText } }, timeoutMs);
    return asked.ok ? null : asked;
  }

  async #launch(id: string, app: string): Promise<void> {
    const asked = await ask(this.#context, "launchApp", { id, body: { app } }, commandTimeoutMs);
    this.#settled(id, "launch", asked.ok ? null : asked);
  }

  async #list(id: string): Promise<void> {
    const asked = await ask(this.#context, "listApps", { id }, 2 * readTimeoutMs);
    if (asked.ok) this.dispatch({ name: "apps", id, apps: asked.data.apps });
    else this.#settled(id, "list", asked);
  }

  #unlight(): void {
    clearTimeout(this.#unlit);
    this.#unlit = setTimeout(() => this.dispatch({ name: "unlit" }), litMs);
  }

  #hush(): void {
    clearTimeout(this.#hushed);
    if (this.#model.notice) this.#hushed = setTimeout(() => this.dispatch({ name: "hushed" }), noticeMs);
  }

  /** Once for all that happens in one turn of the loop. */
  #draw(): void {
    if (this.#drawing) return;
    this.#drawing = true;
    setImmediate(() => {
      this.#drawing = false;
      this.#display.show(this.#model);
    });
  }
}

/** A terminal repeats a held key every 30 to 95 ms; nobody taps that fast. */
const repeatMs = 100;
const maxWaiting = 8;
const maxAgeMs = 3_000;

interface PressesDependencies {
  /** Presses a key; answers with what went wrong. */
  send(id: string, key: string): Promise<Failure | null>;
  /** Told of each that was sent, with what went wrong. */
  settled(id: string, key: string, failure: Failure | null): void;
  dropped(id: string, count: number): void;
  now(): number;
}

interface Lane {
  waiting: { readonly key: string; readonly at: number }[];
  sending: boolean;
  last: { readonly key: string; readonly at: number } | null;
}

export class Presses {
  readonly #deps: PressesDependencies;
  readonly #lanes = new Map<string, Lane>();

  constructor(deps: PressesDependencies) {
    this.#deps = deps;
  }

  /** Takes a press; it is sent at once when nothing is ahead of it. */
  press(id: string, key: string): void {
    const lane = this.#lanes.get(id) ?? { waiting: [], sending: false, last: null };
    this.#lanes.set(id, lane);
    const at = this.#deps.now();
    const repeated = lane.last?.key === key && at - lane.last.at < repeatMs;
    lane.last = { key, at };
    if (repeated && lane.waiting.length > 0) return;
    if (lane.waiting.length >= maxWaiting) return this.#deps.dropped(id, 1);
    lane.waiting.push({ key, at });
    if (!lane.sending) void this.#drain(id, lane);
  }

  /** Forgets what has not been sent. */
  clear(): void {
    for (const lane of this.#lanes.values()) lane.waiting = [];
  }

  async #drain(id: string, lane: Lane): Promise<void> {
    lane.sending = true;
    for (let next = lane.waiting.shift(); next; next = lane.waiting.shift()) {
      if (this.#deps.now() - next.at > maxAgeMs) {
        this.#deps.dropped(id, 1 + lane.waiting.length);
        lane.waiting = [];
        break;
      }
      const failure = await this.#deps.send(id, next.key);
      // What waited was meant to follow this one.
      if (failure && failure.code !== "unsupported_key") lane.waiting = [];
      this.#deps.settled(id, next.key, failure);
    }
    lane.sending = false;
  }
}

/** Looks at the current set about every second: never two looks at once, and seldom while it is off or the daemon gone. */

const usualMs = 1_000;
const longestMs = 15_000;
const longestReconnectMs = 4_000;

/** What a look found: how soon the next is worth it. */
export type Glimpse = "awake" | "asleep" | "lost";

export class Watch {
  readonly #look: (signal: AbortSignal) => Promise<Glimpse>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: AbortController | undefined;
  /** Asked for while one was under way. */
  #again: number | null = null;
  #stopped = true;
  /** Looks in a row that were not worth it. */
  #idle = 0;

  constructor(look: (signal: AbortSignal) => Promise<Glimpse>) {
    this.#look = look;
  }

  start(): void {
    this.#stopped = false;
    this.anew();
  }

  stop(): void {
    this.#stopped = true;
    this.#drop();
  }

  /** Drops the look that is under way, and looks at once: something else is to be seen now. */
  anew(): void {
    this.#drop();
    this.soon(0);
  }

  /** Looks after that many milliseconds, and from then on at the usual pace. */
  soon(ms: number): void {
    this.#idle = 0;
    if (this.#stopped) return;
    if (this.#looking) this.#again = Math.min(ms, this.#again ?? ms);
    else this.#schedule(ms);
  }

  #drop(): void {
    clearTimeout(this.#timer);
    this.#looking?.abort();
    this.#looking = undefined;
    this.#again = null;
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#run(), ms);
  }

  async #run(): Promise<void> {
    const looking = new AbortController();
    this.#looking = looking;
    const glimpse = await this.#look(looking.signal).catch((error: unknown): Glimpse => {
      if (looking.signal.aborted) return "lost";
      throw error;
    });
    if (looking.signal.aborted) return;
    this.#looking = undefined;
    const again = this.#again;
    this.#again = null;
    this.#schedule(again ?? this.#pause(glimpse));
  }

  #pause(glimpse: Glimpse): number {
    this.#idle = glimpse === "awake" ? 0 : this.#idle + 1;
    return pauseAfter(glimpse, this.#idle);
  }
}

/** Milliseconds to the next look, after so many in a row that found nothing awake. */
export function pauseAfter(glimpse: Glimpse, idle: number): number {
  if (glimpse === "awake") return usualMs;
  const grown = 2 ** Math.min(idle, 10);
  return glimpse === "lost" ? Math.min(longestReconnectMs, 250 * grown) : Math.min(longestMs, usualMs * grown);
}
