/** `zapd remote`: a full-screen remote in the terminal. */
import type { ApiEvent, Result } from "../../api/client.ts";
import { exits, type Failure, type Outcome } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import { call } from "../client.ts";
import type { Context } from "../context.ts";
import { CommandError } from "../failure.ts";
import { usesColour } from "../print.ts";
import { followEvents, tryCall } from "../requests.ts";
import { type ListName, lists } from "./keys.ts";
import {
  applyEvent,
  begin,
  type Choice,
  type Command,
  currentView,
  type Effect,
  type Event,
  type Model,
  stateAt,
  update,
} from "./model.ts";
import { Presses } from "./presses.ts";
import { render, type TerminalFeatures } from "./screen.ts";
import { Terminal } from "./terminal.ts";

export async function remote(context: Context): Promise<number> {
  if (!Terminal.isThere)
    throw new CommandError(
      "the remote needs a terminal, but there is none",
      exits.usage,
      "In scripts use `zapd key`, `zapd keys` and `zapd launch`",
    );
  const id = context.words[0] ?? context.device;
  const current = id === "default" ? null : (await call(context, "getDevice", { id })).data.id;

  const session = new Session(context, current);
  // Before the full screen opens, so that failures are printed as for every command.
  await session.begin();
  return session.run();
}

/** Whether the terminal shows Unicode, judged by the locale. */
export function showsUnicode(env: Readonly<Record<string, string | undefined>>, platform: string): boolean {
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"];
  if (!locale) return platform !== "linux";
  return /utf-?8/i.test(locale);
}

/** Turning a set on takes up to 45 s, and a long text longer. */
const commandTimeoutMs = 60_000;
const textTimeoutMs = 600_000;
const listTimeoutMs = 20_000;
/** How long to wait on exit for the daemon to learn that a key is up; it would release the key by itself. */
const releaseTimeoutMs = 500;
const exitAfterMs = 500;
const highlightMs = 150;
const noticeMs = 8_000;

class Session {
  readonly #context: Context;
  readonly #terminal = new Terminal();
  readonly #looks: TerminalFeatures;
  readonly #presses: Presses;
  readonly #ended = Promise.withResolvers<void>();
  #status: number = exits.ok;
  #model: Model;
  #following = new AbortController();
  #hasQuit = false;
  #isDrawScheduled = false;
  #highlightTimer: ReturnType<typeof setTimeout> | undefined;
  #noticeTimer: ReturnType<typeof setTimeout> | undefined;
  #clockTimer: ReturnType<typeof setTimeout> | undefined;

