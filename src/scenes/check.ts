/**
 * Checks a whole scene before its first step: gives all mistakes, each with its line and a hint, or the plan to run. What only
 * the device knows, such as whether it has an app, is found out during the run.
 */
import type { z } from "zod";
import { ZapdError } from "../api/errors.ts";
import { reasonOf } from "../api/issues.ts";
import { sequenceLimits } from "../api/limits.ts";
import { operations } from "../api/operations.ts";
import { meansGroup } from "../api/routes.ts";
import { type Mistake, type Policy, SceneInput, type SceneStep, Step, sceneLimits } from "../api/scenes.ts";
import { type State, showsVolume } from "../api/schemas.ts";
import { type Path, tomlLiteral } from "../config/toml.ts";
import { isApp } from "../devices/catalog.ts";
import { type Condition, isInput, readCondition } from "../devices/conditions.ts";
import type { Device } from "../devices/device.ts";
import type { Devices } from "../devices/devices.ts";
import { isPowerOff } from "../devices/presence.ts";
import { checkPress, onceOnlyKeys, type Press, readPress } from "../devices/press.ts";
import { type Capability, keys } from "../platforms/platform.ts";
import { isObject } from "../system/json.ts";
import { nearest } from "../system/nearest.ts";
import { pluralize } from "../system/text.ts";
import type { Command, Plan, Planned, StepOperation } from "./plan.ts";

/** A scene before the check. */
export interface SceneSource {
  /** `null` for steps from a request. */
  readonly name: string | null;
  /** `null` where the text could not be parsed at all. */
  readonly value: Fields | null;
  /** Finds the line of a value in the text; `null` where the scene is not a text. */
  readonly lineOf: ((path: Path) => number | null) | null;
  /** The device of steps that name none, in place of the one in the scene. */
  readonly device?: string | string[] | undefined;
  /** Mistakes that were found already, in the text or in the request. */
  readonly mistakes: readonly Mistake[];
  /** The text is not valid TOML: lines that could not be parsed were left out. */
  readonly isBroken: boolean;
}

export interface Checked {
  readonly about: string | null;
  /** The number of steps. */
  readonly steps: number;
  /** Its devices, as far as they were found. */
  readonly devices: readonly Device[];
  readonly mistakes: readonly Mistake[];
  /** `null` where there are mistakes. */
  readonly plan: Plan | null;
}

const verbs = [
  ...(["key", "keys", "launch", "volume", "power", "input", "play", "notify"] as const),
  ...(["wait_ms", "wait_for", "if", "parallel"] as const),
];
type Verb = (typeof verbs)[number];

const deviceVerbs: readonly Verb[] = verbs.filter((verb) => verb !== "wait_ms" && verb !== "parallel");
/** Fields that are allowed only with some verbs. */
const allowedWith: ReadonlyMap<string, readonly Verb[]> = new Map<keyof SceneStep, readonly Verb[]>([
  ["device", deviceVerbs],
  ["group", deviceVerbs],
  ["on_error", deviceVerbs],
  ["repeat", ["key"]],
  ["hold_ms", ["key"]],
  ["delay_ms", ["key", "keys"]],
  ["params", ["launch"]],
  ["timeout_ms", ["wait_for"]],
  ["then", ["if"]],
  ["else", ["wait_for", "if"]],
]);

const stepFields = Object.keys(Step.shape) as (keyof SceneStep)[];
const sceneFields = ["about", "device", "on_error", "steps"] as const;
const maxMistakes = 50;

export function checkScene(source: SceneSource, devices: Devices): Checked {
  return new Check(source, devices).run();
}

type Common = Pick<Planned, "at" | "line" | "name" | "onError" | "devices">;
type Fields = Readonly<Record<string, unknown>>;

class Check {
  readonly #source: SceneSource;
  readonly #devices: Devices;
  readonly #mistakes: Mistake[];
  readonly #used = new Set<Device>();
  /** Positions of steps by their names. */
  readonly #names = new Map<string, string>();
  #count = 0;
  #onError: Policy = "stop";
  /** The devices of steps that name none, once resolved. */
  #defaults: { readonly devices: readonly Device[] } | undefined;

  constructor(source: SceneSource, devices: Devices) {
    this.#source = source;
    this.#devices = devices;
    this.#mistakes = [...source.mistakes];
  }

