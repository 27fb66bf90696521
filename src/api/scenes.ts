/**
 * Scenes: what they are made of, what came of each step, and what may be wrong with one. A step is one flat object, so that a
 * table of a TOML file is one.
 */
import { z } from "zod";
import { pressLimits } from "./limits.ts";
import { FailureSummary, KeyOrText, text } from "./schemas.ts";

/** Bounds of a scene: steps with those in others, milliseconds from its first step to its last, bytes of a file. */
export const sceneLimits = { steps: 200, totalMs: 600_000, fileBytes: 64 * 1024, usualWaitMs: 10_000 } as const;

/** What the name of a scene is of, which is the name of its file, too. */
export const sceneName = /^[a-z0-9-]{1,64}$/;

const policies = ["stop", "continue"] as const;
export type Policy = (typeof policies)[number];

const words = z.string().min(1).max(256);
/** A device, or several. */
const meant = z.union([words, z.array(words).min(1).max(64)], {
  error: "must be the name of a device, `label:…`, `all`, or a list of such",
});
const conditions = z.union(
  [z.string(), z.array(z.string()).min(1).max(8), z.record(z.string(), z.union([z.string(), z.boolean()]))],
  { error: "must be a condition such as `power:on`, or a list of such" },
);
const ms = (most: number, least = 0) => z.int().min(least).max(most);

/** A key of a list: its name, or with how often, or for how long, it is pressed. */
const KeyEntry = z.strictObject({
  key: KeyOrText,
  repeat: z.int().min(1).max(50).optional().describe("Presses it so often"),
  hold_ms: ms(pressLimits.holdMs).optional().describe("Holds it for so long"),
});

const condition =
  "`power:on`, `app:netflix`, `app:none`, `playback:playing`, `input:hdmi1`, `muted:true`; several, in a list or as a table, must all hold";

/** All of a step but the steps in it. */
export const PlainStep = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: "What it is called in the answer; no two steps have one name", examples: ["lights out"] }),
  device: meant.optional().meta({
    description: "The device, by name or id; `all` or `label:…`, those of a group; or a list. Else the scene's own",
    examples: ["Living Room"],
  }),
  group: words.optional().meta({ description: "The devices of a group: `all`, or a label", examples: ["bar"] }),
  on_error: z
    .enum(policies, { error: "must be `stop` or `continue`" })
    .optional()
    .meta({ description: "What a failure comes to; else as the scene says", examples: ["continue"] }),
  key: KeyOrText.optional().meta({
    description: "Presses a key, or types `literal:<text>`; with `repeat` or `hold_ms`",
    examples: ["home"],
  }),
  keys: z
    .array(z.union([KeyOrText, KeyEntry], { error: "must be a key, or a key with `repeat` or `hold_ms`" }))
    .min(1)
    .max(256)
    .optional()
    .meta({ description: "Presses keys one after another, `delay_ms` apart", examples: [["down", "down", "select"]] }),
  repeat: KeyEntry.shape.repeat.meta({ description: "With `key`: presses it so often", examples: [3] }),
  hold_ms: KeyEntry.shape.hold_ms.meta({ description: "With `key`: holds it for so long", examples: [1_000] }),
  delay_ms: ms(60_000)
    .optional()
    .meta({ description: "With `keys` and `repeat`: from one to the next, 200 where it is left out", examples: [150] }),
  launch: z
    .union([words, z.strictObject({ app: words, params: z.record(z.string(), z.string()).optional() })], {
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
    .meta({ description: "Sets the volume: 0 to 100, or as the operation takes it", examples: [20] }),
  power: z
    .enum(["on", "off"], { error: "must be `on` or `off`" })
    .optional()
    .meta({ description: "Turns it on, or off", examples: ["on"] }),
  input: words.optional().meta({ description: "Shows an input, by its id or name", examples: ["hdmi1"] }),
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
    .meta({ description: "Waits; not behind a step that was skipped", examples: [1_500] }),
  wait_for: conditions.optional().meta({ description: `Waits until it is so: ${condition}`, examples: ["power:on"] }),
  timeout_ms: ms(sceneLimits.totalMs, 1)
    .optional()
    .meta({ description: "With `wait_for`: for so long at most, 10000 where it is left out", examples: [20_000] }),
  if: conditions.optional().meta({ description: `Looks whether it is so: ${condition}`, examples: ["power:on"] }),
});

/** Its name in a constant: a reader of code takes an object with a `then` for a promise, which this is not. */
const thenField = "then";

/** One step, as it is written. */
export interface SceneStep extends z.input<typeof PlainStep> {
  then?: SceneStep[] | undefined;
  else?: Policy | SceneStep[] | undefined;
  parallel?: (SceneStep | SceneStep[])[] | undefined;
}

