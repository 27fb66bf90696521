/** Power (smart-tvs.md 1.2, 2.4, 2.5): off only when the TV is on, on by magic packets. */
import { hasReason, inStandby } from "../../api/errors.ts";
import { unlessSlept } from "../../system/clock.ts";
import { neverAborted } from "../../system/never-aborted.ts";
import { orAborted } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import type { ReconnectingSession } from "../../transport/session.ts";
import { type Emit, noEffect, type PowerControl } from "../platform.ts";
import { type RegisteredSession, readyForCommand } from "./connection.ts";
import { asUnsupportedKey, unsupportedOrThrow, WebosError } from "./failures.ts";
import type { WebosMemory, WebosTarget } from "./memory.ts";
import { screenOn, uris } from "./protocol.ts";

/** The TV need not answer; it pushes that it turns off, or closes the connection. */
const powerOffTimeoutMs = 3_000;
/** It is polled every 300 ms during that time. */
const silentAfterMs = 1_000;
/** Connecting to a TV that wakes up, and reading its power. */
const wakeTimeoutMs = 15_000;

export function powerOf(
  reconnecting: ReconnectingSession<RegisteredSession>,
  target: WebosTarget,
  emit: Emit<WebosMemory>,
): PowerControl {
  let poll: Promise<boolean> | undefined;
  let pressedAt = Number.NEGATIVE_INFINITY;
  return {
    /** Connecting to a TV that wakes up may take longer than the caller's deadline: it goes on for the next caller. */
    isOn(signal) {
      poll ??= readPower(reconnecting, deadline(wakeTimeoutMs, neverAborted)).finally(() => {
        poll = undefined;
      });
      poll.catch(() => {});
      return orAborted(poll, signal);
    },
    async on(signal) {
      const registered = await reconnecting.use(signal, { eager: true });
      if (!registered.state.isOff) return turnScreenOn(registered, signal);
      // A TV that answers in standby wakes for a packet only. Its POWER button is pressed where no packet can be sent.
      if (target.facts.macs.length > 0) throw inStandby();
      // A second press would turn it off again.
      if (performance.now() - pressedAt < wakeTimeoutMs) return;
      pressedAt = performance.now();
      await registered.pointer.press("POWER", signal).catch((error: unknown) => {
        // What was not sent does not count.
        if (!hasReason(error, "closed") || error.phase !== "sent") pressedAt = Number.NEGATIVE_INFINITY;
        throw error;
      });
    },
    async off(signal) {
      const registered = await unlessSlept(readyForCommand(reconnecting, signal));
      await unlessSlept(registered.state.refresh(signal, ["power", "app"]));
      // Turning off a TV in standby would turn it on (2.5).
      if (registered.state.isOff) return;
      await turnOff(reconnecting, registered, emit, signal).catch((error: unknown) => {
        throw asUnsupportedKey("power-off", error);
      });
    },
    wakesByPacket: true,
  };
}

async function readPower(reconnecting: ReconnectingSession<RegisteredSession>, signal: AbortSignal): Promise<boolean> {
  const registered = await readyForCommand(reconnecting, signal);
  const { state } = registered;
  state.invalidate();
  await state.refresh(signal, state.reports("power") ? ["power"] : ["app"]);
  return !state.isOff;
}

/**
 * Turns off a TV that is on. Done when it reports so, closes the connection or stops answering. Fails with the TV's error when it
 * refuses, and with `device_error` when it still reports that it is on.
 */
async function turnOff(
  reconnecting: ReconnectingSession<RegisteredSession>,
  registered: RegisteredSession,
  emit: Emit<WebosMemory>,
  signal: AbortSignal,
): Promise<void> {
  const { session, state } = registered;
  session.leaving = true;
  state.invalidate();
  const startedAt = performance.now();
  let refusal: WebosError | undefined;
  void session.request(uris.turnOff, {}, signal).catch((error: unknown) => {
    if (error instanceof WebosError) refusal = error;
  });
  const topic = state.reports("power") ? "power" : "app";
  const isOff = () => state.isReportedSince(topic, startedAt) && state.isOff;
  await state.until(topic, () => refusal !== undefined || !registered.alive || isOff(), powerOffTimeoutMs, signal);
  if (registered.alive && !isOff()) {
    // It has been polled all the time: a TV that no longer answers is off.
    const answers = session.sinceMessageMs < silentAfterMs;
    if (refusal || (answers && state.power === "on")) {
      session.leaving = false;
      throw refusal ?? noEffect("accepted the power-off key, but still reports that it is on");
    }
  }
  if (registered.alive && state.power === "standby") return;
  emit({ type: "disconnected", why: "going_off" });
  // A socket that stays open and silent must not take the next command.
  reconnecting.drop();
}

async function turnScreenOn(registered: RegisteredSession, signal: AbortSignal): Promise<void> {
  if (registered.state.isScreenOn) return;
  const failures: unknown[] = [];
  for (const uri of screenOn) {
    try {
      return await registered.command(uri, { standbyMode: "active" }, signal);
    } catch (error) {
      failures.push(error);
    }
  }
  // A TV whose screen is on by now fails, too (2.5).
  for (const failure of failures) unsupportedOrThrow(failure);
}