  run(): Checked {
    const { value, name, isBroken } = this.#source;
    const scene = value ?? {};
    this.#checkFields([], scene, sceneFields, "a scene");
    const isValid = (field: "about" | "device" | "on_error") =>
      this.#isValid([], scene, field, SceneInput.shape[field]);
    const about = isValid("about") && typeof scene["about"] === "string" ? scene["about"] : null;
    if (!isValid("device")) this.#defaults = { devices: [] };
    if (isValid("on_error") && scene["on_error"] === "continue") this.#onError = "continue";
    // In a broken text the steps may only be unreadable.
    const steps = isBroken && scene["steps"] === undefined ? [] : this.#steps(["steps"], scene["steps"], "");
    // The device of the scene must exist even if every step names its own.
    if ((this.#source.device ?? scene["device"]) !== undefined) this.#defaultDevices([]);
    const total = minimumMs(steps);
    if (total > sceneLimits.totalMs)
      this.#report(
        ["steps"],
        `waits for ${Math.ceil(total / 1_000)} s in total; a scene may take ${sceneLimits.totalMs / 1_000} s`,
        "Shorten the waits, or split the scene into two",
      );
    const used = [...this.#used];
    // In the order of the lines.
    const mistakes = this.#mistakes.toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0));
    const plan = mistakes.length === 0 ? { name, steps, devices: used } : null;
    return { about, steps: this.#count, devices: used, mistakes, plan };
  }

  #report(path: Path, message: string, hint: string): void {
    if (this.#mistakes.length >= maxMistakes) return;
    const line = this.#source.lineOf?.(path) ?? null;
    this.#mistakes.push({ line, at: describePath(path), message, hint });
  }

  /** Calls `read`, and reports its failure as a mistake. */
  #tryRead<T>(path: Path, read: () => T, hint = ""): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ZapdError)) throw error;
      this.#report(path, error.message, hint || error.hint || "Leave it out");
      return undefined;
    }
  }

  /** An example in the notation of the source; an entry of a list has no name. */
  #example(field: string | number, value: unknown): string {
    const { lineOf } = this.#source;
    const shown = lineOf ? tomlLiteral(value) : JSON.stringify(value);
    if (typeof field === "number") return shown;
    return lineOf ? `${field} = ${shown}` : `"${field}": ${shown}`;
  }

  #checkFields(path: Path, fields: Fields, known: readonly string[], what: string): void {
    for (const field of Object.keys(fields)) {
      if (known.includes(field) || this.#mistakes.length >= maxMistakes) continue;
      const meant = nearest(field, known);
      const hint = meant ? `Did you mean ${meant}?` : `It takes: ${known.join(", ")}`;
      this.#report([...path, field], `${JSON.stringify(field.slice(0, 64))} is not a field of ${what}`, hint);
    }
  }

