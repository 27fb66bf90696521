import { type ReadonlySignal, type Signal, useSignal, useSignalEffect } from "@preact/signals";
import { type Failure, failureOf } from "../calls.ts";
import { connection } from "../store.ts";

interface Task<Args extends unknown[]> {
  readonly isBusy: ReadonlySignal<boolean>;
  /** Why the last run failed; `null` while it runs, after a success, and once a daemon that did not answer does. */
  readonly failure: Signal<Failure | null>;
  run(...args: Args): void;
}

/** Work that a component starts, with its progress and its failure as signals. */
export function useTask<Args extends unknown[]>(work: (...args: Args) => Promise<unknown>): Task<Args> {
  const isBusy = useSignal(false);
  const failure = useSignal<Failure | null>(null);
  useSignalEffect(() => {
    if (connection.value === "live" && failure.peek()?.code === "no_answer") failure.value = null;
  });
  const run = async (...args: Args) => {
    isBusy.value = true;
    failure.value = null;
    try {
      await work(...args);
    } catch (error) {
      failure.value = failureOf(error);
    } finally {
      isBusy.value = false;
    }
  };
  return { isBusy, failure, run: (...args) => void run(...args) };
}
