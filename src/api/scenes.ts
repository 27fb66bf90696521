/**
 * The schemas of scenes, of their results and of their mistakes. A step is one flat object, so that it is one table of a TOML
 * file.
 */
import { z } from "zod";
import { pressLimits, sceneLength, sequenceLimits } from "./limits.ts";
import { FailureSummary, KeyOrText, text } from "./schemas.ts";

/** Limits of a scene: steps, nested ones included; milliseconds of a run; bytes of a file. */
export const sceneLimits = { steps: 200, totalMs: 600_000, fileBytes: sceneLength, defaultWaitMs: 10_000 } as const;

/** The name of a scene, which is that of its file. */
export const sceneName = /^[a-z0-9-]{1,64}$/;

const policies = ["stop", "continue"] as const;
export type Policy = (typeof policies)[number];

const nonEmpty = z.string().min(1).max(256);
/** A device, or several. */
const targets = z.union([nonEmpty, z.array(nonEmpty).min(1).max(64)], {
  error: "must be the name of a device, `label:…`, `all`, or a list of these",
});
const conditions = z.union(
  [z.string(), z.array(z.string()).min(1).max(8), z.record(z.string(), z.union([z.string(), z.boolean()]))],
  { error: "must be a condition such as `power:on`, or a list of conditions" },
);
const ms = (most: number, least = 0) => z.int().min(least).max(most);

/** A key with a repetition or a hold. */
const KeyEntry = z.strictObject({
  key: KeyOrText,
  repeat: z.int().min(1).max(50).optional().describe("Presses it this many times"),
  hold_ms: ms(pressLimits.holdMs).optional().describe("Holds it for this many milliseconds"),
});

const condition =
  "`power:on`, `app:netflix`, `app:none`, `playback:playing`, `input:hdmi1`, `muted:true`; several, in a list or as a table, must all hold";

/** A step without its nested steps. */
export const PlainStep = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: "Its name in the answer; no two steps may have the same name", examples: ["lights out"] }),
  device: targets.optional().meta({
    description:
      "The device, by name or id; `all` or `label:…` for the devices of a group; or a list. By default that of the scene",
    examples: ["Living Room"],
  }),
  group: nonEmpty.optional().meta({ description: "The devices of a group: `all`, or a label", examples: ["bar"] }),
  on_error: z
    .enum(policies, { error: "must be `stop` or `continue`" })
    .optional()
    .meta({ description: "What happens when the step fails; by default as the scene says", examples: ["continue"] }),
  key: KeyOrText.optional().meta({
    description: "Presses a key, or types `literal:<text>`; with `repeat` or `hold_ms`",
    examples: ["home"],
  }),
  keys: z
    .array(z.union([KeyOrText, KeyEntry], { error: "must be a key, or a key with `repeat` or `hold_ms`" }))
    .min(1)
    .max(sequenceLimits.keys)
    .optional()
    .meta({ description: "Presses keys one after another, `delay_ms` apart", examples: [["down", "down", "select"]] }),
  repeat: KeyEntry.shape.repeat.meta({ description: "With `key`: presses it this many times", examples: [3] }),
  hold_ms: KeyEntry.shape.hold_ms.meta({
    description: "With `key`: holds it for this many milliseconds",
    examples: [1_000],
  }),
  delay_ms: ms(sequenceLimits.delayMs)
    .optional()
    .meta({
      description: "With `keys` and `repeat`: milliseconds between two presses, by default 200",
      examples: [150],
    }),
  launch: z
    .union([nonEmpty, z.strictObject({ app: nonEmpty, params: z.record(z.string(), z.string()).optional() })], {
      error: "must be an app, by its name or id, or a table of `app` and `params`, which are texts",
    })
    .optional()
    .meta({ description: "Launches an app, by its name or id", examples: ["netflix"] }),
  params: z
    .record(z.string(), z.string(), { error: "must be a table of texts" })
    .optional()
    .meta({ description: "With `launch`: its deep link", examples: [{ content_id: "80057281" }] }),
  volume: z
    .union(
      [
        z.number().min(0).max(100),
        z.strictObject({ level: z.number().optional(), step: z.int().optional(), muted: z.boolean().optional() }),
      ],
      { error: "must be 0 to 100, or a table of `level`, `step` and `muted`" },
    )
    .optional()
    .meta({ description: "Sets the volume: 0 to 100, or an object as for the operation", examples: [20] }),
  power: z
    .enum(["on", "off"], { error: "must be `on` or `off`" })
    .optional()
    .meta({ description: "Turns the device on or off", examples: ["on"] }),
  input: nonEmpty.optional().meta({ description: "Shows an input, by its id or name", examples: ["hdmi1"] }),
  play: z
    .union(
      [
        z.string(),
        z.strictObject({
          url: z.string(),
          mime: z.string().optional(),
          title: z.string().optional(),
          image: z.string().optional(),
        }),
      ],
      { error: "must be the address of a file, or a table with its `url`" },
    )
    .optional()
    .meta({
      description: "Plays the file at an `http` or `https` address",
      examples: ["http://192.168.1.5/film.mp4"],
    }),
  notify: z
    .string()
    .optional()
    .meta({ description: "Shows a message", examples: ["Dinner is ready"] }),
  wait_ms: ms(sceneLimits.totalMs)
    .optional()
    .meta({ description: "Waits; skipped after a step that was skipped", examples: [1_500] }),
  wait_for: conditions
    .optional()
    .meta({ description: `Waits until a condition holds: ${condition}`, examples: ["power:on"] }),
  timeout_ms: ms(sceneLimits.totalMs, 1)
    .optional()
    .meta({ description: "With `wait_for`: the longest wait in milliseconds, by default 10000", examples: [20_000] }),
  if: conditions.optional().meta({ description: `Whether a condition holds: ${condition}`, examples: ["power:on"] }),
});

