/** `zapd run`, which prints each step of a scene as it ends, and `zapd scenes`. */
import { readFileSync, statSync } from "node:fs";
import { openStream, type SceneInfo, type SceneResult, type StepResult } from "../api/client.ts";
import { linesOf } from "../api/client-stream.ts";
import { codes, exits, toErrorCode } from "../api/errors.ts";
import type { SceneNews } from "../api/events.ts";
import { sceneLength } from "../api/limits.ts";
import { neverAborted } from "../system/never-aborted.ts";
import { printable } from "../system/printable.ts";
import { pluralize } from "../system/text.ts";
import { apiOf, call, failureOf } from "./client.ts";
import { type Context, stderr } from "./context.ts";
import { failureText } from "./explain.ts";
import { CommandError, UsageError } from "./failure.ts";
import { isColoured, paintFor, table, unreadable } from "./print.ts";
import { progressOn, tellEveryMs } from "./progress.ts";
import { reasonWords, statusWords, stepsText } from "./scene-words.ts";

/** The operation that runs a scene, with its arguments. */
type SceneCall =
  | { readonly name: "runScene"; readonly given: { readonly scene: string; readonly body: object } }
  | { readonly name: "runSteps"; readonly given: { readonly body: object } };

export async function run(context: Context): Promise<number> {
  const [word] = context.words;
  if (!word) throw new UsageError("which scene? zapd scenes lists them. To start the daemon: zapd serve");
  const sceneCall = await callFor(word, context);
  const isDry = context.flag("dry-run");
  if (isDry || context.json) {
    // Each operation goes with its own arguments, which types cannot follow through a union.
    const called = await call(context, sceneCall.name as "runSteps", sceneCall.given as { readonly body: object });
    context.printResult(called, ({ steps }) => steps.map((step) => stepLine(context, step)).join("\n"));
    return exitOf(called.data);
  }
  return follow(context, sceneCall);
}

