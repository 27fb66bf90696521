/** Apps of a set: launched with their deep link and seen, and closed (smart-tvs.md 2.4). */
import { ZapdError } from "../../api/errors.ts";
import type { Confirmed, PlatformApp } from "../platform.ts";
import type { RegisteredSession } from "./connection.ts";
import { SetFailure } from "./failures.ts";
import { appOf, inputOf, linkOf, uris } from "./protocol.ts";

/** The code for an app that is not installed (2.4). */
const unknownApp = -101;
const seenWithin = 5_000;
const goneWithin = 3_000;

export async function launchApp(
  registered: RegisteredSession,
  id: string,
  params: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Confirmed> {
  const { state } = registered;
  const begun = performance.now();
  await registered.request(uris.launch, linkOf(id, params), signal).catch((error: unknown) => {
    if (!(error instanceof SetFailure) || error.statusSaid === 401 || error.statusSaid === 403) throw error;
    if (error.errorCode === unknownApp || /not found|unsupported application|no such app/i.test(error.words))
      throw new ZapdError("app_not_found", `has no app "${id}" installed: it says "${error.words}"`, {
        hint: "See what is installed: zapd refresh -d {device}, then zapd apps -d {device}",
      });
    throw error;
  });
  const isShown = () => state.saidSince("app", begun) && state.shown === id;
  const seen = await state.until("app", isShown, seenWithin, signal);
  // A set that does not tell what it shows cannot be asked.
  return seen || state.tells("app") ? seen : null;
}

/** Leaves the app that is shown: closes it, and goes home where that cannot be, as from an input. */
export async function stopApp(registered: RegisteredSession, signal: AbortSignal): Promise<PlatformApp | null> {
  // What is on its way to us was not pushed yet.
  registered.state.commanded();
  await registered.state.refresh(signal, ["app"]);
  const { app: id } = registered.state;
  // Where it does not tell what it shows, home is where nothing runs.
  if (registered.state.shown === null) await registered.pointer.press("HOME", signal);
  if (id === null) return null;
  await registered.titleSoon(id, signal);
  const isInput = inputOf(id) !== null;
  const begun = performance.now();
  const isGone = () => registered.state.saidSince("app", begun) && registered.state.app !== id;
  if (!isInput) await registered.request(uris.close, { id }, signal).catch(() => {});
  if (isInput || !(await registered.state.until("app", isGone, goneWithin, signal))) {
    await registered.pointer.press("HOME", signal);
    if (!(await registered.state.until("app", isGone, goneWithin, signal)))
      throw new ZapdError("device_error", "took the command, but still shows the app");
  }
  return appOf(id, registered.title(id));
}
