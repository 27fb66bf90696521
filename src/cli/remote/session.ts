/** The remote at work: joins the terminal, the model and the daemon. */
import { notRunning } from "../ask.ts";
import type { Failure } from "../failure.ts";
import type { Input } from "./input.ts";
import type { Link } from "./link.ts";
import { type Effect, type Event, isAsleep, type Model } from "./model.ts";
import { Presses } from "./presses.ts";
import { update } from "./update.ts";
import { type Glimpse, Watch } from "./watch.ts";

/** Where the model is shown. */
export interface Display {
  show(model: Model): void;
  /** Draws everything anew, whatever is on the screen. */
  redraw(): void;
  /** Gives the terminal back and stops the process until it is continued. */
  suspend(): void;
}

const litFor = 150;
const noticeFor = 8_000;
/** A set needs a moment until its state shows what a key did. */
const settles = 250;
/** The list of sets is read anew every so many looks: sets come, go and are renamed. */
const listEvery = 10;

export class Session {
  readonly #link: Link;
  readonly #display: Display;
  readonly #presses: Presses;
  readonly #watch = new Watch((signal) => this.#look(signal));
  #model: Model;
  #quit: () => void = () => {};
  #drawing = false;
  #looks = 0;
  #unlit: ReturnType<typeof setTimeout> | undefined;
  #hushed: ReturnType<typeof setTimeout> | undefined;

  constructor(link: Link, display: Display, model: Model) {
    this.#link = link;
    this.#display = display;
    this.#model = model;
    this.#presses = new Presses({
      send: (id, key) => this.#link.press(id, key),
      done: (id, key) => this.#settled(id, key, null),
      failed: (id, key, failure) => this.#settled(id, key, failure),
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

  input(input: Input): void {
    this.dispatch({ name: "input", input });
  }

  /** The terminal has another size. */
  resized(): void {
    this.#display.redraw();
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
      const asked = await this.#link.devices(signal);
      if (!asked.ok) return this.#lose();
      this.dispatch({ name: "devices", devices: asked.data });
    }
    const id = this.#model.current;
    if (id === null) return "asleep";
    const asked = await this.#link.state(id, signal);
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
    this.#watch.soon(settles);
  }

  async #launch(id: string, app: string): Promise<void> {
    this.#settled(id, "launch", await this.#link.launch(id, app));
  }

  async #list(id: string): Promise<void> {
    const asked = await this.#link.apps(id);
    if (asked.ok) this.dispatch({ name: "apps", id, apps: asked.data.apps });
    else this.#settled(id, "list", asked);
  }

  #unlight(): void {
    clearTimeout(this.#unlit);
    this.#unlit = setTimeout(() => this.dispatch({ name: "unlit" }), litFor);
  }

  #hush(): void {
    clearTimeout(this.#hushed);
    if (this.#model.notice) this.#hushed = setTimeout(() => this.dispatch({ name: "hushed" }), noticeFor);
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