  /** Whether a field is absent or valid; otherwise reports it. */
  #isValid(path: Path, fields: Fields, field: string, schema: z.ZodType): boolean {
    const issue = schema.safeParse(fields[field], { reportInput: true }).error?.issues[0];
    if (!issue) return true;
    const [example] = (schema.meta()?.["examples"] ?? []) as readonly unknown[];
    const hasOwnMessage = issue.code === "invalid_union" || issue.code === "invalid_value";
    this.#report(
      [...path, field, ...(issue.path as Path)],
      hasOwnMessage ? issue.message : reasonOf(issue),
      `Such as ${this.#example(field, example)}`,
    );
    return false;
  }

  #steps(path: Path, raw: unknown, above: string): Planned[] {
    if (!Array.isArray(raw) || raw.length === 0) {
      const problem = raw === undefined ? "is missing" : "must be a list of at least one step";
      const one = this.#source.lineOf && path.length === 1 ? '[[steps]], and below it key = "home"' : undefined;
      this.#report(path, problem, `Such as ${one ?? this.#example(path.at(-1) ?? "", [{ key: "home" }])}`);
      return [];
    }
    return raw.flatMap((one: unknown, index) => this.#step([...path, index], one, `${above}${index + 1}`) ?? []);
  }

  #step(path: Path, raw: unknown, at: string): Planned | null {
    if (++this.#count > sceneLimits.steps) {
      if (this.#count === sceneLimits.steps + 1)
        this.#report(
          path,
          `is one step too many: a scene has at most ${sceneLimits.steps}`,
          "Split the scene into two",
        );
      return null;
    }
    if (!isObject(raw)) {
      this.#report(path, "must be a step", `Such as ${this.#example(0, { key: "home" })}`);
      return null;
    }
    const before = this.#mistakes.length;
    this.#checkFields(path, raw, stepFields, "a step");
    const validFields = stepFields.filter(
      (field) => isNested(field) || this.#isValid(path, raw, field, Step.shape[field] as z.ZodType),
    );
    const verb = this.#verbOf(path, raw, before);
    if (verb) this.#checkAllowed(path, raw, verb);
    this.#checkName(path, raw, at);
    // The valid fields are checked further, so that all mistakes are reported at once.
    const step = Object.fromEntries(validFields.map((field) => [field, raw[field]])) as SceneStep;
    const onError = step.on_error ?? this.#onError;
    const devices = verb !== undefined && deviceVerbs.includes(verb) ? this.#targets(path, raw) : [];
    const line = this.#source.lineOf?.(path) ?? null;
    const common = { at, line, name: step.name ?? null, onError, devices };
    // Nested steps are checked in any case.
    if (verb === "if") return this.#branching(path, step, common);
    if (verb === "parallel") return this.#parallel(path, raw[verb], common);
    return verb && step[verb] !== undefined ? this.#plain(path, step, verb, common) : null;
  }

  /** The verb of a step, of which there must be exactly one. */
  #verbOf(path: Path, raw: Fields, before: number): Verb | undefined {
    const all = verbs.filter((verb) => raw[verb] !== undefined);
    const [verb, second] = all;
    if (verb === undefined && this.#mistakes.length === before && !this.#isBroken(path))
      this.#report(path, "does nothing", `Give it one of: ${verbs.join(", ")}`);
    if (second === undefined) return verb;
    this.#report(
      [...path, second],
      `is a second action, besides ${verb}`,
      "A step has one action: split it into two steps",
    );
    return undefined;
  }

  /** Whether an unparsable line of the step may have had its verb. */
  #isBroken(path: Path): boolean {
    const { lineOf, mistakes } = this.#source;
    const from = lineOf?.(path) ?? 0;
    const next = lineOf?.([...path.slice(0, -1), Number(path.at(-1)) + 1]) ?? 0;
    const to = next > from ? next : Number.POSITIVE_INFINITY;
    return mistakes.some(({ line }) => line !== null && line >= from && line < to);
  }

  #checkAllowed(path: Path, raw: Fields, verb: Verb): void {
    for (const field of stepFields) {
      const allowed = allowedWith.get(field);
      if (raw[field] === undefined || !allowed || allowed.includes(verb)) continue;
      const isForDevices = allowed === deviceVerbs;
      const message = isForDevices ? `is not allowed with ${verb}` : `is only allowed with ${allowed.join(" or ")}`;
      const why = isForDevices ? "set it on the steps that use devices" : `this step has ${verb}`;
      this.#report([...path, field], message, `Leave it out: ${why}`);
    }
  }

  #checkName(path: Path, { name }: Fields, at: string): void {
    if (typeof name !== "string") return;
    const other = this.#names.get(name);
    this.#names.set(name, other ?? at);
    if (other === undefined) return;
    this.#report(
      [...path, "name"],
      `${JSON.stringify(name)} is already the name of step ${other}`,
      "Give it another name",
    );
  }

  /** The devices of a step; none where they are wrong. */
  #targets(path: Path, { device, group }: Fields): readonly Device[] {
    if (device !== undefined && group !== undefined) {
      this.#report([...path, "group"], "cannot be combined with device", "Leave one of them out");
      return [];
    }
    const all =
      group !== undefined
        ? this.#find([...path, "group"], [group], true)
        : device !== undefined
          ? this.#find([...path, "device"], [device].flat())
          : this.#defaultDevices(path);
    for (const one of all) this.#used.add(one);
    return all;
  }

  /** The devices of steps that name none; a mistake in them is reported once. */
  #defaultDevices(path: Path): readonly Device[] {
    if (this.#defaults) return this.#defaults.devices;
    const { value, device } = this.#source;
    const own = device ?? value?.["device"];
    // The device of a request has no line in the file.
    const place = device !== undefined ? ["device of the call"] : own === undefined ? path : ["device"];
    this.#defaults = { devices: this.#find(place, [own ?? "default"].flat()) };
    return this.#defaults.devices;
  }

  #find(path: Path, words: readonly unknown[], isGroup = false): readonly Device[] {
    const all = new Set<Device>();
    for (const [index, word] of words.entries()) {
      if (typeof word !== "string" || word === "") continue;
      const at = words.length > 1 ? [...path, index] : path;
      const find = () => (isGroup || meansGroup(word) ? this.#devices.group(word) : [this.#devices.find(word)]);
      const found = this.#tryRead(at, find) ?? [];
      const twice = found.find((one) => all.has(one));
      if (twice) this.#report(at, `means ${twice.record.name}, which is already in the list`, "Leave it out");
      for (const one of found) all.add(one);
    }
    return [...all];
  }

  /** Reports where one of the devices lacks something; with `on_error = "continue"`, where all of them do. */
  #requireAll(path: Path, { devices, onError }: Common, check: (device: Device) => void): void {
    const lacking = devices.flatMap((device) => {
      try {
        check(device);
        return [];
      } catch (error) {
        if (!(error instanceof ZapdError)) throw error;
        return [error];
      }
    });
    const [first] = lacking;
    if (!first || (onError === "continue" && lacking.length < devices.length)) return;
    const others = lacking.length > 1 ? ` (and ${lacking.length - 1} more like it)` : "";
    const among = devices.length > 1 ? `. Or skip those that cannot: ${this.#example("on_error", "continue")}` : "";
    this.#report(path, first.message + others, (first.hint ?? "Use a device that can") + among);
  }

  #require(path: Path, common: Common, capability: Capability): void {
    this.#requireAll(path, common, (device) => device.requireCapability(capability));
  }

  /** Checks a body by the schema of its operation. `isTable`: the step has it field by field. */
  #command(path: Path, operation: StepOperation, body: object, isTable = false): Command {
    const issue = operations[operation].body.safeParse(body, { reportInput: true }).error?.issues[0];
    const field = String(path.at(-1));
    const [example] = (Step.shape[field as "launch"].meta()?.["examples"] ?? []) as readonly unknown[];
    const at = isTable ? [...path, ...(issue?.path ?? []).map(String)] : path;
    if (issue) this.#report(at, reasonOf(issue), `Such as ${this.#example(field, example)}`);
    return { operation, body };
  }

  #plain(path: Path, step: SceneStep, verb: Verb, common: Common): Planned {
    const at = [...path, verb];
    const isTable = typeof step[verb] === "object";
    const act = { kind: "act", ...common, delayMs: 0, isTyped: false } as const;
    switch (verb) {
      case "launch": {
        const launch = typeof step.launch === "object" ? step.launch : { app: step.launch ?? "" };
        const { app, params = step.params } = launch;
        if (launch.params && step.params)
          this.#report([...path, "params"], "cannot be combined with the params of launch", "Leave one of them out");
        this.#require(at, common, "launch");
        const hasEffect = params === undefined ? showsApp(app) : undefined;
        const command = this.#command(at, "launchApp", { app, ...(params && { params }) }, isTable);
        return { ...act, does: shorten(`launch ${app}`), commands: [command], hasEffect };
      }
      case "volume": {
        const change = typeof step.volume === "object" ? step.volume : { level: step.volume };
        const { level, step: by, muted } = change;
        const needed = level === undefined && by === undefined ? "mute" : "volume";
        this.#require(at, common, needed);
        const command = this.#command(at, "setVolume", change, isTable);
        const parts = [
          level === undefined ? [] : `volume ${level}`,
          by === undefined ? [] : `volume ${by > 0 ? "+" : ""}${by}`,
          muted === undefined ? [] : muted ? "mute" : "unmute",
        ];
        const hasEffect = by === undefined ? (state: State) => showsVolume(state, level, muted) : undefined;
        return { ...act, does: parts.flat().join(", "), commands: [command], hasEffect };
      }
      case "power": {
        const isOn = step.power === "on";
        const key = isOn ? "power-on" : "power-off";
        this.#requireAll(at, common, ({ record, description }) => checkPress(record.name, description, { key }));
        const readsBack = readCondition(isOn ? "power:on" : "power:off");
        const hasEffect = readsBack.holds;
        const command = this.#command(at, "pressKey", { key });
        return { ...act, does: isOn ? "turn on" : "turn off", commands: [command], hasEffect, readsBack };
      }
      case "input": {
        const { input = "" } = step;
        this.#require(at, common, "inputs");
        const hasEffect = (state: State) => isInput(state, input) && !isPowerOff(state.power);
        const command = this.#command(at, "selectInput", { input });
        return { ...act, does: shorten(`show ${input}`), commands: [command], hasEffect };
      }
      case "play": {
        const media = typeof step.play === "object" ? step.play : { url: step.play ?? "" };
        this.#require(at, common, "media");
        const named = media.title ?? (URL.canParse(media.url) ? new URL(media.url).pathname.split("/").at(-1) : "");
        const command = this.#command(at, "playMedia", media, isTable);
        return { ...act, does: shorten(`play ${named || "a file"}`), commands: [command] };
      }
      case "notify": {
        this.#require(at, common, "notify");
        const command = this.#command(at, "notify", { message: step.notify });
        return { ...act, does: "show a message", commands: [command] };
      }
      case "wait_ms": {
        const ms = step.wait_ms ?? 0;
        return { ...common, kind: "wait", does: `wait ${ms / 1_000} s`, ms };
      }
      case "wait_for": {
        const timeoutMs = step.timeout_ms ?? sceneLimits.defaultWaitMs;
        if (step.else !== undefined && step.else !== "stop" && step.else !== "continue")
          this.#report(
            [...path, "else"],
            "must be `stop` or `continue`",
            `Such as ${this.#example("else", "continue")}`,
          );
        const orElse = step.else === "stop" || step.else === "continue" ? step.else : common.onError;
        return {
          ...common,
          kind: "wait_for",
          ...this.#conditions(at, step.wait_for, common, "wait for"),
          timeoutMs,
          orElse,
        };
      }
      default:
        return { ...act, ...this.#presses(path, step, verb === "keys" ? "keys" : "key", common) };
    }
  }

  #conditions(
    path: Path,
    raw: SceneStep["if"],
    common: Common,
    word: string,
  ): { readonly conditions: readonly Condition[]; readonly does: string } {
    this.#require(path, common, "state");
    const texts =
      typeof raw === "object" && !Array.isArray(raw)
        ? Object.entries(raw).map(([part, value]) => ({ text: `${part}:${value}`, at: [...path, part] }))
        : [raw ?? ""].flat().map((text, index) => ({ text, at: Array.isArray(raw) ? [...path, index] : path }));
    if (texts.length === 0) this.#report(path, "is empty", `Such as ${this.#example(String(path.at(-1)), "power:on")}`);
    const conditions = texts.flatMap(({ text, at }) => this.#tryRead(at, () => readCondition(text)) ?? []);
    return { conditions, does: shorten(`${word} ${texts.map(({ text }) => text).join(" and ")}`) };
  }

  #branching(path: Path, step: SceneStep, common: Common): Planned {
    const { else: otherwise } = step;
    const then = this.#steps([...path, "then"], step.then, `${common.at}.then.`);
    const other = otherwise === undefined ? [] : this.#steps([...path, "else"], otherwise, `${common.at}.else.`);
    const isValid = step.if !== undefined;
    const tested = isValid ? this.#conditions([...path, "if"], step.if, common, "if") : { conditions: [], does: "" };
    return { ...common, kind: "if", ...tested, branches: { yes: then, no: other } };
  }

  #parallel(path: Path, raw: unknown, common: Common): Planned {
    const at = [...path, "parallel"];
    const above = `${common.at}.parallel.`;
    const isList = Array.isArray(raw) && raw.length > 0;
    if (!isList) this.#steps(at, raw, above);
    const branches = (isList ? raw : []).map((one: unknown, index) =>
      Array.isArray(one)
        ? this.#steps([...at, index], one, `${above}${index + 1}.`)
        : [this.#step([...at, index], one, `${above}${index + 1}`) ?? []].flat(),
    );
    return { ...common, kind: "parallel", does: "at the same moment", branches };
  }

  /** The presses of a step: consecutive keys become one sequence, a held key is a command of its own. */
  #presses(path: Path, step: SceneStep, verb: "key" | "keys", common: Common) {
    const { repeat, hold_ms, delay_ms = sequenceLimits.defaultDelayMs } = step;
    const entries = verb === "key" ? [{ key: step.key ?? "", repeat, hold_ms }] : (step.keys ?? []);
    const commands: { keys: string[]; hold: number }[] = [];
    const words: string[] = [];
    let isTyped = false;
    for (const [index, entry] of entries.entries()) {
      const { key, repeat: times = 1, hold_ms: hold = 0 } = typeof entry === "string" ? { key: entry } : entry;
      const at =
        verb === "key" ? [...path, "key"] : [...path, "keys", index, ...(typeof entry === "string" ? [] : ["key"])];
      const meant = nearest(key, keys);
      const press = this.#tryRead(at, () => readPress(key), meant ? `Did you mean ${meant}?` : "");
      if (!press) continue;
      const types = "text" in press;
      isTyped ||= types;
      if ((times > 1 || hold > 0) && (types || onceOnlyKeys.has(key)))
        this.#report(
          at,
          "cannot be held or repeated",
          "Power keys and text are sent once: leave repeat and hold_ms out",
        );
      this.#requireAll(at, common, ({ record, description }) => checkPress(record.name, description, press));
      words.push(`${wordOf(press)}${times > 1 ? ` ×${times}` : ""}${hold > 0 ? ` for ${hold / 1_000} s` : ""}`);
      for (let time = 0; time < times; time++) {
        const last = commands.at(-1);
        if (hold === 0 && last?.hold === 0) last.keys.push(key);
        else commands.push({ keys: [key], hold });
      }
    }
    const sent = commands.reduce((sum, one) => sum + one.keys.length, 0);
    if (sent > sequenceLimits.keys)
      this.#report(
        [...path, verb],
        `has ${sent} presses; at most ${sequenceLimits.keys} are allowed`,
        "Split it into two steps",
      );
    return {
      does: shorten(`press ${words.join(", ")}`.replace("press type", "type")),
      isTyped,
      delayMs: delay_ms,
      commands: commands.map(({ keys: pressed, hold }): Command => {
        if (hold > 0) return { operation: "pressKey", body: { key: pressed[0], hold_ms: hold } };
        if (pressed.length === 1) return { operation: "pressKey", body: { key: pressed[0] } };
        return { operation: "pressKeys", body: { keys: pressed, delay_ms } };
      }),
    };
  }
}

