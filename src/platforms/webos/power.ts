/** Turning a set on and off (smart-tvs.md 1.2, 2.4, 2.5): off only when it is on, on by magic packets. */
import { ZapdError } from "../../errors.ts";
import { rest } from "../../rest.ts";
import { Elsewhere } from "../elsewhere.ts";
import type { Link } from "../link.ts";
import type { DeviceSurroundings, Target, Waking } from "../platform.ts";
import { callUntilAwake } from "../wake.ts";
import type { Ready } from "./connection.ts";
import { screenOn, uris } from "./protocol.ts";

/** It need not answer; it pushes that it goes, or hangs up. */
const leavesWithin = 3_000;
/** From the first answer until it says that it is on; back about 2 s after the packet (2.5). */
const onWithin = 12_000;

const sleepHint =
  "On the TV: Settings > General > Devices > External devices > Turn on via Wi-Fi, or TV On With Mobile, and Quick Start+; on sets of 2025 on: Support > IP control settings > Wake on LAN; or turn it on with its own remote";

export async function powerOff(
  link: Link<Ready>,
  ready: Ready,
  surroundings: DeviceSurroundings,
  signal: AbortSignal,
): Promise<void> {
  const { session, state } = ready;
  session.leaving = true;
  state.commanded();
  session.say(uris.turnOff);
  const left = await state.until(() => state.power !== "on" || !ready.alive, leavesWithin, signal);
  if (!left && session.quiet < leavesWithin && ready.alive) {
    // It goes on talking: whether it heard is asked.
    await state.refresh(signal).catch(() => {});
    if (ready.alive && state.power === "on") {
      session.leaving = false;
      throw new ZapdError("device_error", "took the power-off key but still says that it is on");
    }
  }
  if (state.power === "standby") return;
  surroundings.heard("off");
  // A socket that stays open and silent must not take the next command.
  link.drop();
}

export async function powerOn(
  link: Link<Ready>,
  target: Target,
  surroundings: DeviceSurroundings,
  signal: AbortSignal,
  { silent, withinMs }: Waking,
): Promise<void> {
  const up = new Attempts(link);
  if (silent || !(await up.isOn(2_500, signal))) {
    const answers = (ms: number) => up.isOn(ms, signal);
    await callUntilAwake(
      { target, surroundings, withinMs: withinMs + (silent ? 0 : onWithin), hint: sleepHint, answers },
      signal,
    );
  }
  const ready = await link.use(signal, { eager: true });
  surroundings.heard("on");
  if (!ready.state.isScreenOn) await turnScreenOn(ready, signal);
}

/** Attempts to enter that go on while nobody waits for them: on a set that wakes, one may take longer than a call. */
class Attempts {
  readonly #link: Link<Ready>;
  #trying: Promise<boolean> | undefined;

  constructor(link: Link<Ready>) {
    this.#link = link;
  }

  /** Whether the set is on, found out within `ms`. A set that lets nobody in is on, too. */
  isOn(ms: number, signal: AbortSignal): Promise<boolean> {
    this.#trying ??= this.#ask(signal).finally(() => {
      this.#trying = undefined;
    });
    return Promise.race([this.#trying, rest(ms, signal).then(() => false)]);
  }

  async #ask(signal: AbortSignal): Promise<boolean> {
    try {
      const ready = await this.#link.use(signal, { eager: true });
      await ready.proveAlive(signal);
      ready.state.commanded();
      await ready.state.refresh(signal);
      const { power } = ready.state;
      return power === "on" || power === "unknown";
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof ZapdError && /^pairing/.test(error.code)) throw error;
      if (error instanceof Elsewhere) throw error;
      return false;
    }
  }
}

async function turnScreenOn(ready: Ready, signal: AbortSignal): Promise<void> {
  for (const uri of screenOn) {
    const done = await ready.request(uri, { standbyMode: "active" }, signal).then(
      () => true,
      () => false,
    );
    if (done) return;
  }
}
