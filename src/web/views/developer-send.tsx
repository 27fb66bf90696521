/** Sending a package: choosing it, the target sets, the deep-link parameters, and the result for each set. */
import { type Signal, signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { type Failure, failureOf } from "../calls.ts";
import { type Entry, entries } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Refusal } from "../ui/refusal.tsx";
import { announce } from "../ui/status.tsx";
import { countOf } from "../words.ts";
import { type Delivery, deliver, deliverTo, deliveryTo, type PackageUpload, paramsIn } from "./developer-delivery.ts";
import { type ChosenPackage, PackageError, packageFromDrop, packageFromFiles } from "./developer-package.ts";

/** The last package that was sent. */
interface Sent {
  readonly upload: PackageUpload;
  readonly deliveries: readonly Delivery[];
}

/** What is sent from the view of a set. */
interface Sending {
  readonly chosen: Signal<ChosenPackage | null>;
  readonly sent: Signal<Sent | null>;
  /** The preparation that is under way, in words. */
  readonly preparing: Signal<string | null>;
  readonly problem: Signal<string | null>;
  readonly isBusy: Signal<boolean>;
}

/** Kept while the page is open: a package is sent on when the view is left, and how that ended is shown to who comes back. */
const sendings = new WeakMap<Entry, Sending>();

function sendingFrom(entry: Entry): Sending {
  const known = sendings.get(entry);
  if (known) return known;
  const [chosen, sent, preparing, problem] = [signal(null), signal(null), signal(null), signal(null)];
  const made = { chosen, sent, preparing, problem, isBusy: signal(false) };
  sendings.set(entry, made);
  return made;
}

interface SendProps {
  readonly entry: Entry;
  /** The deep-link parameters as typed. */
  readonly params: Signal<string>;
}

export function Send({ entry, params }: SendProps) {
  const { chosen, sent, preparing, problem, isBusy } = sendingFrom(entry);
  const others = useSignal<ReadonlySet<string>>(new Set());
  const parsed = paramsIn(params.value);
  const paramCount = Object.keys(parsed.params).length;
  const { value: last } = sent;

  const take = async (what: ChosenPackage | null) => {
    if (what === null) return;
    if (isBusy.peek()) return announce("Another package is being sent. Send this one afterwards");
    isBusy.value = true;
    chosen.value = what;
    problem.value = parsed.problem;
    sent.value = null;
    try {
      if (parsed.problem !== null) return;
      preparing.value = `reading ${what.name}`;
      const archive = await what.read((files) => {
        preparing.value = `zipping ${what.name}, ${countOf(files, "file")}`;
      });
      preparing.value = null;
      const targets = [entry, ...developerSets().filter((one) => one !== entry && others.peek().has(one.id))];
      const upload = { archive, params: parsed.params };
      const deliveries = targets.map(deliveryTo);
      sent.value = { upload, deliveries };
      await deliver(deliveries, upload);
    } catch (error) {
      problem.value = error instanceof PackageError ? error.message : (failureOf(error)?.message ?? null);
    } finally {
      preparing.value = null;
      isBusy.value = false;
    }
  };
  return (
    <section class="dev-card card" aria-labelledby="dev-send">
      <header>
        <h2 id="dev-send">Package</h2>
      </header>
      <Drop take={take} isBusy={isBusy.value} />
      <Targets entry={entry} others={others} />
      <details class="dev-params">
        <summary>Start it with {paramCount === 0 ? "parameters" : countOf(paramCount, "parameter")}</summary>
        <DeepLinkField text={params} problem={parsed.problem} />
      </details>
      {problem.value && (
        <p class="dev-problem" role="alert">
          <Icon name="circle-alert" size={18} />
          {problem.value}
        </p>
      )}
      {preparing.value && (
        <p class="muted" role="status">
          {preparing.value} …
        </p>
      )}
      {last && (
        <ul class="dev-deliveries" aria-label="Results">
          {last.deliveries.map((delivery) => (
            <Outcome
              key={delivery.entry.id}
              delivery={delivery}
              upload={last.upload}
              isOne={last.deliveries.length === 1}
            />
          ))}
        </ul>
      )}
      {chosen.value && (
        <div class="dev-actions">
          <Button
            label={`Send ${chosen.value.name} again`}
            icon="send"
            busy={isBusy.value}
            onPress={() => take(chosen.value)}
          />
        </div>
      )}
    </section>
  );
}