/** In a constant, since an object with a member `then` looks like a promise to linters. */
const thenField = "then";

/** One step as written. */
export interface SceneStep extends z.input<typeof PlainStep> {
  then?: SceneStep[] | undefined;
  else?: Policy | SceneStep[] | undefined;
  parallel?: (SceneStep | SceneStep[])[] | undefined;
}

/** A step of a scene: one verb and its fields. The hints of mistakes quote the examples. */
export const Step = z.strictObject({
  ...PlainStep.shape,
  get [thenField](): z.ZodOptional<z.ZodType<SceneStep[], SceneStep[]>> {
    return z.array(Step).optional().meta({ description: "With `if`: the steps where the condition holds" });
  },
  get else(): z.ZodOptional<z.ZodType<Policy | SceneStep[], Policy | SceneStep[]>> {
    return z
      .union([z.enum(policies), z.array(Step)])
      .optional()
      .meta({
        description:
          "With `if`: the steps where the condition does not hold. With `wait_for`: `stop` or `continue`, where it does not come true in time",
        examples: ["continue"],
      });
  },
  get parallel(): z.ZodOptional<z.ZodType<(SceneStep | SceneStep[])[], (SceneStep | SceneStep[])[]>> {
    return z
      .array(z.union([Step, z.array(Step)]))
      .optional()
      .meta({ description: "Steps, or lists of steps, that begin at the same moment; it ends with the last of them" });
  },
});

const device = Step.shape.device.meta({
  description: "The device of steps that do not name one; by default the default device",
});
const dry_run = z.boolean().optional().describe("Checks the scene, without running it");

/** A scene in a request. With `toml`, the text of a file, its mistakes have lines. */
export const SceneInput = z
  .strictObject({
    about: z
      .string()
      .max(256)
      .optional()
      .meta({ description: "What the scene is for", examples: ["Lights out, film on"] }),
    device,
    on_error: Step.shape.on_error.meta({
      description: "What happens when a step fails: `stop`, the default, or `continue`",
      examples: ["continue"],
    }),
    steps: z
      .array(Step)
      .optional()
      .describe(
        "In their order: 1 to 200, nested ones included. A body has at most 1000 values in all: a longer scene goes as `toml`",
      ),
    toml: z
      .string()
      .max(sceneLimits.fileBytes)
      .optional()
      .describe("The scene as the text of a file, instead of `steps`, `about` and `on_error`"),
    dry_run,
  })
  .meta({
    examples: [{ device: "Living Room", steps: [{ power: "on" }, { wait_for: "power:on" }, { launch: "netflix" }] }],
  });
export type SceneInput = z.input<typeof SceneInput>;

