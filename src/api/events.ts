/**
 * What `GET /events` tells: one schema for each event, from which the OpenAPI document, the client and the docs come. Every
 * event is whole: the last one of its kind alone is the truth. Fields may be added within v1.
 */
import { z } from "zod";
import { clientHeader } from "./routes.ts";
import { SceneResult, sceneEvents } from "./scenes.ts";
import { App, Device, FailureSummary, Lease, State } from "./schemas.ts";

/** Why a whole snapshot is told: the stream begins; the daemon is another than before; too much was missed; the reader was too slow. */
export const snapshotReasons = ["start", "restarted", "too_old", "lagged"] as const;
/** Where a changed state was seen: the device told it, zapd asked, or a command brought it about. */
const causes = ["push", "poll", "command"] as const;
export const callers = ["http", "cli", "page", "mcp", "mqtt"] as const;
export type Caller = (typeof callers)[number];

const at = z.iso.datetime().describe("When it happened");
const device_id = z.uuid().describe("The device that it is about");
const fields = z.array(z.string()).describe("What is other than before");
const action_id = z
  .string()
  .optional()
  .describe("The same in `action.finished` and in the changes of state that the command brought about");

const event = <Type extends string, Shape extends z.ZodRawShape>(type: Type, about: string, shape: Shape) =>
  z.object({ type: z.literal(type).describe("What happened"), at, ...shape }).describe(about);

/** The events by their types. */
export const events = {
  snapshot: event("snapshot", "All devices, first and whenever continuity is lost", {
    reason: z.enum(snapshotReasons).describe("Why it is told"),
    part: z.int().min(1).describe("A hundred devices at a time: which part this is, from 1"),
    last: z.boolean().describe("Whether it is the last part"),
    devices: z
      .array(z.object({ device: Device, state: State.nullable().describe("`null`: nothing is known of it yet") }))
      .describe("Every device, in the order of adding"),
  }),
  "device.added": event("device.added", "A device is known from now on", {
    device_id,
    device: Device.describe("The whole device"),
  }),
  "device.changed": event("device.changed", "Something of a device is other than before", {
    device_id,
    device: Device.describe("The whole device"),
    changed: fields,
  }),
  "device.removed": event("device.removed", "A device is no longer known", {
    device_id,
    device: Device.describe("As it was"),
  }),
  "state.changed": event("state.changed", "A device does something else than before", {
    device_id,
    state: State.describe("The whole state"),
    changed: z.array(z.string()).describe("What is other than before, as dotted paths: `power`, `playback.status`"),
    cause: z.enum(causes).describe("Where it was seen"),
    action_id,
  }),
  "apps.changed": event("apps.changed", "A device lists other apps than before", {
    device_id,
    added: z.array(z.string()).describe("Ids of apps"),
    removed: z.array(z.string()).describe("Ids of apps"),
  }),
  "action.finished": event("action.finished", "A command to a device has ended", {
    device_id,
    action: z.string().describe("As in its answer: `key`, `sequence`, `launch`"),
    action_id: z.string().describe("The same in the changes of state that it brought about"),
    by: z.enum(callers).describe(`Who asked for it: what the header \`${clientHeader}\` says`),
    ok: z.boolean().describe("Whether the device took it"),
    confirmed: z.boolean().nullable().optional().describe("As in its answer, where that says so"),
    key: z.string().optional().describe("Of a key: its name; of a text it is left out"),
    keys: z.array(z.string()).optional().describe("Of a sequence: the names of its keys, `literal` for a text"),
    characters: z.int().optional().describe("How many were typed: what was typed is told to nobody"),
    app: App.nullable().optional().describe("Of a launch, and of leaving an app"),
    error: FailureSummary.optional().describe("Why it failed"),
    duration_ms: z.int().describe("From its call to its end"),
  }),
  "pairing.changed": event("pairing.changed", "A device is being paired, or was", {
    device_id,
    status: z.enum(["waiting", "paired", "failed"]).describe("How far it has come"),
    step: z.enum(["confirm", "code", "login"]).optional().describe("What is waited for"),
    reason: z.string().optional().describe("Why it failed"),
  }),
  "lease.changed": event("lease.changed", "Somebody has a device to themselves, or has it no more", {
    device_id,
    lease: Lease.nullable().describe("As it is now; `null`: nobody has it"),
    why: z
      .enum(["taken", "renewed", "freed", "broken", "expired", "removed"])
      .describe("`broken`: somebody else took it away; `removed`: the device is no longer known"),
    owner: z.string().describe("Whose lease it is, or was"),
  }),
  "install.progress": event("install.progress", "A package is on its way to a device", {
    device_id,
    phase: z.enum(["receiving", "checking", "sending", "done"]).describe("What is done with it"),
    bytes: z.int().describe("So far"),
    total: z.int().nullable().describe("`null`: not known"),
  }),
  "scene.started": event("scene.started", "A scene begins, or steps that were given at once", sceneEvents.started),
  "scene.step": event("scene.step", "A step of a scene has ended", sceneEvents.step),
  "scene.finished": event("scene.finished", "A scene has ended", sceneEvents.finished),
  "discovery.finished": event("discovery.finished", "A search for devices has ended", {
    found: z.int().describe("How many devices answered"),
    added: z.int().describe("How many of them are new"),
  }),
  "config.changed": event("config.changed", "Settings are other than before", {
    keys: z.array(z.string()).describe("Dotted keys"),
  }),
  "daemon.stopping": event("daemon.stopping", "The daemon stops; the stream ends", {
    restart: z.boolean().describe("Whether it is expected back"),
  }),
} as const;

