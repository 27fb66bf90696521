/** The remote on the command line. Silence is success. */

import type { z } from "zod";
import type { App, operations, State } from "../api/operations.ts";
import { printable } from "../system/log.ts";
import { call, devicePath } from "./client.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./failure.ts";
import { clock, table } from "./print.ts";

export async function key(context: Context): Promise<void> {
  const [name, ...more] = context.words;
  if (!name) throw new UsageError("which key?");
  if (more.length > 0) throw new UsageError("one key at a time; for several there is zapd keys");
  await pressKey(context, name);
}

/** Presses one key; silence is success. */
export async function pressKey(context: Context, key: string): Promise<void> {
  await press(context, "/remote/key", { key });
}

export async function keys(context: Context): Promise<void> {
  const { delay } = context.options;
  if (context.words.length === 0) throw new UsageError("which keys?");
  if (delay !== undefined && !/^\d+$/.test(String(delay))) throw new UsageError("--delay takes milliseconds");
  await press(context, "/remote/sequence", {
    keys: context.words,
    ...(delay !== undefined && { delay_ms: Number(delay) }),
  });
}

export async function text(context: Context): Promise<void> {
  if (context.words.join("") === "") throw new UsageError("which text?");
  await press(context, "/remote/key", { key: `literal:${context.words.join(" ")}` });
}

async function press(context: Context, path: string, body: unknown): Promise<void> {
  const { text } = await call(context, "POST", devicePath(context.device, path), { body });
  if (context.json) context.print(text);
}

export async function state(context: Context): Promise<void> {
  const { data, text } = await call<Data<"getState">>(
    context,
    "GET",
    devicePath(context.words[0] ?? context.device, "/state"),
  );
  context.print(context.json ? text : stateLine(data));
}

/** `Living Room is on · YouTube · playing 12:04 / 31:20 · volume 18` */
export function stateLine({ device, state }: Data<"getState">): string {
  const power = { on: "is on", standby: "is in standby", off: "is off", unknown: "answers" }[state.power];
  return printable([`${device.name} ${power}`, ...doing(state)].join(" · "));
}

/** What is on a set, in parts: the app, what plays, the volume. */
export function doing(state: State): string[] {
  return [appPart(state), playbackPart(state.playback), volumePart(state.volume)].filter((part) => part !== "");
}

function appPart(state: State): string {
  const shown = state.app?.name ?? (state.power === "on" ? "home" : "");
  return state.screensaver ? [shown, "screensaver"].filter(Boolean).join(", ") : shown;
}

function playbackPart(playback: State["playback"]): string {
  if (!playback || playback.status === "stopped") return "";
  const { status, position_ms, duration_ms, live, title } = playback;
  const time = [position_ms, live ? null : duration_ms]
    .filter((ms) => ms !== null)
    .map(clock)
    .join(" / ");
  return [status, title ? `"${title}"` : "", live ? "live" : "", time].filter(Boolean).join(" ");
}

function volumePart(volume: State["volume"]): string {
  if (!volume) return "";
  if (volume.muted) return "muted";
  return volume.level === null ? "" : `volume ${volume.level}`;
}

type Data<Name extends "getState" | "listApps" | "launch" | "stop" | "refresh"> = z.infer<
  (typeof operations)[Name]["data"]
>;

export async function apps(context: Context): Promise<void> {
  const { data, text } = await call<Data<"listApps">>(context, "GET", devicePath(context.device, "/apps"));
  if (context.json) return context.print(text);
  context.print(
    appTable(
      data.apps.filter((app) => app.installed || context.options["all"] === true),
      context,
    ),
  );
}

export async function launch(context: Context): Promise<void> {
  const [app, ...pairs] = context.words;
  if (!app) throw new UsageError("which app?");
  const params = Object.fromEntries(pairs.map(pairOf));
  const body = { app, ...(pairs.length > 0 && { params }) };
  const { data, text } = await call<Data<"launch">>(context, "POST", devicePath(context.device, "/apps/launch"), {
    body,
  });
  if (context.json) return context.print(text);
  if (data.confirmed === false)
    context.say(
      `${printable(data.device.name)} took the launch of ${printable(data.app.name)}, but does not show it yet`,
    );
}

export async function stop(context: Context): Promise<void> {
  const { data, text } = await call<Data<"stop">>(context, "POST", devicePath(context.device, "/apps/stop"));
  if (context.json) return context.print(text);
  context.say(data.app ? `left ${printable(data.app.name)}` : `nothing was running on ${printable(data.device.name)}`);
}

export async function refresh(context: Context): Promise<void> {
  const body = { clear: context.options["clear"] === true };
  const { data, text } = await call<Data<"refresh">>(context, "POST", devicePath(context.device, "/apps/refresh"), {
    body,
  });
  if (context.json) return context.print(text);
  context.say(
    `${data.apps.filter((app) => app.installed).length} apps on ${printable(data.device.name)}: ${data.added.length} new, ${data.removed.length} gone`,
  );
}

function pairOf(word: string): [string, string] {
  const at = word.indexOf("=");
  if (at < 1)
    throw new UsageError(
      `${JSON.stringify(word)} is no parameter, which is KEY=VALUE; a name that holds spaces stands in quotes`,
    );
  return [word.slice(0, at), word.slice(at + 1)];
}

function appTable(all: readonly App[], context: Context): string {
  const columns = [
    { title: "APP", yields: 0 },
    { title: "ID", yields: 2 },
    { title: "TYPE" },
    { title: "VERSION", yields: 1 },
  ];
  const rows = all.map((app) => [app.installed ? app.name : `${app.name} (gone)`, app.id, app.type, app.version ?? ""]);
  return table(columns, rows, context.width);
}
