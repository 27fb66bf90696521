/** Turning a TV on and off (smart-tvs.md 1.2, 3.3): HTTP is asked first, since the socket alone turns some TVs on. */
import { hasReason, inStandby, ZapdError } from "../../api/errors.ts";
import { neverAborted, sleep, until } from "../../system/sleep.ts";
import type { Emit, PowerControl } from "../platform.ts";
import { powerKey } from "./keys.ts";
import type { SamsungMemory, SamsungTarget } from "./memory.ts";
import type { Rest } from "./rest.ts";
import type { Remote, RemoteSession } from "./session.ts";

/** A TV of the Frame series that is pressed for less shows art (3.3). */
const frameHoldMs = 3_000;
/** From the key until the TV says so, or falls silent. */
const leavesWithin = 6_000;
/** One that the socket alone turns on says so within this; how long real TVs take is in no source. */
const wokenWithin = 1_500;
/** Pressed twice, it would turn the TV off again. */
const startsWithin = 8_000;

/** How a TV is turned on and off; `command` gives the socket of one that is on. */
export function powerOf(
  { reconnecting, useAsleep }: Remote,
  rest: Rest,
  target: SamsungTarget,
  emit: Emit<SamsungMemory>,
  command: (signal: AbortSignal) => Promise<RemoteSession>,
): PowerControl {
  let pressedAt = Number.NEGATIVE_INFINITY;
  const isOn = async (signal: AbortSignal) => {
    const { power } = await rest.info(signal);
    if (power === "on") pressedAt = Number.NEGATIVE_INFINITY;
    return power === null ? null : power === "on";
  };
  return {
    wakesByPacket: true,
    isOn,
    // What does not say whether it is on would be turned off by its key (3.3).
    ...(target.memory.saysPower !== false && {
      async on(signal) {
        if ((await isOn(signal)) !== false || performance.now() - pressedAt < startsWithin) return;
        // Without a token a packet alone may wake it.
        if (target.facts.access !== "full") throw inStandby();
        const before = reconnecting.current;
        const session = await useAsleep(signal);
        // Opening the socket may have been enough, and the key would turn it off again (3.4).
        const isWoken = async () => (await isOn(signal)) !== false;
        if (await until(isWoken, { timeoutMs: session === before ? 0 : wokenWithin, everyMs: 300, signal })) return;
        pressedAt = performance.now();
        await session.press(powerKey, "Click", signal);
      },
    }),
    async off(signal) {
      if ((await isOn(signal)) === false) return;
      const session = await command(signal);
      // It hangs up as it goes.
      await (target.memory.frame ? hold(session, signal) : session.press(powerKey, "Click", signal)).catch(
        unlessHungUp,
      );
      const isOff = async () => (await isOn(signal).catch(silentIsOff(signal))) === false;
      const says = target.memory.saysPower !== false;
      const wentOff = await until(isOff, { timeoutMs: leavesWithin, everyMs: 300, signal });
      rest.forget();
      if (says && !wentOff) throw new ZapdError("device_error", "took the power-off key but still says that it is on");
      // A socket that stays open must not take the next command, nor be opened again unasked.
      reconnecting.drop();
      emit({ type: "disconnected", why: "going_off" });
    },
  };
}

/** Holds the key as long as a Frame wants it; whatever becomes of the caller, it is let go of. */
async function hold(session: RemoteSession, signal: AbortSignal): Promise<void> {
  try {
    await session.press(powerKey, "Press", signal);
    await sleep(frameHoldMs);
  } finally {
    await session.press(powerKey, "Release", neverAborted).catch(unlessHungUp);
  }
}

function unlessHungUp(error: unknown): void {
  if (!hasReason(error, "closed")) throw error;
}

/** Who does not answer any more is off. */
function silentIsOff(signal: AbortSignal): (error: unknown) => false {
  return (error) => {
    signal.throwIfAborted();
    if (hasReason(error, "refused", "no_route", "timeout", "closed")) return false;
    throw error;
  };
}