/** The drop zone. The whole page accepts drops, so that the browser does not open the file instead. */
function Drop({ take, isBusy }: { take(what: ChosenPackage | null): void; readonly isBusy: boolean }) {
  const isOver = useSignal(false);
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;
    const over = (event: DragEvent) => {
      if (!hasFiles(event) || !event.dataTransfer) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "copy";
      isOver.value = true;
    };
    const leave = (event: DragEvent) => {
      // `dragleave` also fires between elements; only on leaving the window is there no `relatedTarget`.
      if (event.relatedTarget === null) isOver.value = false;
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event) || !event.dataTransfer) return;
      event.preventDefault();
      isOver.value = false;
      latest.current(packageFromDrop(event.dataTransfer));
    };
    const gone = new AbortController();
    addEventListener("dragleave", leave, { signal: gone.signal });
    addEventListener("dragover", over, { signal: gone.signal });
    addEventListener("drop", drop, { signal: gone.signal });
    return () => gone.abort();
  }, []);
  return (
    <div class={`dev-drop${isOver.value ? " is-over" : ""}`}>
      <Icon name="upload" size={26} />
      <p>
        <strong>{isOver.value ? "Release to send it" : "Drop a ZIP or a folder"}</strong>
        <span class="muted">It is sent at once, and then starts on the device.</span>
      </p>
      <div class="dev-choose">
        <Choose label="Choose a ZIP" icon="file-archive" isBusy={isBusy} take={take} />
        <Choose label="Choose a folder" icon="folder-open" isFolder isBusy={isBusy} take={take} />
      </div>
    </div>
  );
}

interface ChooseProps {
  readonly label: string;
  readonly icon: IconName;
  readonly isFolder?: boolean;
  readonly isBusy: boolean;
  take(what: ChosenPackage | null): void;
}

/** A button that opens the file dialog of a hidden file input. */
function Choose({ label, icon, isFolder, isBusy, take }: ChooseProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={label}
        {...(isFolder ? { webkitdirectory: true } : { accept: ".zip,application/zip" })}
        onChange={({ currentTarget }) => {
          const files = [...(currentTarget.files ?? [])];
          // Cleared, so that choosing the same file again fires an event.
          currentTarget.value = "";
          take(packageFromFiles(files));
        }}
      />
      <Button label={label} icon={icon} busy={isBusy} onPress={() => input.current?.click()} />
    </>
  );
}

/** Every set with developer mode. */
function developerSets(): Entry[] {
  return entries.value.filter(({ device }) => device.value.capabilities.includes("dev"));
}

/** Checkboxes for other target sets, and buttons that choose all sets with a label. */
function Targets({ entry, others }: { readonly entry: Entry; readonly others: Signal<ReadonlySet<string>> }) {
  const sets = developerSets().filter((one) => one !== entry);
  if (sets.length === 0) return null;
  const labels = [...new Set(sets.flatMap(({ device }) => device.value.labels ?? []))].sort();
  const toggle = (ids: readonly string[], isIn: boolean) => {
    const now = new Set(others.value);
    for (const id of ids) {
      if (isIn) now.add(id);
      else now.delete(id);
    }
    others.value = now;
  };
  return (
    <fieldset class="dev-targets">
      <legend>Also send to</legend>
      {sets.map(({ id, device }) => (
        <label key={id}>
          <input
            type="checkbox"
            checked={others.value.has(id)}
            onChange={({ currentTarget }) => toggle([id], currentTarget.checked)}
          />
          {device.value.name}
        </label>
      ))}
      {labels.map((label) => {
        const ids = sets.filter(({ device }) => device.value.labels?.includes(label)).map(({ id }) => id);
        const isIn = ids.every((id) => others.value.has(id));
        return (
          <Button
            key={label}
            label={`All with label ${label}`}
            icon="tag"
            kind="quiet"
            pressed={isIn}
            onPress={() => toggle(ids, !isIn)}
          />
        );
      })}
    </fieldset>
  );
}

function DeepLinkField({ text, problem }: { readonly text: Signal<string>; readonly problem: string | null }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>Parameters of a deep link</label>
      <textarea
        id={id}
        rows={3}
        spellcheck={false}
        autocapitalize="off"
        placeholder={"content_id=80057281\nmedia_type=series"}
        aria-describedby={`${id}-note`}
        aria-invalid={problem === null ? undefined : "true"}
        value={text.value}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value;
        }}
      />
      <p class={problem === null ? "note" : "problem"} id={`${id}-note`}>
        {problem ?? "One name=value on each line. They are used when a package is sent and when it is reloaded."}
      </p>
    </div>
  );
}

