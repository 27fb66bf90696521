/**
 * The events of `GET /events`: one schema each, from which the OpenAPI document, the client and the docs are made. An event has
 * the whole new value, so that only the last one of its kind counts. Fields may be added within v1.
 */
import { z } from "zod";
import { clientHeader } from "./routes.ts";
import { SceneResult, sceneEvents } from "./scenes.ts";
import { App, Device, FailureSummary, Lease, State } from "./schemas.ts";

/** Why a snapshot is sent: the stream begins; the daemon has restarted; too much was missed; the reader was too slow. */
export const snapshotReasons = ["start", "restarted", "too_old", "lagged"] as const;
/** How a changed state was noticed: the device pushed it, zapd polled, or a command changed it. */
const causes = ["push", "poll", "command"] as const;
export const callers = ["http", "cli", "page", "mcp", "mqtt"] as const;
export type Caller = (typeof callers)[number];
/** As whom `zapd doctor` and an agent's list of devices call, in place of `cli` and `mcp`: what they read is no use of a device. */
export const doctorCaller = "doctor";

const at = z.iso.datetime().describe("When it happened");
const device_id = z.uuid().describe("The device that the event is about");
const fields = z.array(z.string()).describe("What has changed");
const action_id = z
  .string()
  .optional()
  .describe("The same id as in `action.finished` and in the changes of state that the command caused");

const event = <Type extends string, Shape extends z.ZodRawShape>(type: Type, about: string, shape: Shape) =>
  z.object({ type: z.literal(type).describe("What happened"), at, ...shape }).describe(about);

export const events = {
  snapshot: event("snapshot", "All devices, at the beginning and whenever events were missed", {
    reason: z.enum(snapshotReasons).describe("Why it is sent"),
    part: z.int().min(1).describe("A hundred devices at a time: which part this is, from 1"),
    last: z.boolean().describe("Whether it is the last part"),
    devices: z
      .array(z.object({ device: Device, state: State.nullable().describe("`null`: not known yet") }))
      .describe("Every device, in the order in which they were added"),
  }),
  "device.added": event("device.added", "A device was added", {
    device_id,
    device: Device.describe("The whole device"),
  }),
  "device.changed": event("device.changed", "The entry of a device has changed", {
    device_id,
    device: Device.describe("The whole device"),
    changed: fields,
  }),
  "device.removed": event("device.removed", "A device was removed", {
    device_id,
    device: Device.describe("As it was"),
    part_of: z.uuid().optional().describe("Where it has become a part of another device: that one"),
  }),
  "state.changed": event("state.changed", "The state of a device has changed", {
    device_id,
    state: State.describe("The whole state"),
    changed: z.array(z.string()).describe("What has changed, as dotted paths: `power`, `playback.status`"),
    cause: z.enum(causes).describe("How the change was noticed"),
    action_id,
  }),
  "apps.changed": event("apps.changed", "The list of apps of a device has changed", {
    device_id,
    added: z.array(z.string()).describe("Ids of apps"),
    removed: z.array(z.string()).describe("Ids of apps"),
  }),
  "action.finished": event("action.finished", "A command to a device has ended", {
    device_id,
    action: z.string().describe("As in its answer: `key`, `sequence`, `launch`"),
    action_id: z.string().describe("The same id as in the changes of state that it caused"),
    by: z.enum(callers).describe(`Which client sent it, by the header \`${clientHeader}\``),
    ok: z.boolean().describe("Whether the device accepted it"),
    confirmed: z.boolean().nullable().optional().describe("As in its answer, where that has it"),
    key: z.string().optional().describe("With a key: its name; left out for text"),
    keys: z.array(z.string()).optional().describe("With a sequence: the names of its keys, `literal` for text"),
    characters: z.int().optional().describe("How many were typed; the text itself is never sent"),
    app: App.nullable()
      .optional()
      .describe("With a launch, with leaving an app, and with a restart of the sideloaded package"),
    error: FailureSummary.optional().describe("Why it failed"),
    duration_ms: z.int().describe("From the call to its end"),
  }),
  "pairing.changed": event("pairing.changed", "The pairing of a device has advanced or ended", {
    device_id,
    status: z.enum(["waiting", "paired", "failed"]).describe("How far it has come"),
    step: z.enum(["confirm", "code", "login"]).optional().describe("What the device waits for"),
    reason: z.string().optional().describe("Why it failed"),
  }),
  "lease.changed": event("lease.changed", "A lease of a device was taken, renewed, freed or broken, or has expired", {
    device_id,
    lease: Lease.nullable().describe("The lease now; `null`: none"),
    why: z
      .enum(["taken", "renewed", "freed", "broken", "expired", "removed"])
      .describe("`broken`: somebody else ended it; `removed`: the device was removed"),
    owner: z.string().describe("The holder of the lease"),
  }),
  "install.progress": event("install.progress", "A package is being sent to a device", {
    device_id,
    phase: z.enum(["receiving", "checking", "sending", "done"]).describe("The current phase"),
    bytes: z.int().describe("Bytes so far"),
    total: z.int().nullable().describe("`null`: not known"),
  }),
  "scene.started": event(
    "scene.started",
    "The run of a scene, or of steps from a request, has begun",
    sceneEvents.started,
  ),
  "scene.step": event("scene.step", "A step of a scene has ended", sceneEvents.step),
  "scene.finished": event("scene.finished", "The run of a scene has ended", sceneEvents.finished),
  "discovery.finished": event("discovery.finished", "A search for devices has ended", {
    found: z.int().describe("How many devices answered"),
    added: z.int().describe("How many of them are new"),
  }),
  "config.changed": event("config.changed", "Settings have changed", {
    keys: z.array(z.string()).describe("Dotted keys"),
  }),
  "daemon.stopping": event("daemon.stopping", "The daemon stops; the stream ends", {
    restart: z.boolean().describe("Always `false`: it cannot know whether somebody starts it again"),
  }),
} as const;