export const SceneRequest = z
  .strictObject({ device, dry_run })
  .meta({ examples: [{ device: "Living Room", dry_run: true }] });

const took_ms = z.int().describe("How long it took");

const failure = FailureSummary.optional();
const confirmed = z
  .boolean()
  .nullable()
  .describe(
    "Whether the device reports the effect: `true`, it does; `false`, it accepted the command, but does not report the effect yet; `null`, zapd cannot read it, or there is none",
  );

const stepStatuses = ["did", "skipped", "failed", "not_run"] as const;

/** Why a step was skipped, or not run. */
const stepReasons = [
  "already_so",
  "nothing_before",
  "no_match",
  "stopped",
  "other_branch",
  "cancelled",
  "dry_run",
] as const;

export const StepResult = z.object({
  at: z.string().describe("Its position, counted from 1: `3`, `4.then.1`, `2.parallel.1`"),
  line: z.int().nullable().describe("Its line in the file; `null` without one"),
  name: text.describe("Its name in the scene; `null` without a name"),
  does: z.string().describe("A description of the step: `launch netflix`. Typed text is left out"),
  status: z
    .enum(stepStatuses)
    .describe(
      "`did`, on each of its devices, or on those where the effect was not there yet; `skipped`; `failed`, on at least one of them; or `not_run`",
    ),
  reason: z
    .enum(stepReasons)
    .optional()
    .describe(
      "Why it was skipped: its effect was already there (`already_so`); the step before its delay was skipped (`nothing_before`); the condition did not hold and there is no `else` (`no_match`). Or why it was not run: the scene was `stopped` or `cancelled`, the step is in the `other_branch`, or it was a `dry_run`",
    ),
  matched: z.boolean().optional().describe("With `if` and `wait_for`: whether the conditions held"),
  confirmed,
  took_ms,
  error: failure.describe("The first failure"),
  devices: z
    .array(
      z.object({
        device: z.object({ id: z.uuid().describe("Its id"), name: z.string().describe("Its name") }),
        status: z.enum(stepStatuses).describe("The result on this device"),
        confirmed,
        took_ms,
        error: failure.describe("Why it failed"),
      }),
    )
    .describe("The result on each of its devices"),
});
export type StepResult = z.infer<typeof StepResult>;

const sceneOutcomes = ["done", "stopped", "cancelled", "checked"] as const;

const run = z.uuid().describe("Which run this is, as in its events");
const scene = text.describe("The name of the scene; `null` for steps from a request");
const outcome = z
  .enum(sceneOutcomes)
  .describe(
    "`done`: it ran to its end. `stopped`: a step failed. `cancelled`: its caller disconnected, or the daemon stops. `checked`: it was a dry run",
  );
const failed = z.int().describe("How many steps failed");

export const SceneResult = z.object({
  run,
  scene,
  outcome,
  failed,
  waited_ms: z.int().describe("How long it waited for other runs of its devices"),
  took_ms,
  steps: z
    .array(StepResult)
    .describe("Every step in the order in which they are written, nested ones after the step that contains them"),
});
export type SceneResult = z.infer<typeof SceneResult>;

/** The fields of the events of a run. */
export const sceneEvents = {
  started: { run, scene, steps: z.int().describe("How many steps it has") },
  step: { run, scene, step: StepResult.describe("The step that has ended") },
  finished: { run, scene, outcome, failed, took_ms },
};

/** Something wrong with a scene. */
export const Mistake = z.object({
  line: z.int().nullable().describe("Its line in the text; `null` where there is none"),
  at: z.string().describe("Where it is: `step 3, then 1: key`"),
  message: z.string().describe("What is wrong"),
  hint: z.string().describe("How to correct it"),
});
export type Mistake = z.infer<typeof Mistake>;

/** A scene as it is listed. */
export const SceneInfo = z.object({
  name: z.string().describe("Its name, that of its file without `.toml`"),
  about: text.describe("Its description"),
  steps: z.int().nullable().describe("How many steps it has; `null`, where the file cannot be read"),
  devices: z.array(z.string()).describe("The names of its devices"),
  ok: z.boolean().describe("Whether it would run now"),
  mistakes: z.array(Mistake).describe("Its mistakes"),
});
export type SceneInfo = z.infer<typeof SceneInfo>;