  /** `current`: the id of the device that the user named. */
  constructor(context: Context, current: string | null) {
    this.#context = context;
    const colour = usesColour(true, context.flag("no-color"), process.env);
    this.#looks = { colour, unicode: showsUnicode(process.env, process.platform) };
    this.#model = begin(current);
    this.#presses = new Presses({
      send: (id, command) => this.#send(id, command),
      dropped: (id, count) => this.#dispatch({ name: "dropped", id, count }),
      now: () => performance.now(),
    });
  }

  /** Starts to follow the events; resolves once all devices are known. Fails with CommandError. */
  async begin(): Promise<void> {
    const events = this.#events(false);
    while (!this.#model.hasSnapshot) {
      const { value: event, done } = await events.next();
      if (done) return;
      await this.#apply(event);
    }
    void this.#follow(events);
  }

  /** Fills the terminal until the user quits, and gives the exit status. */
  async run(): Promise<number> {
    this.#terminal.open({
      input: (input) => this.#dispatch({ name: "input", input }),
      resized: () => this.#redraw(),
      resumed: () => this.#resumed(),
      ended: (status) => {
        this.#status = status;
        this.#quit();
      },
    });
    this.#draw();
    try {
      await this.#ended.promise;
    } finally {
      this.#terminal.close();
      // A command that takes long must not keep the process alive; one that is quick still reaches its device.
      setTimeout(() => process.exit(), exitAfterMs).unref();
    }
    return this.#status;
  }

  /** Ends the run, and releases the key that is held. */
  #quit(): void {
    this.#hasQuit = true;
    this.#following.abort();
    clearTimeout(this.#highlightTimer);
    clearTimeout(this.#noticeTimer);
    clearTimeout(this.#clockTimer);
    void this.#releaseKeys().then(() => this.#ended.resolve());
  }

  /** The process was continued after a stop. */
  #resumed(): void {
    this.#redraw();
    this.#following.abort();
    this.#following = new AbortController();
    void this.#follow(this.#events(true));
  }

  #dispatch(event: Event): void {
    // The answer to the last press may come later: nobody sees it, and its notice must not keep the process alive.
    if (this.#hasQuit) return;
    const before = this.#model;
    const { model, effects } = update(before, event, Date.now());
    this.#model = model;
    if (event.name === "input") {
      const { held } = this.#presses;
      const isKept = effects.some((one) => "input" in one && one.input === held);
      if (held !== undefined && !isKept && effects.every(({ name }) => name !== "released")) this.#presses.release();
      if (model.pressedInput !== null) this.#scheduleHighlightEnd();
    }
    if (model.notice !== before.notice) this.#scheduleNoticeEnd();
    if (model !== before) this.#draw();
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: Effect): void {
    switch (effect.name) {
      case "order":
        return this.#presses.enqueue(effect);
      case "released":
        return this.#presses.release(effect.input);
      case "list":
        return void this.#list(effect.id, effect.what);
      case "redraw":
        return this.#redraw();
      case "suspend":
        // Nothing is shown meanwhile, so the daemon need not poll the devices for us.
        this.#following.abort();
        return void this.#releaseKeys().then(() => this.#terminal.suspend());
      case "quit":
        return this.#quit();
    }
  }

  #events(resumed: boolean) {
    const { signal } = this.#following;
    const broken = (isBroken: boolean) => {
      if (!signal.aborted) this.#dispatch({ name: "connection", isLost: isBroken });
    };
    return followEvents(this.#context, { signal }, { broken, resumed });
  }

  async #follow(events: ReturnType<typeof followEvents>): Promise<void> {
    try {
      for await (const event of events) await this.#apply(event);
    } catch (error) {
      this.#ended.reject(error);
      this.#quit();
    }
  }

  async #apply(event: ApiEvent): Promise<void> {
    const { current: id } = this.#model;
    // A snapshot does not tell what has become a part of another device meanwhile: keys must not go to the default one.
    const isLost = event.type === "snapshot" && id !== null && applyEvent(this.#model, event).current !== id;
    const found = isLost ? await tryCall(this.#context, "getDevice", { id }, listTimeoutMs) : null;
    // The person may have chosen another one meanwhile.
    const goesOn = found?.ok && this.#model.current === id;
    this.#dispatch({ name: "daemonEvent", event, whole: goesOn ? found.data.id : undefined });
  }

  async #releaseKeys(): Promise<void> {
    const released = new AbortController();
    await Promise.race([this.#presses.end(), sleep(releaseTimeoutMs, released.signal).catch(() => {})]);
    released.abort();
  }

  async #send(id: string, command: Command): Promise<Failure | null> {
    const outcome = await this.#callDevice(id, command);
    if (outcome.ok) this.#dispatch({ name: "done", id, command, difference: differenceIn(outcome.data) });
    else this.#dispatch({ name: "failed", id, failure: outcome });
    return outcome.ok ? null : outcome;
  }

  #callDevice(id: string, { operation, body }: Command): Promise<Outcome<object>> {
    const timeoutMs = "key" in body && body.key.startsWith("literal:") ? textTimeoutMs : commandTimeoutMs;
    // Each operation goes with its own body, which types cannot follow through a union.
    return tryCall(this.#context, operation, { id, body } as never, timeoutMs);
  }

  async #list(id: string, what: ListName): Promise<void> {
    const listed = await tryCall(this.#context, lists[what].operation, { id }, listTimeoutMs);
    if (listed.ok) this.#dispatch({ name: "listed", id, what, choices: choicesIn(listed.data) });
    else this.#dispatch({ name: "failed", id, what, failure: listed });
  }

  #scheduleHighlightEnd(): void {
    clearTimeout(this.#highlightTimer);
    this.#highlightTimer = setTimeout(() => this.#dispatch({ name: "highlightEnded" }), highlightMs);
  }

  #scheduleNoticeEnd(): void {
    clearTimeout(this.#noticeTimer);
    if (this.#model.notice) this.#noticeTimer = setTimeout(() => this.#dispatch({ name: "noticeEnded" }), noticeMs);
  }

  #redraw(): void {
    this.#terminal.clear();
    this.#show();
  }

  #show(): void {
    const viewport = { ...this.#terminal.size, ...this.#looks, now: new Date() };
    this.#terminal.show(render(this.#model, viewport));
  }

  /** Draws once per turn of the event loop, and once per second of playback. */
  #draw(): void {
    if (this.#isDrawScheduled) return;
    this.#isDrawScheduled = true;
    setImmediate(() => {
      this.#isDrawScheduled = false;
      if (this.#following.signal.aborted) return;
      this.#show();
      clearTimeout(this.#clockTimer);
      const ms = untilNextSecond(this.#model, Date.now());
      if (ms !== null) this.#clockTimer = setTimeout(() => this.#draw(), ms);
    });
  }
}

/** Milliseconds until the shown playback position changes; `null` where it stands still. */
export function untilNextSecond(model: Model, now: number): number | null {
  const view = currentView(model);
  const { position_ms = null, rate = null } = (view && stateAt(view, model.seeking, now)?.playback) ?? {};
  if (position_ms === null || !rate || model.isDisconnected || model.seeking) return null;
  const left = rate > 0 ? 1_000 - (position_ms % 1_000) : (position_ms % 1_000) + 1;
  return Math.max(50, left / Math.abs(rate));
}

function choicesIn(data: Result<"listApps"> | Result<"listInputs"> | Result<"listChannels">): readonly Choice[] {
  if ("inputs" in data) return data.inputs;
  if ("channels" in data)
    return data.channels.map(({ id, number, name }) => ({ id, name: number === null ? name : `${number} ${name}` }));
  return data.apps.filter((app) => app.installed).map((app) => ({ id: app.platform_id, name: app.name }));
}

/** What the device shows, where that is not what it was told. */
function differenceIn(data: { confirmed?: unknown; volume?: { level: number | null } | null }): string | undefined {
  if (data.confirmed !== false) return undefined;
  const level = data.volume?.level ?? null;
  return level === null ? "does not show it yet" : `is at ${level}`;
}
