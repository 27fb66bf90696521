/** Sending a package: what is dropped or chosen, to which sets, with what it is started, and what became of it at each. */
import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { type Failure, failureOf } from "../calls.ts";
import { type Entry, entries } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Refusal } from "../ui/refusal.tsx";
import { say } from "../ui/status.tsx";
import { counted } from "../words.ts";
import { type Delivery, deliver, deliverTo, deliveryTo, type Parcel } from "./developer-delivery.ts";
import { type Chosen, chosenIn, droppedIn, PackageError } from "./developer-package.ts";
import { paramsIn, sizeOf } from "./developer-words.ts";

/** A package that was read, as it was sent last. */
interface Sent {
  readonly parcel: Parcel;
  readonly deliveries: readonly Delivery[];
}

interface SendProps {
  readonly entry: Entry;
  /** Parameters of a deep link, as they are typed. */
  readonly params: Signal<string>;
}

export function Send({ entry, params }: SendProps) {
  const chosen = useSignal<Chosen | null>(null);
  const sent = useSignal<Sent | null>(null);
  /** What is done before anything is sent, in words. */
  const preparing = useSignal<string | null>(null);
  const problem = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const others = useSignal<ReadonlySet<string>>(new Set());
  const given = paramsIn(params.value);
  const howMany = Object.keys(given.params).length;
  const { value: last } = sent;

  const sendIt = async (what: Chosen) => {
    if (isBusy.peek()) return say("One is being sent already; send this one after it");
    isBusy.value = true;
    chosen.value = what;
    problem.value = given.problem;
    sent.value = null;
    try {
      if (given.problem !== null) return;
      preparing.value = `reading ${what.name}`;
      const archive = await what.read((files) => {
        preparing.value = `zipping ${what.name}, ${counted(files, "file")}`;
      });
      preparing.value = null;
      const targets = [entry, ...developerSets().filter((one) => one !== entry && others.peek().has(one.id))];
      const parcel = { archive, params: given.params };
      const deliveries = targets.map(deliveryTo);
      sent.value = { parcel, deliveries };
      await deliver(deliveries, parcel);
    } catch (error) {
      problem.value = error instanceof PackageError ? error.message : (failureOf(error)?.message ?? null);
    } finally {
      preparing.value = null;
      isBusy.value = false;
    }
  };
  const take = (what: Chosen | null) => {
    if (what) void sendIt(what);
  };
  return (
    <section class="dev-card dev-send" aria-labelledby="dev-send">
      <header>
        <h2 id="dev-send">Package</h2>
      </header>
      <Drop take={take} isBusy={isBusy.value} />
      <Targets entry={entry} others={others} />
      <details class="dev-params">
        <summary>Start it with {howMany === 0 ? "parameters" : counted(howMany, "parameter")}</summary>
        <Params text={params} problem={given.problem} />
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
        <ul class="dev-deliveries" aria-label="What became of it">
          {last.deliveries.map((delivery) => (
            <Outcome
              key={delivery.entry.id}
              delivery={delivery}
              parcel={last.parcel}
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

/** Where a package is dropped; the whole page takes it, so that none is opened by the browser instead. */
function Drop({ take, isBusy }: { take(what: Chosen | null): void; readonly isBusy: boolean }) {
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
      // From one element to the next it is told, too; what leaves the window goes to none.
      if (event.relatedTarget === null) isOver.value = false;
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event) || !event.dataTransfer) return;
      event.preventDefault();
      isOver.value = false;
      latest.current(droppedIn(event.dataTransfer));
    };
    addEventListener("dragleave", leave);
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragleave", leave);
      removeEventListener("dragover", over);
      removeEventListener("drop", drop);
    };
  }, []);
  return (
    <div class={`dev-drop${isOver.value ? " is-over" : ""}`}>
      <Icon name="upload" size={26} />
      <p>
        <strong>{isOver.value ? "Let go to send it" : "Drop a ZIP or a folder"}</strong>
        <span class="muted">It is sent at once, and starts when the set has it.</span>
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
  take(what: Chosen | null): void;
}

/** A button that opens the browser's own dialog; the field behind it is for no one else. */
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
          // The same one may be chosen once more.
          currentTarget.value = "";
          take(chosenIn(files));
        }}
      />
      <Button label={label} icon={icon} busy={isBusy} onPress={() => input.current?.click()} />
    </>
  );
}

/** Every set that takes packages. */
function developerSets(): Entry[] {
  return entries.value.filter(({ device }) => device.value.capabilities.includes("dev"));
}

/** The other sets that it may go to, one by one or by a label. */
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
      <legend>To other sets, too</legend>
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
            label={`All of ${label}`}
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

function Params({ text, problem }: { readonly text: Signal<string>; readonly problem: string | null }) {
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
        {problem ?? "One name=value on each line. They go with a package that is sent, and with a reload."}
      </p>
    </div>
  );
}

/** What became of a package at one set. */
function Outcome({
  delivery,
  parcel,
  isOne,
}: {
  readonly delivery: Delivery;
  readonly parcel: Parcel;
  readonly isOne: boolean;
}) {
  const { entry, step, failure, installed } = delivery;
  const { name } = entry.device.value;
  const { value: now } = installed;
  return (
    <li class={`dev-delivery is-${step.value === "under way" ? "under-way" : step.value}`}>
      {step.value === "waiting" && <Line icon="clock" text={`${name} waits for its turn`} />}
      {step.value === "under way" && <UnderWay delivery={delivery} />}
      {step.value === "done" && now && (
        <Line icon="check" text={`${now.name} ${now.version} runs on ${name}`}>
          {sizeOf(now.bytes)}, {counted(now.files, "file")}
        </Line>
      )}
      {failure.value && (
        <Refused
          name={name}
          failure={failure.value}
          isOne={isOne}
          again={(password) => deliverTo(delivery, parcel, password)}
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
  checking: "zapd looks into it",
  sending: "the set receives it",
  done: "it starts",
} as const;

function UnderWay({ delivery }: { readonly delivery: Delivery }) {
  const { name } = delivery.entry.device.value;
  const { value: told } = delivery.progress;
  const part = told === null || !told.total || told.phase === "checking" ? null : Math.min(1, told.bytes / told.total);
  // All of it is there: now the set compiles, and says nothing meanwhile.
  const isInstalling = told?.phase === "sending" && part === 1;
  const doing = isInstalling ? "the set installs it" : told === null ? "on its way" : phaseWords[told.phase];
  return (
    <div class="dev-under-way">
      <p role="status">
        {name}: {doing} …
      </p>
      <progress aria-label={`Sending to ${name}`} {...(part === null || isInstalling ? {} : { value: part })} />
      <p class="muted">{told?.total && !isInstalling ? `${sizeOf(told.bytes)} of ${sizeOf(told.total)}` : "\u00a0"}</p>
    </div>
  );
}

interface RefusedProps {
  readonly name: string;
  readonly failure: Failure;
  readonly isOne: boolean;
  again(password?: string): Promise<void>;
}

/** Why a set did not take it: where the package is wrong, or what is to be done; a password is asked for here. */
function Refused({ name, failure, isOne, again }: RefusedProps) {
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
                <span class="dev-at">
                  <span class="muted">line</span> {line}
                </span>
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

/** The password of one set. It goes into one request, and is kept nowhere in the page. */
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
        note="The one that was chosen on the set; zapd keeps it for this set once the set has accepted it"
        text={password}
        maxLength={256}
      />
      <Button label="Send with it" icon="key-round" kind="primary" submits />
    </form>
  );
}