function isNested(field: keyof SceneStep): boolean {
  return field === "then" || field === "else" || field === "parallel";
}

function wordOf(press: Press): string {
  if ("key" in press) return press.key;
  return `type ${pluralize([...press.text].length, "character")}`;
}

const maxDescription = 120;

function shorten(text: string): string {
  return text.length > maxDescription ? `${text.slice(0, maxDescription - 1)}…` : text;
}

function showsApp(app: string): (state: State) => boolean {
  // Not by a condition: in one, `none` means the home screen.
  return ({ power, screensaver, app: shown }) =>
    !isPowerOff(power) && screensaver !== true && shown !== null && isApp(shown, app);
}

/** The shortest time that steps can take, in milliseconds. */
function minimumMs(steps: readonly Planned[]): number {
  return steps.reduce((sum, step) => sum + minimumOf(step), 0);
}

function minimumOf(step: Planned): number {
  if (step.kind === "wait") return step.ms;
  if (step.kind === "parallel") return Math.max(0, ...step.branches.map(minimumMs));
  if (step.kind !== "act") return 0;
  const held = step.commands.reduce((sum, { body }) => {
    const { hold_ms = 0, keys: pressed = [] } = body as { hold_ms?: number; keys?: readonly string[] };
    return sum + hold_ms + Math.max(0, pressed.length - 1) * step.delayMs;
  }, 0);
  return held + Math.max(0, step.commands.length - 1) * step.delayMs;
}

/** `step 3, then 1: key`. */
function describePath(path: Path): string {
  const steps: string[] = [];
  const fields: string[] = [];
  for (const [at, part] of path.entries()) {
    const next = path[at + 1];
    if (typeof part === "string" && typeof next === "number" && /^(steps|then|else|parallel)$/.test(part))
      steps.push(`${part === "steps" ? "step" : part} ${next + 1}`);
    else if (typeof part === "string") fields.push(part);
    else if (typeof path[at - 1] === "number") steps.push(String(part + 1));
    else if (fields.length > 0) fields.push(String(part + 1));
  }
  return [steps.join(", "), fields.join(" ")].filter((text) => text !== "").join(": ");
}
