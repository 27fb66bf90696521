/** `zapd remote`: a remote that fills the terminal. */
import type { Result } from "../../api/client.ts";
import { exits, type Failure, type Outcome } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import { ask, call } from "../client.ts";
import { type Context, takesColour } from "../context.ts";
import { CommandError } from "../failure.ts";
import { followEvents } from "../follow.ts";
import { type ListName, lists } from "./keys.ts";
import {
  begin,
  type Choice,
  type Command,
  type Effect,
  type Event,
  knownOf,
  type Model,
  runOn,
  update,
} from "./model.ts";
import { Presses } from "./presses.ts";
import { render } from "./screen.ts";
import { Terminal } from "./terminal.ts";

export async function remote(context: Context): Promise<number> {
  if (!Terminal.isThere)
    throw new CommandError(
      "the remote needs a terminal to fill, and here is none",
      exits.usage,
      "For scripts there are `zapd key`, `zapd keys` and `zapd launch`",
    );
  const id = context.words[0] ?? context.device;
  const current = id === "default" ? null : (await call(context, "getDevice", { id })).data.id;

  const terminal = new Terminal();
  const colour = takesColour(true, context.flag("no-color"), process.env);
  const looks = { colour, unicode: showsUnicode(process.env, process.platform) };
  const show = (model: Model) => terminal.show(render(model, { ...terminal.size, ...looks, now: new Date() }));
  const redraw = () => {
    terminal.clear();
    show(session.model);
  };
  const session = new Session(context, { show, redraw, suspend: () => terminal.suspend() }, begin(current));
  // Before the screen is taken: a daemon that does not run, or a name that is none, is said as everywhere.
  await session.begin();
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

/** Turning a set on takes up to 45 s, and a long text longer. */
const commandTimeoutMs = 60_000;
const textTimeoutMs = 600_000;
const listTimeoutMs = 20_000;
/** How long to wait, when leaving, for the daemon to be told that a key is up: it lets go of it by itself. */
const leaveMs = 500;
const litMs = 150;
const noticeMs = 8_000;

export class Session {
  readonly #context: Context;
  readonly #display: Display;
  readonly #presses: Presses;
  readonly #over = Promise.withResolvers<void>();
  #model: Model;
  #following = new AbortController();
  #drawing = false;
  #unlit: ReturnType<typeof setTimeout> | undefined;
  #hushed: ReturnType<typeof setTimeout> | undefined;
  #tick: ReturnType<typeof setTimeout> | undefined;

  constructor(context: Context, display: Display, model: Model) {
    this.#context = context;
    this.#display = display;
    this.#model = model;
    this.#presses = new Presses({
      send: (id, command) => this.#send(id, command),
      dropped: (id, count) => this.dispatch({ name: "dropped", id, count }),
      now: () => performance.now(),
    });
  }

  get model(): Model {
    return this.#model;
  }

  /** Follows what happens from now on; done once all sets are known. Fails as a command does that calls the daemon. */
  async begin(): Promise<void> {
    const events = this.#events(false);
    while (!this.#model.isWhole) {
      const { value: event, done } = await events.next();
      if (done) return;
      this.dispatch({ name: "told", event });
    }
    void this.#follow(events);
  }

  /** Runs until the user quits. */
  run(): Promise<void> {
    this.#draw();
    return this.#over.promise;
  }

  /** Ends the run, with whatever key is held let go. */
  quit(): void {
    this.#following.abort();
    clearTimeout(this.#unlit);
    clearTimeout(this.#hushed);
    clearTimeout(this.#tick);
    void this.#letGo().then(() => this.#over.resolve());
  }

  /** The process was stopped, and goes on. */
  resumed(): void {
    this.#display.redraw();
    this.#following.abort();
    this.#following = new AbortController();
    void this.#follow(this.#events(true));
  }

  dispatch(event: Event): void {
    const before = this.#model;
    const { model, effects } = update(before, event, Date.now());
    this.#model = model;
    if (event.name === "input") {
      const { held } = this.#presses;
      const isKept = effects.some((one) => "input" in one && one.input === held);
      if (held !== undefined && !isKept && effects.every(({ name }) => name !== "released")) this.#presses.released();
      if (model.lit !== null) this.#unlight();
    }
    if (model.notice !== before.notice) this.#hush();
    if (model !== before) this.#draw();
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: Effect): void {
    switch (effect.name) {
      case "order":
        return this.#presses.take(effect);
      case "released":
        return this.#presses.released(effect.input);
      case "list":
        return void this.#list(effect.id, effect.what);
      case "redraw":
        return this.#display.redraw();
      case "suspend":
        // Nothing is shown meanwhile, so that the sets need not be polled for us.
        this.#following.abort();
        return void this.#letGo().then(() => this.#display.suspend());
      case "quit":
        return this.quit();
    }
  }

  #events(resumed: boolean) {
    const { signal } = this.#following;
    const broken = (isBroken: boolean) => {
      if (!signal.aborted) this.dispatch({ name: "broken", isBroken });
    };
    return followEvents(this.#context, { signal }, { broken, resumed });
  }

  async #follow(events: ReturnType<typeof followEvents>): Promise<void> {
    try {
      for await (const event of events) this.dispatch({ name: "told", event });
    } catch (error) {
      this.#over.reject(error);
    }
  }

  async #letGo(): Promise<void> {
    const over = new AbortController();
    await Promise.race([this.#presses.end(), sleep(leaveMs, over.signal).catch(() => {})]);
    over.abort();
  }

  async #send(id: string, command: Command): Promise<Failure | null> {
    const outcome = await this.#asked(id, command);
    if (outcome.ok) this.dispatch({ name: "done", id, command, differs: differenceIn(outcome.data) });
    else this.dispatch({ name: "failed", id, failure: outcome });
    return outcome.ok ? null : outcome;
  }

  #asked(id: string, { operation, body }: Command): Promise<Outcome<object>> {
    const timeoutMs = "key" in body && body.key.startsWith("literal:") ? textTimeoutMs : commandTimeoutMs;
    // Each operation goes with its own body, which types cannot follow through a union.
    return ask(this.#context, operation, { id, body } as never, timeoutMs);
  }

  async #list(id: string, what: ListName): Promise<void> {
    const asked = await ask(this.#context, lists[what].operation, { id }, listTimeoutMs);
    if (asked.ok) this.dispatch({ name: "listed", id, what, choices: choicesIn(asked.data) });
    else this.dispatch({ name: "failed", id, what, failure: asked });
  }

  #unlight(): void {
    clearTimeout(this.#unlit);
    this.#unlit = setTimeout(() => this.dispatch({ name: "unlit" }), litMs);
  }

  #hush(): void {
    clearTimeout(this.#hushed);
    if (this.#model.notice) this.#hushed = setTimeout(() => this.dispatch({ name: "hushed" }), noticeMs);
  }

  /** Once for all that happens in one turn of the loop, and with each second of what plays. */
  #draw(): void {
    if (this.#drawing) return;
    this.#drawing = true;
    setImmediate(() => {
      this.#drawing = false;
      if (this.#following.signal.aborted) return;
      this.#display.show(this.#model);
      clearTimeout(this.#tick);
      const ms = untilNextSecond(this.#model, Date.now());
      if (ms !== null) this.#tick = setTimeout(() => this.#draw(), ms);
    });
  }
}

/** Milliseconds until the position of what plays is shown as another; `null` where it stands still. */
export function untilNextSecond(model: Model, now: number): number | null {
  const known = knownOf(model);
  const { position_ms = null, rate = null } = (known && runOn(known, model.seeking, now)?.playback) ?? {};
  if (position_ms === null || !rate || model.lost || model.seeking) return null;
  const left = rate > 0 ? 1_000 - (position_ms % 1_000) : (position_ms % 1_000) + 1;
  return Math.max(50, left / Math.abs(rate));
}

function choicesIn(data: Result<"listApps"> | Result<"listInputs"> | Result<"listChannels">): readonly Choice[] {
  if ("inputs" in data) return data.inputs;
  if ("channels" in data)
    return data.channels.map(({ id, number, name }) => ({ id, name: number === null ? name : `${number} ${name}` }));
  return data.apps.filter((app) => app.installed).map((app) => ({ id: app.platform_id, name: app.name }));
}

/** What a set shows in the end, where it is not what it was told. */
function differenceIn(data: { confirmed?: unknown; volume?: { level: number | null } | null }): string | undefined {
  if (data.confirmed !== false) return undefined;
  const level = data.volume?.level ?? null;
  return level === null ? "does not show it yet" : `is at ${level}`;
}
