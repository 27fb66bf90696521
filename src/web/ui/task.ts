import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import { type Failure, failureOf } from "../calls.ts";

interface Task {
  readonly isBusy: ReadonlySignal<boolean>;
  /** Why the last run failed; `null` while it runs and after a success. */
  readonly failure: Signal<Failure | null>;
  run(): void;
}

/** Work that a component starts, with its progress and its failure as signals. */
export function useTask(work: () => Promise<unknown>): Task {
  const isBusy = useSignal(false);
  const failure = useSignal<Failure | null>(null);
  const run = async () => {
    isBusy.value = true;
    failure.value = null;
    try {
      await work();
    } catch (error) {
      failure.value = failureOf(error);
    } finally {
      isBusy.value = false;
    }
  };
  return { isBusy, failure, run: () => void run() };
}
