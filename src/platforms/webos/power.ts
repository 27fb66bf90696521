/** Turning a set on and off (smart-tvs.md 1.2, 2.4, 2.5): off only when it is on, on by magic packets. */
import { type DeviceError, failedBy, ZapdError } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import type { ReconnectingSession } from "../../transport/session.ts";
import { callUntilAwake } from "../../transport/wake-on-lan.ts";
import type { Emit, Surroundings, Waking } from "../platform.ts";
import type { RegisteredSession } from "./connection.ts";
import { isStranger, SetFailure } from "./failures.ts";
import type { WebosMemory, WebosTarget } from "./memory.ts";
import { screenOn, uris } from "./protocol.ts";

/** It need not answer; it pushes that it goes, or hangs up. */
const leavesWithin = 3_000;
/** Meanwhile it is asked every third of a second. */
const silentAfter = 1_000;
/** From the first answer until it says that it is on; back about 2 s after the packet (2.5). */
const onWithin = 12_000;

/** Milliseconds before a set is asked again that says that it is in standby; that let us in and hung up, doubled each time. */
const standbyPause = 1_000;
const shortestPause = 250;
const longestPause = 4_000;

const sleepHint =
  "On the TV: Settings > General > Devices > External devices > Turn on via Wi-Fi, or TV On With Mobile, and Quick Start+; on sets of 2025 on: Support > IP control settings > Wake on LAN; or turn it on with its own remote";

/**
 * Turns a set off that is on. Done when it says so, hangs up or falls silent; fails with what it answers when it refuses,
 * and with `device_error` when it goes on saying that it is on.
 */
export async function powerOff(
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
  const isOff = () => state.saidSince(topic, begun) && (state.power === "off" || state.power === "standby");
  await state.until(topic, () => refusal !== undefined || !registered.alive || isOff(), leavesWithin, signal);
  if (registered.alive && !isOff()) {
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

export async function powerOn(
  reconnecting: ReconnectingSession<RegisteredSession>,
  target: WebosTarget,
  surroundings: Surroundings,
  emit: Emit<WebosMemory>,
  signal: AbortSignal,
  { silent, withinMs }: Waking,
): Promise<void> {
  const up = new PowerOnAttempts(reconnecting);
  if (silent || !(await up.isOn(2_500, signal))) {
    const answers = (ms: number) => up.isOn(ms, signal);
    await callUntilAwake(
      { target, surroundings, withinMs: withinMs + (silent ? 0 : onWithin), hint: sleepHint, answers },
      signal,
    ).catch((error: unknown) => {
      throw !signal.aborted && up.stranger ? up.stranger : error;
    });
  }
  const registered = await reconnecting.use(signal, { eager: true });
  emit({ type: "state", patch: { power: "on" } });
  if (!registered.state.isScreenOn) await turnScreenOn(registered, signal);
}

/**
 * PowerOnAttempts to enter that go on while nobody waits for them: on a set that wakes, one may take longer than a call. A set
 * that answers, and is not on, is not asked again at once.
 */
class PowerOnAttempts {
  readonly #reconnecting: ReconnectingSession<RegisteredSession>;
  #trying: Promise<boolean> | undefined;
  #pause = shortestPause;
  #notBefore = Number.NEGATIVE_INFINITY;
  /** What was found at its address the last time, where that does not prove to be the set. */
  stranger: DeviceError | undefined;

  constructor(reconnecting: ReconnectingSession<RegisteredSession>) {
    this.#reconnecting = reconnecting;
  }

  /** Whether the set is on, found out within `ms`. A set that lets nobody in is on, too. */
  async isOn(ms: number, signal: AbortSignal): Promise<boolean> {
    const until = performance.now() + ms;
    const wait = this.#notBefore - performance.now();
    if (wait > 0 && !this.#trying) {
      const saidOn = await this.#listen(Math.min(wait, ms), signal);
      if (!saidOn && wait >= ms) return false;
    }
    this.#trying ??= this.#ask(signal).finally(() => {
      this.#trying = undefined;
    });
    const late = sleep(Math.max(0, until - performance.now()), signal).then(() => false);
    return Promise.race([this.#trying, late]);
  }

  /** Waits for the set to say that it is on, by itself. */
  async #listen(ms: number, signal: AbortSignal): Promise<boolean> {
    const { current } = this.#reconnecting;
    if (current) return current.state.hears(() => current.state.power === "on", ms, signal);
    await sleep(ms, signal);
    return false;
  }

  async #ask(signal: AbortSignal): Promise<boolean> {
    this.stranger = undefined;
    try {
      const registered = await this.#reconnecting.use(signal, { eager: true });
      await registered.proveAlive(signal);
      registered.state.commanded();
      await registered.state.refresh(signal, registered.state.tells("power") ? ["power"] : ["app"]);
      const { power } = registered.state;
      if (power === "on" || power === "unknown") return true;
      this.#rest(standbyPause);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (!(error instanceof ZapdError) || failedBy(error, "wrong_device")) throw error;
      if (isStranger(error)) {
        // A set that starts may open this port first.
        this.stranger = error;
        this.#rest(standbyPause);
      } else if (/^(pairing_|device_unproven$)/.test(error.code)) throw error;
      // It let us in, and hung up.
      else if (error.code !== "device_unreachable" || failedBy(error, "closed")) {
        this.#rest(this.#pause);
        this.#pause = Math.min(longestPause, 2 * this.#pause);
      }
    }
    return false;
  }

  #rest(ms: number): void {
    this.#notBefore = performance.now() + ms;
  }
}

async function turnScreenOn(registered: RegisteredSession, signal: AbortSignal): Promise<void> {
  for (const uri of screenOn) {
    const done = await registered.request(uri, { standbyMode: "active" }, signal).then(
      () => true,
      () => false,
    );
    if (done) return;
  }
}