/** A step of a scene: one of its verbs, and what belongs to it. The examples stand in the remedies of what is wrong. */
export const Step = z.strictObject({
  ...PlainStep.shape,
  get [thenField](): z.ZodOptional<z.ZodType<SceneStep[], SceneStep[]>> {
    return z.array(Step).optional().meta({ description: "With `if`: the steps where it is so" });
  },
  get else(): z.ZodOptional<z.ZodType<Policy | SceneStep[], Policy | SceneStep[]>> {
    return z
      .union([z.enum(policies), z.array(Step)])
      .optional()
      .meta({
        description:
          "With `if`: the steps where it is not so. With `wait_for`: `stop` or `continue`, where it has not become so in time",
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
  description: "What steps that name no device are for; else the default device",
});
const dry_run = z.boolean().optional().describe("Checks it, and runs none of it");

/** A scene as it is written, and given at once: with `toml`, as the text of a file, its mistakes have their lines. */
export const SceneGiven = z
  .strictObject({
    about: z
      .string()
      .max(256)
      .optional()
      .meta({ description: "What it is for", examples: ["Lights out, film on"] }),
    device,
    on_error: Step.shape.on_error.meta({
      description: "What the failure of a step comes to: `stop`, where it is left out, or `continue`",
      examples: ["continue"],
    }),
    steps: z.array(Step).optional().describe("In their order: 1 to 200, with those in other steps"),
    toml: z
      .string()
      .max(sceneLimits.fileBytes)
      .optional()
      .describe("The scene as the text of a file, in the place of `steps`, `about` and `on_error`"),
    dry_run,
  })
  .meta({
    examples: [{ device: "Living Room", steps: [{ power: "on" }, { wait_for: "power:on" }, { launch: "netflix" }] }],
  });
export type SceneGiven = z.input<typeof SceneGiven>;

/** How a scene of a file is run. */
export const SceneRequest = z
  .strictObject({ device, dry_run })
  .meta({ examples: [{ device: "Living Room", dry_run: true }] });

const took_ms = z.int().describe("How long it took");

const failure = FailureSummary.optional();
const confirmed = z
  .boolean()
  .nullable()
  .describe(
    "Whether the effect was seen: `true`, it was; `false`, it was taken, but does not show yet; `null`, it cannot be read, or there is none",
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

/** What a step did. */
export const StepResult = z.object({
  at: z.string().describe("Where it stands, counted from 1: `3`, `4.then.1`, `2.parallel.1`"),
  line: z.int().nullable().describe("Its line in the file; `null` without one"),
  name: text.describe("What the scene calls it; `null` without a name"),
  does: z.string().describe("What it is to do, in words: `launch netflix`. What is typed is not told"),
  status: z
    .enum(stepStatuses)
    .describe(
      "`did`, at each of its devices or at those that were not so; `skipped`; `failed`, at one of them at least; or `not_run`",
    ),
  reason: z
    .enum(stepReasons)
    .optional()
    .describe(
      "Why it was skipped: it was `already_so`; there was `nothing_before` it that its delay is for; there was `no_match` and no `else`. Or was not run: the scene was `stopped`, or `cancelled`, it is in the `other_branch`, or it was a `dry_run`",
    ),
  matched: z.boolean().optional().describe("Of `if` and `wait_for`: whether it was so"),
  confirmed,
  took_ms,
  error: failure.describe("The first failure"),
  devices: z
    .array(
      z.object({
        device: z.object({ id: z.uuid().describe("Its id"), name: z.string().describe("Its name") }),
        status: z.enum(stepStatuses).describe("What came of the step here"),
        confirmed,
        took_ms,
        error: failure.describe("Why it failed"),
      }),
    )
    .describe("What came of it at each device that it is for"),
});
export type StepResult = z.infer<typeof StepResult>;

const sceneOutcomes = ["done", "stopped", "cancelled", "checked"] as const;

const run = z.uuid().describe("Which run this is, as in its events");
const scene = text.describe("The name of the scene; `null` for steps given at once");
const outcome = z
  .enum(sceneOutcomes)
  .describe(
    "`done`: it ran to its end. `stopped`: a step failed. `cancelled`: its caller hung up, or the daemon stops. `checked`: it was a dry run",
  );
const failed = z.int().describe("How many steps failed");

/** What came of a scene. */
export const SceneResult = z.object({
  run,
  scene,
  outcome,
  failed,
  waited_ms: z.int().describe("How long it waited for other runs of its devices"),
  took_ms,
  steps: z.array(StepResult).describe("Every step in the order of writing, those in others behind them"),
});
export type SceneResult = z.infer<typeof SceneResult>;

/** What the events of a run say. */
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
  hint: z.string().describe("What mends it"),
});
export type Mistake = z.infer<typeof Mistake>;

/** A scene as it is listed. */
export const SceneInfo = z.object({
  name: z.string().describe("What runs it; that of its file, without `.toml`"),
  about: text.describe("What it says of itself"),
  steps: z.int().nullable().describe("How many steps it has; `null`, where that cannot be told"),
  devices: z.array(z.string()).describe("The names of the devices that it is for"),
  ok: z.boolean().describe("Whether it would run now"),
  mistakes: z.array(Mistake).describe("What is wrong with it"),
});
export type SceneInfo = z.infer<typeof SceneInfo>;
