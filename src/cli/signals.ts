/** Signals that end a command in good order. */
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { exits } from "../api/errors.ts";

/** Ctrl-C reaches us from the terminal and again, moments later, from the parent (npm, src/cli/zapd.mjs): within this it is one. */
const sameSignalMs = 500;

/**
 * Calls `stop` at the first of these signals; a second one ends the process at once, by default with the status that shells
 * give to a signal. Gives the function that stops listening.
 */
export function onSignal(
  signals: readonly NodeJS.Signals[],
  stop: (signal: NodeJS.Signals) => void,
  status?: number,
): () => void {
  let firstAt: number | undefined;
  const take = (signal: NodeJS.Signals) => {
    firstAt ??= performance.now();
    if (performance.now() - firstAt > sameSignalMs) process.exit(status ?? 128 + constants.signals[signal]);
    stop(signal);
  };
  for (const signal of signals) process.on(signal, take);
  return () => {
    for (const signal of signals) process.off(signal, take);
  };
}

/** Calls `cleanUp` when a signal is to end the process, which then ends by it. Gives the function that stops listening. */
export function cleanUpAtSignal(cleanUp: () => void): () => void {
  const signals = endingSignals();
  const take = (signal: NodeJS.Signals) => {
    cleanUp();
    process.kill(process.pid, signal);
  };
  for (const signal of signals) process.once(signal, take);
  return () => {
    for (const signal of signals) process.off(signal, take);
  };
}

/** Waits for SIGTERM, SIGINT or SIGHUP; a second one ends the process at once, as a failure. */
export function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    onSignal(endingSignals(), () => resolve(), exits.failed);
  });
}

/**
 * The signals that end a process; not SIGHUP where that was ignored at the start, as nohup(1) does: a handler would end that.
 * Only Linux tells; elsewhere nohup(1) shows in that no output goes to a terminal.
 */
export function endingSignals(): readonly NodeJS.Signals[] {
  const all = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
  try {
    const [, last = "0"] = /^SigIgn:.*([0-9a-f])$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    return (Number.parseInt(last, 16) & 1) === 1 ? all.slice(0, 2) : all;
  } catch {
    return process.stderr.isTTY || process.stdout.isTTY ? all : all.slice(0, 2);
  }
}
