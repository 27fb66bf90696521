/** Dialogs take everything that is sent, and Kodi says OK all the same (players.md 7.3): what is done is looked at. */
import { ZapdError } from "../../errors.ts";
import { rest } from "../../rest.ts";
import type { KodiDevice } from "./device.ts";
import { isDialog, type Window } from "./protocol.ts";
import { windowOf } from "./state.ts";

const lookEvery = 100;

/** Fails when a dialog is open, with its name. */
export async function refuseIfDialog(device: KodiDevice, signal: AbortSignal): Promise<void> {
  const window = await windowOf(device, signal);
  if (isDialog(window)) throw dialogOpen(window);
}

export function dialogOpen({ label }: Window): ZapdError {
  return new ZapdError(
    "device_refused",
    `has a dialog open${label === "" ? "" : ` (${label})`}, which takes all that is sent`,
    {
      hint: "Answer it with zapd key select, or close it with zapd key back",
    },
  );
}

/** Looks until something holds, for `ms` at most. */
export async function seen(holds: () => Promise<boolean>, ms: number, signal: AbortSignal): Promise<boolean> {
  const until = performance.now() + ms;
  for (;;) {
    if (await holds()) return true;
    if (performance.now() >= until) return false;
    await rest(lookEvery, signal);
  }
}