/** The call for a scene of the daemon, or for a scene in a file or on stdin. */
async function callFor(word: string, context: Context): Promise<SceneCall> {
  const device = context.option("device");
  const more = { ...(device !== undefined && { device }), ...(context.flag("dry-run") && { dry_run: true }) };
  const isFile = word === "-" || /[\\/]|\.(?:toml|json)$/.test(word);
  if (!isFile) return { name: "runScene", given: { scene: word, body: more } };
  const source = word === "-" ? "the input" : word;
  const text = word === "-" ? await readStdin() : readSceneFile(word);
  if (!/^\s*(?:\{|\[\s*[{\]])/.test(text)) {
    if (text.length > sceneLength)
      throw new UsageError(`${source} is too large for a scene: TOML has ${sceneLength / 1024} KiB at most`);
    return { name: "runSteps", given: { body: { toml: text, ...more } } };
  }
  try {
    const value: unknown = JSON.parse(text);
    const scene = Array.isArray(value) ? { steps: value as unknown[] } : (value as object);
    return { name: "runSteps", given: { body: { ...scene, ...more } } };
  } catch {
    throw new CommandError(`${source} is neither TOML nor JSON`, exits.usage, undefined, { code: "invalid_scene" });
  }
}

/** The largest scene that is sent. */
const maxBytes = 256 * 1024;

function readSceneFile(path: string): string {
  try {
    if (statSync(path).size > maxBytes) throw new UsageError(`${path} is too large for a scene`);
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const hint = "Run a scene beside the config by its name; zapd scenes lists them";
    throw new CommandError(`${path} ${unreadable(error)}`, exits.failed, hint, { code: "file_unreadable" });
  }
}

async function readStdin(): Promise<string> {
  let text = "";
  process.stdin.setEncoding("utf8");
  for await (const part of process.stdin) {
    text += String(part);
    if (text.length > maxBytes) throw new UsageError("the input is too large for a scene");
  }
  return text;
}

/** Runs a scene and prints each step as it ends; a terminal also shows what takes long. The run is cancelled when the command ends. */
async function follow(context: Context, sceneCall: SceneCall): Promise<number> {
  const printed = new Set<string>();
  const progress = progressOn(stderr());
  // An earlier run on one of its devices may take its time.
  let doing = "waiting to start";
  let since = performance.now();
  const timer = setInterval(
    () => progress.show(`${doing} … ${Math.round((performance.now() - since) / 1_000)} s`),
    tellEveryMs,
  );
  const print = (step: StepResult) => {
    printed.add(step.at);
    context.print(stepLine(context, step));
    for (const failure of failuresOf(step)) context.say(failureText(failure));
  };
  try {
    const signal = context.deadline() ?? neverAborted;
    const body = await openStream(apiOf(context), sceneCall.name, { ...sceneCall.given, signal });
    for await (const text of linesOf(body, signal)) {
      const line = JSON.parse(text) as SceneNews | { readonly type: "heartbeat" };
      if (line.type === "heartbeat") continue;
      progress.clear();
      since = performance.now();
      if (line.type === "scene.started") doing = "running";
      if (line.type === "scene.step") print(line.step);
      if (line.type === "error") throw CommandError.of(line.error);
      if (line.type !== "scene.finished") continue;
      const isLeft = ({ at, reason }: StepResult) =>
        !printed.has(at) && (reason === "stopped" || reason === "cancelled");
      for (const step of line.data.steps.filter(isLeft)) context.print(stepLine(context, step));
      if (line.data.outcome === "cancelled") context.say("zapd: the daemon is stopping, which ended the run.");
      return exitOf(line.data);
    }
    // The stream may end in good order when its signal aborts, as it does under Deno.
    signal.throwIfAborted();
  } catch (error) {
    throw await failureOf(error, context, sceneCall.name);
  } finally {
    clearInterval(timer);
    progress.clear();
  }
  throw new CommandError("the daemon ended before the scene did", exits.failed);
}

/** The exit status of a run: that of the failure which stopped it. */
function exitOf({ outcome, steps }: SceneResult): number {
  if (outcome === "done" || outcome === "checked") return exits.ok;
  const failed = steps.findLast(({ error }) => error !== undefined);
  return codes[toErrorCode(failed?.error?.code)].exit;
}

/** The failures of a step: of each device, or of the step as a whole. */
function failuresOf({ error, devices }: StepResult): NonNullable<StepResult["error"]>[] {
  const each = devices.flatMap((one) => one.error ?? []);
  return each.length > 0 ? each : error ? [error] : [];
}

/** `3  launch netflix · Den: done, seen`. */
function stepLine(context: Context, step: StepResult): string {
  const paint = paintFor(isColoured(context));
  const { at, name, does, status, reason, confirmed, took_ms, devices } = step;
  const where = devices.map(({ device }) => device.name).join(", ");
  const what = [name === null ? does : `${name}: ${does}`, ...(where === "" ? [] : [where])].join(" · ");
  const inner = " ".repeat(2 * at.split(/\.(?:then|else|parallel)\./).length);
  const begun = `${at}${inner}${printable(what)}`;
  if (reason === "dry_run") return begun;
  const seconds = took_ms < 100 ? "" : `, ${(took_ms / 1_000).toFixed(1)} s`;
  // Of the steps that look whether something holds, only an `if` has nothing to confirm.
  if (status === "did" && step.matched !== undefined && confirmed === null)
    return `${begun}: ${paint.good(step.matched ? "yes" : "no")}`;
  const seen = status !== "did" || confirmed === null ? "" : confirmed ? ", seen" : ", not seen yet";
  const why = reason === undefined ? "" : `, ${reasonWords[reason]}`;
  const colour = status === "did" ? paint.good : status === "failed" ? paint.bad : paint.faint;
  return `${begun}: ${colour(statusWords[status])}${why}${seen}${status === "skipped" ? "" : seconds}`;
}

export async function scenes(context: Context): Promise<void> {
  const called = await call(context, "listScenes", {});
  const { scenes: all, folder } = called.data;
  if (!context.json && all.length === 0)
    return context.say(`no scenes yet: each is a file NAME.toml in ${printable(folder)}`);
  context.printResult(called, () => [sceneTable(all, context), ...all.flatMap(mistakeLines)].join("\n"));
}

function sceneTable(all: readonly SceneInfo[], context: Context): string {
  const paint = paintFor(isColoured(context));
  const check = ({ ok, mistakes }: SceneInfo) => {
    return ok ? { text: "ok", paint: paint.good } : { text: pluralize(mistakes.length, "mistake"), paint: paint.bad };
  };
  return table(
    [
      { title: "NAME" },
      { title: "CHECK" },
      { title: "STEPS", dropOrder: 3 },
      { title: "DEVICES", shrinkOrder: 2, dropOrder: 2 },
      { title: "ABOUT", shrinkOrder: 1, dropOrder: 1 },
    ],
    all.map((one) => [
      one.name,
      check(one),
      one.steps === null ? "" : stepsText(one.steps),
      one.devices.join(", "),
      one.about ?? "",
    ]),
    context.width,
  );
}

function mistakeLines({ name, mistakes }: SceneInfo): string[] {
  return mistakes.map(({ line, at, message, hint }) =>
    printable(`${name}.toml, ${line === null ? at : `line ${line}, ${at}`}: ${message}. ${hint}`.trim()),
  );
}
