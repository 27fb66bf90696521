/** Power (smart-tvs.md 1.2, 3.3): HTTP is asked first, since opening the WebSocket turns some TVs on. */
import { hasCode, hasReason, inStandby } from "../../api/errors.ts";
import { unlessSlept } from "../../system/clock.ts";
import { neverAborted } from "../../system/never-aborted.ts";
import { sleep, until } from "../../system/sleep.ts";
import { type Emit, noEffect, type PowerControl } from "../platform.ts";
import { powerKey } from "./keys.ts";
import type { SamsungMemory, SamsungTarget } from "./memory.ts";
import { falseIfSilent, type Rest } from "./rest.ts";
import type { Remote, RemoteSession, WithRemote } from "./session.ts";

/** A shorter press makes a TV of the Frame series show art (3.3). */
const frameHoldMs = 3_000;
/** From the key until the TV reports standby or stops answering. */
const powerOffTimeoutMs = 6_000;
/** How long a TV takes that is turned on by the WebSocket alone; no source gives a measured time. */
const wakeBySocketMs = 1_500;
/** A second press would turn the TV off again. */
const pressAgainAfterMs = 8_000;

export function powerOf(
  { reconnecting, wake }: Remote,
  rest: Rest,
  target: SamsungTarget,
  emit: Emit<SamsungMemory>,
  withRemote: WithRemote,
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
    // The power key could turn off a TV that does not report its power (3.3).
    ...(target.memory.saysPower !== false && {
      async on(signal) {
        if ((await isOn(signal)) !== false || performance.now() - pressedAt < pressAgainAfterMs) return;
        // Without a token only a packet may wake it.
        if (target.facts.access !== "full") throw inStandby();
        const before = reconnecting.current;
        await wake(signal, async (session) => {
          // Opening the WebSocket may have been enough; the key would then turn the TV off again (3.4).
          const isWoken = async () => (await isOn(signal)) !== false;
          const timeoutMs = session === before ? 0 : wakeBySocketMs;
          if (await until(isWoken, { timeoutMs, everyMs: 300, signal })) return;
          pressedAt = performance.now();
          // Whether the TV took the key is read from its power.
          await session.press(powerKey, "Click", signal).catch((error: unknown) => {
            // What was not sent does not count.
            if (hasCode(error, "device_unreachable")) pressedAt = Number.NEGATIVE_INFINITY;
            unlessClosed(error);
          });
        });
      },
    }),
    async off(signal) {
      if ((await unlessSlept(isOn(signal))) === false) return;
      await withRemote(signal, (session) => {
        const pressing = target.memory.frame ? hold(session, signal) : session.press(powerKey, "Click", signal);
        // The TV closes the connection as it turns off.
        return pressing.catch(unlessClosed);
      });
      const isOff = async () => (await isOn(signal).catch(falseIfSilent(signal))) === false;
      const confirmed = await until(isOff, { timeoutMs: powerOffTimeoutMs, everyMs: 300, signal });
      rest.invalidate();
      if (!confirmed && target.memory.saysPower !== false)
        throw noEffect("accepted the power-off key, but still reports that it is on");
      // A socket that stays open must not get the next command, and is opened again only when it is needed.
      reconnecting.drop();
      emit({ type: "disconnected", why: "going_off" });
    },
  };
}

/** Holds the key as long as a Frame needs it; releases it even when the caller has gone. */
async function hold(session: RemoteSession, signal: AbortSignal): Promise<void> {
  try {
    await session.press(powerKey, "Press", signal);
    await sleep(frameHoldMs);
  } finally {
    // The TV may have closed the connection already, as it turned off.
    await session.press(powerKey, "Release", neverAborted).catch(() => {});
  }
}

/** Rethrows unless the connection ended after the key was sent. */
function unlessClosed(error: unknown): void {
  if (!hasReason(error, "closed") || error.phase === "connect") throw error;
}
