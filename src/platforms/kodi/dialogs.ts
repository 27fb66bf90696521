/** Dialogs take everything that is sent, and Kodi says OK all the same (players.md 7.3): what is done is looked at. */
import { ZapdError } from "../../api/errors.ts";
import { until } from "../../system/sleep.ts";
import type { KodiDevice } from "./device.ts";
import { busyWindow, isDialog, type Window } from "./protocol.ts";
import { windowOf } from "./state.ts";

/** It shows that it is busy, and takes nothing, while it opens something; then it is over by itself. */
const busyFor = 5_000;

/** Before a command: fails when a dialog is open, with its name. */
export async function refuseIfDialog(device: KodiDevice, signal: AbortSignal): Promise<void> {
  let window = await windowOf(device, signal);
  const isOver = async () => {
    window = await windowOf(device, signal);
    return window.id !== busyWindow;
  };
  if (window.id === busyWindow) await until(isOver, { timeoutMs: busyFor, signal });
  if (isDialog(window)) throw dialogOpen(window);
}

/** After a command without effect: fails with the name of the dialog that may have taken it. */
export async function blameDialog(device: KodiDevice, signal: AbortSignal): Promise<void> {
  const window = await windowOf(device, signal);
  if (isDialog(window)) throw dialogOpen(window);
}

export function dialogOpen({ id, label }: Window): ZapdError {
  if (id === busyWindow)
    return new ZapdError("device_busy", "is busy, and takes nothing", { hint: "Try again in a moment" });
  return new ZapdError("device_refused", `has a dialog open (${label || id}), which takes all that is sent`, {
    hint: "Answer it with zapd key select -d {device}, or close it with zapd key back -d {device}",
  });
}