export type EventType = keyof typeof events;
export type EventOf<Type extends EventType> = z.infer<(typeof events)[Type]>;
/** Any event, as a reader gets it. */
export type ApiEvent = { [Type in EventType]: EventOf<Type> }[EventType];

/** Whether a word of the filter means a type: `state.changed` itself, or `state.*` by its beginning. */
export function meansType(word: string, type: string): boolean {
  return word.endsWith("*") ? type.startsWith(word.slice(0, -1)) : type === word;
}

/** What keeps a stream of JSON Lines alive; in an event stream it is a comment. */
const Heartbeat = z
  .object({ type: z.literal("heartbeat"), id: z.string() })
  .describe("Nothing happened for 15 s; `id` is that of the newest event, whether or not it passed the filter");

/** Lines of JSON Lines: each is an event with its id, which an event stream tells beside it. */
const linesOf = (all: readonly z.ZodObject[]) => all.map((one) => one.extend({ id: z.string() }));

/** One line of all events. */
export const EventLine = z.union([
  ...(linesOf(Object.values(events)) as unknown as [z.ZodType<ApiEvent & { id: string }>]),
  Heartbeat,
]);
export type EventLine = (ApiEvent & { readonly id: string }) | z.infer<typeof Heartbeat>;

const sceneNews = [
  events["scene.started"],
  events["scene.step"],
  event("scene.finished", "A scene has ended", {
    ...sceneEvents.finished,
    data: SceneResult.describe("The whole answer"),
  }),
  event("error", "What kept a scene from its end", { error: FailureSummary }),
] as const;
/** What the stream of one run tells, and a line of it. */
export const SceneNews = z.union(sceneNews);
export const SceneLine = z.union([...linesOf(sceneNews), Heartbeat]);

/** What a followed console tells, and a line of it: the id is the cursor. */
export const ConsoleNews = z.object({
  lines: z.array(z.string()).describe("Those that have come"),
  dropped: z
    .int()
    .min(1)
    .optional()
    .describe("How many before them are not kept any more; left out where there are none"),
});
export const ConsoleLine = z.union([...linesOf([ConsoleNews]), Heartbeat]);
