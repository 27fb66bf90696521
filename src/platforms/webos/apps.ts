/** Apps of a set: launched with their deep link and seen, and closed (smart-tvs.md 2.4). */
import { ZapdError } from "../../errors.ts";
import type { Confirmed, PlatformApp } from "../platform.ts";
import type { Ready } from "./connection.ts";
import { appOf, inputOf, linkOf, uris } from "./protocol.ts";

const seenWithin = 5_000;
const goneWithin = 3_000;

export async function launchApp(
  ready: Ready,
  id: string,
  params: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Confirmed> {
  await ready.request(uris.launch, linkOf(id, params), signal).catch((error: unknown) => {
    if (!(error instanceof ZapdError) || error.code !== "device_error") throw error;
    if (/not found|unsupported application|no such app|-101/i.test(String(error.cause ?? "")))
      throw new ZapdError("app_not_found", `has no app "${id}" installed`, {
        hint: "See what is installed: zapd refresh, then zapd apps",
      });
    throw new ZapdError("device_error", "refused to launch it", { cause: error.cause });
  });
  return ready.state.until(() => ready.state.app === id, seenWithin, signal);
}

/** Leaves the app that is shown: closes it, and goes home where that cannot be, as from an input. */
export async function stopApp(ready: Ready, signal: AbortSignal): Promise<PlatformApp | null> {
  // What is on its way to us was not pushed yet.
  ready.state.commanded();
  await ready.state.refresh(signal);
  const { app: id } = ready.state;
  if (id === null) return null;
  if (ready.title(id) === null) await ready.apps(signal).catch(() => []);
  const isGone = () => ready.state.app !== id;
  if (inputOf(id) === null) await ready.request(uris.close, { id }, signal).catch(() => {});
  if (!(await ready.state.until(isGone, inputOf(id) === null ? goneWithin : 0, signal))) {
    await ready.pointer.press("HOME", signal);
    if (!(await ready.state.until(isGone, goneWithin, signal)))
      throw new ZapdError("device_error", "took the command, but still shows the app");
  }
  return appOf(id, ready.title(id));
}