/** The result for one set. */
function Outcome({
  delivery,
  upload,
  isOne,
}: {
  readonly delivery: Delivery;
  readonly upload: PackageUpload;
  readonly isOne: boolean;
}) {
  const { entry, step, failure, installed } = delivery;
  const { name } = entry.device.value;
  const { value: now } = installed;
  return (
    <li class={`dev-delivery is-${step.value}`}>
      {step.value === "waiting" && <Line icon="clock" text={`${name} is waiting for its turn`} />}
      {step.value === "sending" && <UnderWay delivery={delivery} />}
      {step.value === "done" && now && (
        <Line icon="check" text={`${now.name} ${now.version} runs on ${name}`}>
          {sizeOf(now.bytes)}, {countOf(now.files, "file")}
        </Line>
      )}
      {failure.value && (
        <FailedDelivery
          name={name}
          failure={failure.value}
          isOne={isOne}
          again={(password) => deliverTo(delivery, upload, password)}
        />
      )}
    </li>
  );
}

interface LineProps {
  readonly icon: IconName;
  readonly text: string;
  readonly children?: ComponentChildren;
}

function Line({ icon, text, children }: LineProps) {
  return (
    <p class="dev-line" role="status">
      <Icon name={icon} size={18} />
      <span>
        {text} {children && <span class="muted">{children}</span>}
      </span>
    </p>
  );
}

const phaseWords = {
  receiving: "zapd receives it",
  checking: "zapd checks it",
  sending: "the device receives it",
  done: "it starts",
} as const;

function UnderWay({ delivery }: { readonly delivery: Delivery }) {
  const { name } = delivery.entry.device.value;
  const { value: progress } = delivery.progress;
  const part =
    progress === null || !progress.total || progress.phase === "checking"
      ? null
      : Math.min(1, progress.bytes / progress.total);
  // While the set compiles it reports no progress.
  const isInstalling = progress?.phase === "sending" && part === 1;
  const phase = isInstalling ? "the device installs it" : progress === null ? "sending" : phaseWords[progress.phase];
  return (
    <div class="dev-under-way">
      <p role="status">
        {name}: {phase} …
      </p>
      <progress aria-label={`Sending to ${name}`} {...(part === null || isInstalling ? {} : { value: part })} />
      <p class="muted">
        {progress?.total && !isInstalling ? `${sizeOf(progress.bytes)} of ${sizeOf(progress.total)}` : "\u00a0"}
      </p>
    </div>
  );
}

/** `812 bytes`, `14.2 kB`, `3.1 MB`. */
function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

interface RefusedProps {
  readonly name: string;
  readonly failure: Failure;
  readonly isOne: boolean;
  again(password?: string): Promise<void>;
}

/** Why a set refused the package, with the errors in it, a retry, or a field for the missing password. */
function FailedDelivery({ name, failure, isOne, again }: RefusedProps) {
  const wantsPassword = failure.code === "dev_password_missing" || failure.code === "dev_auth_failed";
  const problems = failure.problems ?? [];
  if (problems.length === 0)
    return (
      <>
        <Refusal failure={failure} />
        {wantsPassword ? (
          <Password name={name} again={again} />
        ) : (
          !isOne && <Button label={`Send to ${name} again`} icon="send" kind="quiet" onPress={() => void again()} />
        )}
      </>
    );
  const placed = problems.filter(({ file }) => file !== null);
  return (
    <div class="dev-errors" role="alert">
      <p>
        <Icon name="circle-alert" size={18} />
        <strong>{`${name} ${placed.length > 0 ? "could not compile" : "refused"} the package`}</strong>
      </p>
      <ol>
        {(placed.length > 0 ? placed : problems).map(({ file, line, text }) => (
          <li key={`${file}:${line}:${text}`}>
            {file !== null && (
              <code>
                {file}
                {line !== null && (
                  <span class="dev-at">
                    <span class="muted">line</span> {line}
                  </span>
                )}
              </code>
            )}
            <span>{text}</span>
          </li>
        ))}
      </ol>
      {failure.hint && <p class="muted">{failure.hint}</p>}
    </div>
  );
}

/** A form for the developer password of one set. The page does not keep it. */
function Password({ name, again }: { readonly name: string; again(password: string): Promise<void> }) {
  const password = useSignal("");
  return (
    <form
      class="dev-password"
      onSubmit={(event) => {
        event.preventDefault();
        const { value } = password;
        if (value === "") return;
        password.value = "";
        void again(value);
      }}
    >
      <Field
        label={`Developer password of ${name}`}
        type="password"
        note="The password that was chosen on the device. zapd saves it for this device once it was accepted"
        text={password}
        maxLength={256}
      />
      <Button label="Send with this password" icon="key-round" kind="primary" submits />
    </form>
  );
}
