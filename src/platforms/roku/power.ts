/** Turning a Roku on from any state (protocols/roku.md 1.8): PowerOn when it answers, magic packets when it does not. */
import { failedBy, ZapdError } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { callUntilAwake } from "../../transport/wake-on-lan.ts";
import type { Surroundings, Waking } from "../platform.ts";
import type { Ecp } from "./ecp.ts";
import type { RokuTarget } from "./memory.ts";
import { paths } from "./paths.ts";

/** One field implementation polls 8 times, 1 s apart, and repeats the key once at about 5 s. */
const onWithin = 8_000;
const pressAgainAfter = 5_000;
const pollEvery = 500;
/** A set in deep standby does not refuse, it is silent: one short wait decides. */
const firstAsk = 2_500;

const sleepHint =
  "On the Roku: Settings > System > Power > Fast TV Start: Enabled, so that it stays reachable while it is off; or turn it on with its own remote";

/** Turns the set on and waits until it says so. Fails with `device_unreachable` when nothing wakes it. */
export async function powerOn(
  ecp: Ecp,
  target: RokuTarget,
  surroundings: Surroundings,
  signal: AbortSignal,
  { silent, withinMs }: Waking,
): Promise<void> {
  // One that has just said that it is in standby is not silent: it needs no call.
  if ((silent && !ecp.inStandby) || !(await answers(ecp, firstAsk, signal))) {
    const call = { target, surroundings, withinMs, hint: sleepHint, answers: (ms: number) => answers(ecp, ms, signal) };
    await callUntilAwake(call, signal);
    if ((await ecp.info(signal))?.power === "on") return;
  }
  const pressed = performance.now();
  let again = false;
  await press(ecp, signal);
  for (;;) {
    const info = await ecp.info(signal).catch(() => null);
    // A player does not know its TV, and a set in disabled mode does not say: the key was taken, more cannot be known.
    if (info ? info.power === "on" || info.power === "unknown" : again) return;
    const passed = performance.now() - pressed;
    if (passed > onWithin) throw new ZapdError("device_error", "took the power-on key but still says that it is off");
    if (passed > pressAgainAfter && !again) {
      again = true;
      await press(ecp, signal);
    }
    await sleep(pollEvery, signal);
  }
}

async function press(ecp: Ecp, signal: AbortSignal): Promise<void> {
  if ((await ecp.command(paths.key("PowerOn"), "turn on", signal)) >= 400)
    throw new ZapdError("unsupported_key", "has no power-on key");
  ecp.powerChanges();
}

/** Whether the set answers; another set at its address is an error, not an answer. */
async function answers(ecp: Ecp, ms: number, signal: AbortSignal): Promise<boolean> {
  const within = deadline(ms, signal);
  try {
    await ecp.info(within);
    return true;
  } catch (error) {
    if (signal.aborted || failedBy(error, "wrong_device")) throw error;
    return false;
  }
}