export type EventType = keyof typeof events;
export type EventOf<Type extends EventType> = z.infer<(typeof events)[Type]>;
/** Any event, as a reader gets it. */
export type ApiEvent = { [Type in EventType]: EventOf<Type> }[EventType];

/** Whether a filter matches a type: `state.changed` exactly, `state.*` by its beginning. */
export function meansType(word: string, type: string): boolean {
  return word.endsWith("*") ? type.startsWith(word.slice(0, -1)) : type === word;
}

/** Keeps a stream of JSON Lines alive; in an event stream a comment does. */
const Heartbeat = z
  .object({ type: z.literal("heartbeat"), id: z.string() })
  .describe(
    "Nothing happened for 15 s, or the stream begins without an event; `id` is that of the newest event, whether or not it passed the filter",
  );

/** In JSON Lines each event has its id; an event stream has it in a field of its own. */
const linesOf = (all: readonly z.ZodObject[]) => all.map((one) => one.extend({ id: z.string() }));

/** One line of all events. */
export const EventLine = z.union([
  ...(linesOf(Object.values(events)) as unknown as [z.ZodType<ApiEvent & { id: string }>]),
  Heartbeat,
]);

const sceneNews = [
  events["scene.started"],
  events["scene.step"],
  event("scene.finished", "The run of a scene has ended", {
    ...sceneEvents.finished,
    data: SceneResult.describe("The whole answer"),
  }),
  event("error", "A failure that ended the run", { error: FailureSummary }),
] as const;
/** The events of a scene's own stream, and a line of it. */
export const SceneNews = z.union(sceneNews);
export type SceneNews = z.infer<typeof SceneNews>;
export const SceneLine = z.union([...linesOf(sceneNews), Heartbeat]);

/** The events of a followed console, and a line of it: the id is the cursor. */
export const ConsoleNews = z.object({
  lines: z.array(z.string()).describe("The new lines"),
  dropped: z
    .int()
    .min(1)
    .optional()
    .describe("How many lines before them are no longer kept; left out where there are none"),
});
export const ConsoleLine = z.union([...linesOf([ConsoleNews]), Heartbeat]);
