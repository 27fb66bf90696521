/** `zapd with-lease`: runs a program while holding the lease of a device. */
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { resolve } from "node:path";
import type { Result } from "../api/client.ts";
import { systemCode, textOf } from "../api/errors.ts";
import { leaseLimits } from "../api/limits.ts";
import type { Lease } from "../api/schemas.ts";
import { stopwatch } from "../system/clock.ts";
import { printable } from "../system/printable.ts";
import { sleep } from "../system/sleep.ts";
import { apiOf, call } from "./client.ts";
import type { Context } from "./context.ts";
import { CommandError, UsageError } from "./failure.ts";
import { callLease, freeLease, takeLease, type WantedLease, wantedLease } from "./lease.ts";

/** How long the lease lasts when this process is killed; while the program runs it is renewed. */
const defaultTtlMs = 60_000;
/** How long to wait before calling a daemon again that did not answer. */
const retryAfterMs = 1_000;
/** Exit statuses of shells: not found, and found but not executable. */
const notFound = 127;
const notRun = 126;

type Taken = Result<"takeLease">;

export async function withLease(context: Context): Promise<number> {
  const [program, ...words] = context.words;
  if (!program) throw new UsageError("which program? Such as: zapd with-lease -d label:lab -- npm test");
  if (context.json) throw new UsageError("--json cannot be used here: the output is that of the program");
  const carried = apiOf(context).lease?.split(",") ?? [];
  const before = carried.length > 0 ? (await call(context, "listDevices", {})).data : [];
  const wanted = wantedLease(context, defaultTtlMs);
  const { data: taken } = await takeLease(context, wanted);
  const isOwn = !carried.includes(taken.token);
  const held = isOwn ? null : before.find(({ id }) => id === taken.device.id)?.lease;
  // A lease that the caller held before keeps its owner and its end.
  const kept = wantedLease(context, defaultTtlMs, held?.owner);
  const leftMs = held ? countdown(held, taken, wanted) : () => 0;
  const renewed = async (signal: AbortSignal) => {
    const ttl_s = Math.min(Math.max(kept.ttl_s, Math.ceil(leftMs() / 1_000)), leaseLimits.ttlS);
    await callLease(context, taken.device.id, { ...kept, ttl_s, waitMs: 0 }, signal, taken.token);
  };
  const renewing = new AbortController();
  try {
    // Taking it has shortened it.
    if (held) await renewed(renewing.signal);
    const env = {
      ...process.env,
      ZAPD_DEVICE: taken.device.id,
      ZAPD_LEASE: [...(isOwn ? [taken.token] : []), ...carried].join(","),
      // Absolute, since the program may change its folder.
      ZAPD_SOCKET: resolve(context.socket()),
    };
    const child = started(program, words, env);
    const ended = waitForExit(child, program);
    keepRenewing(renewed, wanted.ttl_s * 1_000, renewing.signal).catch((error: unknown) => {
      if (renewing.signal.aborted) return;
      const why = error instanceof Error ? error.message : String(error);
      context.say(printable(`zapd: the lease of ${taken.device.name} is lost (${why}): stopping ${program}`));
      child.kill("SIGTERM");
    });
    return await ended;
  } finally {
    renewing.abort();
    if (isOwn) await freeLease(context, taken).catch((error: unknown) => reportNotFreed(context, taken, wanted, error));
  }
}

/** The milliseconds that a lease would have left if it had not been taken again, from now on. */
function countdown({ until }: Lease, taken: Taken, { ttl_s }: WantedLease): () => number {
  // Both ends as the daemon tells them.
  const leftMs = Date.parse(until) - Date.parse(taken.until) + ttl_s * 1_000;
  const elapsedMs = stopwatch();
  return () => leftMs - elapsedMs();
}

function reportNotFreed(context: Context, { device }: Taken, { ttl_s }: WantedLease, error: unknown): void {
  // The lease was broken or has expired: there is nothing to free.
  if (error instanceof CommandError && error.code === "device_leased") return;
  const time = ttl_s <= 120 ? "a minute or two" : `${Math.ceil(ttl_s / 60)} minutes`;
  context.say(printable(`zapd: ${device.name} could not be freed; its lease ends within ${time}`));
}

/**
 * Waits for the program, passing on signals, and gives its exit status as a shell does. The signals are never let through
 * again: npm and src/cli/zapd.mjs send one more, which must not end this process before the lease is freed.
 */
function waitForExit(child: ChildProcess, program: string): Promise<number> {
  for (const signal of ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"] as const) {
    // The terminal sends these to the program as well.
    const isFromTerminal = process.stdin.isTTY === true && (signal === "SIGINT" || signal === "SIGQUIT");
    process.on(signal, () => void (isFromTerminal || child.kill(signal)));
  }
  return new Promise((resolve, reject) => {
    child.on("exit", (status, signal) => resolve(status ?? 128 + (signal ? constants.signals[signal] : 0)));
    child.on("error", (error) => reject(startError(program, error)));
  });
}

/** Some failures, such as a script without `#!`, are thrown, others come as an event. */
function started(program: string, words: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  try {
    return spawn(program, words, { stdio: "inherit", env });
  } catch (error) {
    throw startError(program, error);
  }
}

function startError(program: string, error: unknown): CommandError {
  const code = systemCode(error);
  const message = `${program} could not be started (${code || textOf(error)})`;
  return new CommandError(message, code === "ENOENT" ? notFound : notRun);
}

/** Renews the lease again and again until the signal aborts. Fails when the lease is lost. */
async function keepRenewing(
  renewed: (signal: AbortSignal) => Promise<void>,
  ttlMs: number,
  signal: AbortSignal,
): Promise<never> {
  for (let since = performance.now(), pause = ttlMs / 3; ; ) {
    await sleep(pause, signal);
    const now = performance.now();
    try {
      await renewed(signal);
      since = now;
      pause = ttlMs / 3;
    } catch (error) {
      const isOver = error instanceof CommandError && error.code === "device_leased";
      // A daemon that restarts in time has kept the lease.
      if (isOver || now - since > ttlMs) throw error;
      pause = Math.min(retryAfterMs, ttlMs / 6);
    }
  }
}
