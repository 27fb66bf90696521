/** Turning a set on and off (smart-tvs.md 1.2, 2.4, 2.5): off only when it is on, on by magic packets. */
import { inStandby, ZapdError } from "../../api/errors.ts";
import { unlessSlept } from "../../system/clock.ts";
import { neverAborted, orAborted } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import type { ReconnectingSession } from "../../transport/session.ts";
import type { Emit, PowerControl } from "../platform.ts";
import { type RegisteredSession, readyForCommand } from "./connection.ts";
import { lacking, SetFailure } from "./failures.ts";
import type { WebosMemory, WebosTarget } from "./memory.ts";
import { screenOn, uris } from "./protocol.ts";

/** It need not answer; it pushes that it goes, or hangs up. */
const leavesWithin = 3_000;
/** Meanwhile it is asked every third of a second. */
const silentAfter = 1_000;
/** To enter a set that wakes, and to be told whether it is on. */
const entersWithin = 15_000;

export function powerOf(
  reconnecting: ReconnectingSession<RegisteredSession>,
  target: WebosTarget,
  emit: Emit<WebosMemory>,
): PowerControl {
  let asking: Promise<boolean> | undefined;
  let pressedAt = Number.NEGATIVE_INFINITY;
  return {
    /** Entering a set that wakes may take longer than one who asks has time for: it goes on, for who asks next. */
    isOn(signal) {
      asking ??= ask(reconnecting, deadline(entersWithin, neverAborted)).finally(() => {
        asking = undefined;
      });
      asking.catch(() => {});
      return orAborted(asking, signal);
    },
    async on(signal) {
      const registered = await reconnecting.use(signal, { eager: true });
      if (!registered.state.isOff) return turnScreenOn(registered, signal);
      // A set that answers in standby wakes for a packet alone; its POWER button is pressed where nobody can send one.
      if (target.facts.macs.length > 0) throw inStandby();
      // Pressed twice, it would turn it off again.
      if (performance.now() - pressedAt < entersWithin) return;
      pressedAt = performance.now();
      await registered.pointer.press("POWER", signal);
    },
    async off(signal) {
      const registered = await unlessSlept(readyForCommand(reconnecting, signal));
      await registered.state.refresh(signal, ["power", "app"]);
      // Told to turn off, a set in standby turns on (2.5).
      if (registered.state.isOff) return;
      await turnOff(reconnecting, registered, emit, signal).catch((error: unknown) => {
        throw lacking("power-off", error);
      });
    },
    wakesByPacket: true,
  };
}

async function ask(reconnecting: ReconnectingSession<RegisteredSession>, signal: AbortSignal): Promise<boolean> {
  const registered = await readyForCommand(reconnecting, signal);
  const { state } = registered;
  state.commanded();
  await state.refresh(signal, state.tells("power") ? ["power"] : ["app"]);
  return !state.isOff;
}

/**
 * Turns a set off that is on. Done when it says so, hangs up or falls silent; fails with what it answers when it refuses,
 * and with `device_error` when it goes on saying that it is on.
 */
async function turnOff(
  reconnecting: ReconnectingSession<RegisteredSession>,
  registered: RegisteredSession,
  emit: Emit<WebosMemory>,
  signal: AbortSignal,
): Promise<void> {
  const { session, state } = registered;
  session.leaving = true;
  state.commanded();
  const begun = performance.now();
  let refusal: SetFailure | undefined;
  void session.request(uris.turnOff, {}, signal).catch((error: unknown) => {
    if (error instanceof SetFailure) refusal = error;
  });
  const topic = state.tells("power") ? "power" : "app";
  const wentOff = () => state.saidSince(topic, begun) && state.isOff;
  await state.until(topic, () => refusal !== undefined || !registered.alive || wentOff(), leavesWithin, signal);
  if (registered.alive && !wentOff()) {
    // It was asked time and again: who says nothing to it any more is off.
    const talks = session.quiet < silentAfter;
    if (refusal || (talks && state.power === "on")) {
      session.leaving = false;
      throw refusal ?? new ZapdError("device_error", "took the power-off key but still says that it is on");
    }
  }
  if (registered.alive && state.power === "standby") return;
  emit({ type: "disconnected", why: "going_off" });
  // A socket that stays open and silent must not take the next command.
  reconnecting.drop();
}

async function turnScreenOn(registered: RegisteredSession, signal: AbortSignal): Promise<void> {
  if (registered.state.isScreenOn) return;
  for (const uri of screenOn) {
    const done = await registered.request(uri, { standbyMode: "active" }, signal).then(
      () => true,
      () => false,
    );
    if (done) return;
  }
}
