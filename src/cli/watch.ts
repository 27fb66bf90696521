/** `zapd watch`: prints each event on a line. `zapd wait`: waits until a state holds. */
import type { ApiEvent, Followed } from "../api/client.ts";
import { activity, lastPowerWords, stateLine } from "../api/client-words.ts";
import { exits } from "../api/errors.ts";
import type { Device, State } from "../api/schemas.ts";
import { printable } from "../system/printable.ts";
import { localTime, pluralize } from "../system/text.ts";
import { call } from "./client.ts";
import type { Context } from "./context.ts";
import { CommandError, notRunning, UsageError } from "./failure.ts";
import { columnsOf, isColoured, paintFor } from "./print.ts";
import { followEvents } from "./requests.ts";
import { statusWords, stepsText } from "./scene-words.ts";
import { onSignal } from "./signals.ts";

export async function watch(context: Context): Promise<void> {
  const names = context.words.length > 0 ? context.words : context.device === "default" ? [] : [context.device];
  // A name may have a comma in it, and may change.
  const ids = await Promise.all(names.map(async (id) => (await call(context, "getDevice", { id })).data.id));
  const query = { devices: ids.join(",") || undefined, types: context.option("types") };
  const stopped = new AbortController();
  onSignal(["SIGINT"], () => stopped.abort());
  const print = context.json ? (event: Followed) => context.print(JSON.stringify(event)) : printLine(context);
  const broken = (isBroken: boolean) =>
    context.say(
      isBroken ? "zapd: the daemon does not answer. Waiting for it; Ctrl-C ends" : "zapd: the daemon answers again",
    );
  for await (const event of followEvents(context, { query, signal: stopped.signal }, { broken })) print(event);
}

function printLine(context: Context): (event: Followed) => void {
  const paint = paintFor(isColoured(context));
  const names = new Map<string, string>();
  let width = 0;
  return (event) => {
    for (const { id, name } of devicesIn(event)) {
      names.set(id, printable(name));
      width = Math.min(24, Math.max(width, columnsOf(printable(name))));
    }
    const time = paint.faint(new Date(event.at).toTimeString().slice(0, 8));
    for (const { id, text } of linesOf(event)) {
      const name = id === null ? "" : (names.get(id) ?? id);
      context.print(
        `${time}  ${name}${" ".repeat(Math.max(0, width - columnsOf(name)))}  ${printable(text)}`.trimEnd(),
      );
    }
  };
}

function devicesIn(event: ApiEvent): { id: string; name: string }[] {
  if (event.type === "snapshot") return event.devices.map(({ device }) => device);
  return "device" in event ? [event.device] : [];
}

/** An event in words: a line for each device that it is about, or one without a device. */
function linesOf(event: ApiEvent): { id: string | null; text: string }[] {
  const about = (text: string) => [{ id: "device_id" in event ? event.device_id : null, text }];
  const stateText = (power: State["power"], state: State | null) =>
    [lastPowerWords[power], ...(state ? activity(state, new Date(event.at)) : [])].join(" · ");
  switch (event.type) {
    case "snapshot":
      return event.devices.map(({ device, state }) => ({
        id: device.id,
        text: stateText(state?.power ?? device.power, state),
      }));
    case "device.added":
      return about(`was added, at ${event.device.host}`);
    case "device.changed": {
      const text = changedText(event.device, event.changed);
      return text === "" ? [] : about(text);
    }
    case "device.removed":
      return about(event.part_of === undefined ? "is no longer known" : "is a part of another device now");
    case "state.changed":
      return about(stateText(event.state.power, event.state));
    case "apps.changed":
      return about(`${pluralize(event.added.length, "app")} added, ${event.removed.length} removed`);
    case "action.finished":
      return about(actionText(event));
    case "pairing.changed":
      return about({ waiting: "waits for its pairing", paired: "is paired", failed: "was not paired" }[event.status]);
    case "lease.changed":
      return about(
        `lease of ${event.owner} is ${event.why}${event.lease ? `, until ${localTime(event.lease.until)}` : ""}`,
      );
    case "install.progress":
      return about(`package: ${event.phase}, ${event.bytes} bytes`);
    case "scene.started":
      return about(`${sceneText(event.scene)}: ${stepsText(event.steps)}`);
    case "scene.step":
      return about(`${sceneText(event.scene)}: ${event.step.does}: ${statusWords[event.step.status]}`);
    case "scene.finished":
      return about(`${sceneText(event.scene)}: ${event.outcome}`);
    case "discovery.finished":
      return about(`discovery: ${event.found} found, ${event.added} of them new`);
    case "config.changed":
      return about(`config: ${event.keys.join(", ")}`);
    case "daemon.stopping":
      return about("the daemon is stopping");
  }
}

