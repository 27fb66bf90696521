/** Apps: launched with a deep link and seen in the foreground, and closed (smart-tvs.md 2.4). */
import { ZapdError } from "../../api/errors.ts";
import { sleepCheck, unlessSlept } from "../../system/clock.ts";
import { type Confirmed, type DeepLink, noEffect, type PlatformApp } from "../platform.ts";
import type { RegisteredSession } from "./connection.ts";
import { closedAfterwards, WebosError } from "./failures.ts";
import { appOf, inputOf, linkOf, uris } from "./protocol.ts";

/** `errorCode` for an app that is not installed (2.4). */
const unknownApp = -101;
const shownTimeoutMs = 5_000;
const closedTimeoutMs = 3_000;

export async function launchApp(
  registered: RegisteredSession,
  id: string,
  params: DeepLink,
  signal: AbortSignal,
): Promise<Confirmed> {
  const { state } = registered;
  const startedAt = performance.now();
  await registered.command(uris.launch, linkOf(id, params), signal).catch((error: unknown) => {
    if (!(error instanceof WebosError) || error.tvStatus === 401 || error.tvStatus === 403) throw error;
    if (error.appErrorCode === unknownApp || /not found|unsupported application|no such app/i.test(error.words))
      throw new ZapdError("app_not_found", `has no app "${id}" installed: it says "${error.words}"`, {
        hint: "See what is installed: zapd refresh -d {device}, then zapd apps -d {device}",
      });
    throw error;
  });
  const shows = () => state.isReportedSince("app", startedAt) && state.foregroundId === id;
  // A TV that does not report its foreground app cannot confirm it.
  await state.until("app", () => shows() || !state.reports("app"), shownTimeoutMs, signal);
  return state.reports("app") ? shows() : null;
}

/** Closes the foreground app. Presses HOME where it cannot be closed, as an input. */
export async function stopApp(registered: RegisteredSession, signal: AbortSignal): Promise<PlatformApp | null> {
  const { state } = registered;
  // What has changed may not have been pushed yet.
  state.invalidate();
  await unlessSlept(state.refresh(signal, ["app"]));
  const { app: id } = state;
  // Without a foreground app to read, HOME is the safe way to leave whatever runs.
  if (state.foregroundId === null) await registered.pointer.press("HOME", signal);
  if (id === null) return null;
  await registered.learnTitleSoon(id, signal);
  const checkAwake = sleepCheck();
  const isInput = inputOf(id) !== null;
  const startedAt = performance.now();
  const isClosed = () => state.isReportedSince("app", startedAt) && state.app !== id;
  if (!isInput) await registered.command(uris.close, { id }, signal).catch(() => {});
  if (isInput || !(await state.until("app", isClosed, closedTimeoutMs, signal))) {
    if (!isInput && !registered.alive && !state.isOff) throw closedAfterwards();
    checkAwake();
    await registered.pointer.press("HOME", signal);
    if (!(await state.until("app", isClosed, closedTimeoutMs, signal)))
      throw noEffect("accepted the command, but still shows the app");
  }
  return appOf(id, registered.title(id));
}
