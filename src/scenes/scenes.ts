/** The scenes: listed, checked and run, with one run at a time for each device. */
import { ZapdError } from "../api/errors.ts";
import { type Mistake, type SceneInfo, SceneInput, type SceneResult, sceneLimits, sceneName } from "../api/scenes.ts";
import type { Device } from "../devices/device.ts";
import type { Devices } from "../devices/devices.ts";
import type { NewEvent } from "../devices/journal.ts";
import { sleptSince, staleCommandError } from "../system/clock.ts";
import { orAborted } from "../system/sleep.ts";
import { pluralize } from "../system/text.ts";
import { checkScene, type SceneSource } from "./check.ts";
import { readScene, readSceneFile, scenesIn } from "./files.ts";
import { allSteps, type Plan } from "./plan.ts";
import { dryResults, type RunOptions, runPlan } from "./run.ts";

export type { Answer, RunOptions } from "./run.ts";

/** Running and waiting runs. */
const maxRuns = 32;

export type SceneNews = Extract<NewEvent, { type: `scene.${string}` }>;

export class Scenes {
  readonly #folder: string;
  readonly #devices: Devices;
  /** Runs in order of arrival. */
  readonly #runs = new Set<{ readonly devices: readonly Device[]; readonly over: Promise<void> }>();

  constructor(folder: string, devices: Devices) {
    this.#folder = folder;
    this.#devices = devices;
  }