/** The changed fields of a device, with their values: `access limited, keys none`. Empty where they are none that people need to see. */
export function changedText({ ports, withheld, ...rest }: Device, changed: readonly string[]): string {
  const values: Readonly<Record<string, unknown>> = {
    ...rest,
    ports: Object.entries(ports).map(([name, port]) => `${name} ${port}`),
    withheld: withheld.map(({ capability }) => capability),
  };
  // The API leaves labels out where there are none.
  const words = (value: unknown = []) =>
    Array.isArray(value) ? value.join(" ") || "none" : String(value ?? "unknown");
  // Leases have an event of their own.
  const seen = changed.filter((field) => field !== "lease" && field !== "used");
  return seen.map((field) => `${field} ${words(values[field])}`).join(", ");
}

function sceneText(name: string | null): string {
  return name === null ? "steps" : `scene ${name}`;
}

function actionText({
  action,
  ok,
  error,
  key,
  keys,
  characters,
  app,
  by,
}: Extract<ApiEvent, { type: "action.finished" }>): string {
  const what =
    characters !== undefined ? pluralize(characters, "character") : (key ?? keys?.join(" ") ?? app?.name ?? "");
  const who = by === "http" ? "" : ` (${by})`;
  return `${action}${what && ` ${what}`}${who}${ok ? "" : ` failed: ${error?.message ?? "unknown reason"}`}`;
}

/** The longest wait of one call; a longer wait takes several calls. */
const maxCallMs = 30_000;
/** How much longer a call may take than it is to wait. */
const answerMs = 5_000;
/** The exit status of timeout(1). */
const exitTimedOut = 124;

export async function wait(context: Context): Promise<number> {
  if (context.words.length === 0) throw new UsageError("for which state? For example: zapd wait power:on");
  const until = performance.now() + (context.timeoutMs ?? Number.POSITIVE_INFINITY);
  let id = context.device;
  for (;;) {
    const timeoutMs = Math.max(1, Math.min(maxCallMs, Math.ceil(until - performance.now())));
    const query = { wait_for: [...context.words], timeout_ms: String(timeoutMs) };
    const late = AbortSignal.timeout(timeoutMs + answerMs);
    const given = { id, query, signal: late };
    const called = await call(context, "getState", given, { quiet: true, untilAnswered: true }).catch((error) => {
      if (!late.aborted) throw error;
      throw new CommandError("the daemon did not answer", exits.notRunning, undefined, { code: notRunning });
    });
    // Another device may have the name by the next call.
    id = called.data.device.id;
    const isOver = called.data.matched || performance.now() >= until;
    if (!isOver) continue;
    if (context.json) context.print(called.text);
    if (called.data.matched) return exits.ok;
    const { device, state } = called.data;
    const name = printable(device.name);
    // The state may be from before.
    const isSilent = state.power === "unknown" && device.status !== "online";
    const now = isSilent ? `${name} does not answer` : stateLine(called.data);
    if (!context.json) context.say(`zapd: ${name} did not reach that state in time\n      ${now}`);
    return exitTimedOut;
  }
}
