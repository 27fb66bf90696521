/** Uploads of a package to sets, two at a time, whichever views they are of: the daemon refuses a third. */
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Result } from "../../api/client.ts";
import type { EventOf } from "../../api/events.ts";
import { addressOf, type Failure, failureOf, readAnswer, send } from "../calls.ts";
import type { Entry } from "../store.ts";

type Step = "waiting" | "sending" | "done" | "failed";

/** The upload of a package to one set. */
export interface Delivery {
  readonly entry: Entry;
  readonly step: Signal<Step>;
  readonly failure: Signal<Failure | null>;
  /** The installed package, once it is done. */
  readonly installed: Signal<Result<"installPackage">["package"] | null>;
  /** The progress that the daemon reports; `null` before the first report. */
  readonly progress: ReadonlySignal<EventOf<"install.progress"> | null>;
}

export interface PackageUpload {
  readonly archive: Blob;
  readonly params: Readonly<Record<string, string>>;
}

const maxParallel = 2;

export function deliveryTo(entry: Entry): Delivery {
  const step = signal<Step>("waiting");
  const progress = computed(() => (step.value === "sending" ? entry.install.value : null));
  return { entry, step, failure: signal(null), installed: signal(null), progress };
}

const underWay = new Set<Promise<void>>();

/** Sends a package to several sets. Resolves when each has accepted or refused it. */
export async function deliver(deliveries: readonly Delivery[], upload: PackageUpload): Promise<void> {
  await Promise.all(deliveries.map((one) => deliverTo(one, upload)));
}

/** Sends a package to one set, in its turn. The password is only for this set and is not kept in the page. */
export async function deliverTo(delivery: Delivery, upload: PackageUpload, password?: string): Promise<void> {
  delivery.failure.value = null;
  delivery.step.value = "waiting";
  while (underWay.size >= maxParallel) await Promise.race(underWay);
  const sending = sendTo(delivery, upload, password).finally(() => underWay.delete(sending));
  underWay.add(sending);
  await sending;
}

const changedPackage: Failure = {
  code: "invalid_archive",
  message: "The package was changed or removed after you chose it",
  hint: "Choose it again",
  reason: null,
};

const isUnreadable = (archive: Blob) =>
  archive
    .slice(0, 1)
    .arrayBuffer()
    .then(
      () => false,
      () => true,
    );

/** Never rejects. */
async function sendTo(delivery: Delivery, { archive, params }: PackageUpload, password?: string): Promise<void> {
  const { entry, step, failure, installed } = delivery;
  const form = new FormData();
  if (Object.keys(params).length > 0) form.append("params", JSON.stringify(params));
  if (password !== undefined) form.append("password", password);
  form.append("archive", archive, "package.zip");
  entry.install.value = null;
  step.value = "sending";
  try {
    const response = await send(addressOf("installPackage", { id: entry.id }), { method: "POST", body: form });
    installed.value = ((await readAnswer(response)) as Result<"installPackage">).package;
    step.value = "done";
  } catch (error) {
    const failed = failureOf(error);
    // Browsers refuse to send a chosen file that has changed since, as if nobody answered.
    const isUnsent = failed?.code === "no_answer" && (await isUnreadable(archive));
    failure.value = isUnsent ? changedPackage : failed;
    step.value = "failed";
  }
}

/** Parses deep-link parameters, one `name=value` per line. */
export function paramsIn(text: string): { readonly params: Record<string, string>; readonly problem: string | null } {
  const params: Record<string, string> = {};
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (line === "") continue;
    const at = line.indexOf("=");
    if (at < 1) return { params: {}, problem: `${line} is not name=value` };
    params[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return { params, problem: null };
}
