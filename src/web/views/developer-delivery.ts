/** Packages on their way to sets: one upload for each, two at a time, as many as the daemon takes. */
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Result } from "../../api/client.ts";
import type { Followed } from "../../api/client-types.ts";
import { addressOf, type Failure, failureOf, readAnswer, send } from "../calls.ts";
import { type Entry, events } from "../store.ts";

type Step = "waiting" | "under way" | "done" | "failed";

/** A package on its way to one set. */
export interface Delivery {
  readonly entry: Entry;
  readonly step: Signal<Step>;
  readonly failure: Signal<Failure | null>;
  /** What runs there now. */
  readonly installed: Signal<Result<"installPackage">["package"] | null>;
  /** The last event before it was begun: what was told until then is of an earlier one. */
  readonly since: Signal<string | undefined>;
  /** How far it is, as the daemon tells; `null` before it has told. */
  readonly progress: ReadonlySignal<Progress | null>;
}

type Progress = Pick<Extract<Followed, { readonly type: "install.progress" }>, "phase" | "bytes" | "total">;

export interface Parcel {
  readonly archive: Blob;
  readonly params: Readonly<Record<string, string>>;
}

/** The daemon refuses a third. */
const atOnce = 2;

export function deliveryTo(entry: Entry): Delivery {
  const step = signal<Step>("waiting");
  const since = signal<string | undefined>(undefined);
  const progress = computed(() => {
    if (step.value !== "under way") return null;
    for (const event of events.value) {
      if (event.id === since.value) return null;
      if (event.type === "install.progress" && event.device_id === entry.id) return event;
    }
    return null;
  });
  return { entry, step, failure: signal(null), installed: signal(null), since, progress };
}

/** Sends a package to several sets, and answers once the last of them has it or has refused it. */
export async function deliver(deliveries: readonly Delivery[], parcel: Parcel): Promise<void> {
  const waiting = [...deliveries];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await deliverTo(next, parcel);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

/** Sends a package to one set. The password is that of this set alone, and goes no further than into the request. */
export async function deliverTo(delivery: Delivery, { archive, params }: Parcel, password?: string): Promise<void> {
  const { entry, step, failure, installed, since } = delivery;
  const form = new FormData();
  // What is said beside a package stands before it: the daemon looks at it first.
  if (Object.keys(params).length > 0) form.append("params", JSON.stringify(params));
  if (password !== undefined) form.append("password", password);
  form.append("archive", archive, "package.zip");
  since.value = events.peek()[0]?.id;
  failure.value = null;
  step.value = "under way";
  try {
    const response = await send(addressOf("installPackage", { id: entry.id }), { method: "POST", body: form });
    installed.value = ((await readAnswer(response)) as Result<"installPackage">).package;
    step.value = "done";
  } catch (error) {
    failure.value = failureOf(error);
    step.value = "failed";
  }
}
