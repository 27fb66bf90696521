/** `zapd state`: what a set is doing, in one line. */
import type { z } from "zod";
import type { operations, State } from "../api/operations.ts";
import { printable } from "../system/log.ts";
import { call, devicePath } from "./client.ts";
import type { Context } from "./context.ts";
import { clock } from "./print.ts";

type Data = z.infer<(typeof operations)["getState"]["data"]>;

export async function state(context: Context): Promise<void> {
  const { data, text } = await call<Data>(context, "GET", devicePath(context.words[0] ?? context.device, "/state"));
  context.print(context.json ? text : stateLine(data));
}

/** `Living Room is on · YouTube · playing 12:04 / 31:20 · volume 18` */
export function stateLine({ device, state }: Data): string {
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