  /** Reads and checks every file of the folder. */
  list(): { folder: string; scenes: SceneInfo[] } {
    return { folder: this.#folder, scenes: scenesIn(this.#folder).map((name) => this.#infoOf(name)) };
  }

  #infoOf(name: string): SceneInfo {
    const none = { name, about: null, steps: null, devices: [], ok: false };
    if (!sceneName.test(name)) return { ...none, mistakes: [misnamed(name)] };
    try {
      const { about, steps, devices, mistakes } = checkScene(readSceneFile(this.#folder, name), this.#devices);
      const names = devices.map((device) => device.record.name);
      return { name, about, steps, devices: names, ok: mistakes.length === 0, mistakes: [...mistakes] };
    } catch (error) {
      if (!(error instanceof ZapdError)) throw error;
      return { ...none, mistakes: [{ line: null, at: "file", message: error.message, hint: error.hint ?? "" }] };
    }
  }

  /** Checks the scene of a file. Fails with `scene_not_found` and `invalid_scene`. */
  ofFile(name: string, device?: string | string[]): Plan {
    if (!sceneName.test(name) && scenesIn(this.#folder).includes(name))
      throw invalid([misnamed(name)], JSON.stringify(`${name}.toml`));
    return planOf({ ...readSceneFile(this.#folder, name), device }, this.#devices, `${name}.toml`);
  }

  /** Checks a scene from a request. Fails with `invalid_scene`. */
  ofSteps({ toml, dry_run, ...scene }: SceneInput): Plan {
    // The body has not been validated yet: its mistakes are reported with those of the steps.
    const ofBody: Mistake[] = [];
    if (dry_run !== undefined && typeof dry_run !== "boolean")
      ofBody.push(wrongField("dry_run", "must be true or false", '"dry_run": true'));
    const text = typeof toml === "string" && toml.length <= sceneLimits.fileBytes ? toml : null;
    if (toml !== undefined && text === null) {
      const wanted = `must be the text of a scene, with at most ${sceneLimits.fileBytes} characters`;
      ofBody.push(wrongField("toml", wanted, '"toml": "[[steps]]\\nkey = \'home\'"'));
    }
    if (text === null) {
      const source = { name: null, value: scene, lineOf: null, mistakes: ofBody, isBroken: toml !== undefined };
      return planOf(source, this.#devices, "The scene");
    }
    const { device, ...rest } = scene;
    if (!SceneInput.shape.device.safeParse(device).success)
      ofBody.push(wrongField("device", "must be the name of a device, or a list of them", '"device": "Living Room"'));
    const more = Object.keys(rest).map((field): Mistake => {
      const message = "cannot be combined with toml";
      return { line: null, at: field, message, hint: "Write it in the text of toml, or leave toml out" };
    });
    const source = readScene(text, null);
    const mistakes = [...ofBody, ...more, ...source.mistakes];
    return planOf({ ...source, device, mistakes }, this.#devices, "The scene");
  }

  /** The result of a dry run. */
  checked(plan: Plan): SceneResult {
    const steps = dryResults(plan);
    const run = crypto.randomUUID();
    return { run, scene: plan.name, outcome: "checked", failed: 0, waited_ms: 0, took_ms: 0, steps };
  }

  /**
   * Runs a scene once earlier runs for any of its devices have ended, and passes its events to `tell`. Fails with
   * `device_busy` where too many runs wait.
   */
  async run(plan: Plan, options: Omit<RunOptions, "onStep">, tell: (news: SceneNews) => void): Promise<SceneResult> {
    const signal = AbortSignal.any([options.signal, this.#devices.stopping]);
    if (this.#runs.size >= maxRuns)
      throw new ZapdError("device_busy", `${maxRuns} scenes are already running or waiting`, {
        hint: "Nothing was sent. Try again when some of them have ended",
      });
    const since = performance.now();
    const { devices } = plan;
    // Since its run began, a device may have become a part of another, or have been removed and added again.
    const idsOf = (all: readonly Device[]) => all.map(({ id }) => this.#devices.findOrNull(id)?.id);
    const ids = idsOf(devices);
    const before = [...this.#runs].filter((run) => idsOf(run.devices).some((id) => ids.includes(id)));
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const own = { devices, over };
    this.#runs.add(own);
    const names = { run: crypto.randomUUID(), scene: plan.name };
    const publish = (news: SceneNews) => {
      this.#devices.journal.publish(news);
      tell(news);
    };
    const hasSlept = sleptSince();
    try {
      await orAborted(Promise.all(before.map((run) => run.over)), signal);
      if (hasSlept()) throw staleCommandError();
      const waited_ms = Math.round(performance.now() - since);
      publish({ type: "scene.started", ...names, steps: [...allSteps(plan.steps)].length });
      const onStep = (step: SceneResult["steps"][number]) => publish({ type: "scene.step", ...names, step });
      const { outcome, failed, steps, took_ms } = await runPlan(plan, { ...options, signal, onStep });
      publish({ type: "scene.finished", ...names, outcome, failed, took_ms });
      return { ...names, outcome, failed, waited_ms, took_ms, steps };
    } finally {
      this.#runs.delete(own);
      resolve();
    }
  }
}

function wrongField(at: string, message: string, example: string): Mistake {
  return { line: null, at, message, hint: `Such as ${example}` };
}

function misnamed(name: string): Mistake {
  const message = "must be 1 to 64 of the characters a to z, 0 to 9 and -";
  return { line: null, at: "name of the file", message, hint: `Such as ${nameFor(name)}.toml` };
}

/** The nearest allowed name. */
function nameFor(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return plain.slice(0, 64) || "movie-night";
}

function planOf(source: SceneSource, devices: Devices, what: string): Plan {
  const { plan, mistakes } = checkScene(source, devices);
  if (plan) return plan;
  throw invalid(mistakes, what);
}

function invalid(mistakes: readonly Mistake[], what: string): ZapdError {
  const lines = mistakes.map(({ line, at, message, hint }) => {
    const where = line === null ? at : `line ${line}, ${at}`;
    return `${where}: ${message}. ${hint}`.trim();
  });
  return new ZapdError(
    "invalid_scene",
    [`${what} has ${pluralize(mistakes.length, "mistake")}:`, ...lines].join("\n"),
    {
      hint: "Nothing was run",
      details: { mistakes },
    },
  );
}
