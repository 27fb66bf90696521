/** What the house asks: an address, a name, labels, whether to forget. What is wrong is said where it was typed. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { call, type Failure, failureOf } from "../calls.ts";
import { type Entry, put } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import type { IconName } from "../ui/icon.tsx";
import { Refusal } from "../ui/refusal.tsx";
import { say } from "../ui/status.tsx";

/** What was picked from the menu of a device. */
export type Question = "rename" | "labels" | "forget";
export type Asked = { readonly what: Question; readonly entry: Entry } | { readonly what: "add"; readonly entry: null };

interface About {
  readonly entry: Entry;
  close(): void;
}

interface FormProps {
  readonly action: string;
  readonly icon: IconName;
  readonly isDanger?: boolean;
  readonly doing: string;
  /** What it does; a failure is shown, and the form stays. */
  submit(): Promise<void>;
  /** Why it cannot be done yet. */
  readonly withheld?: string | undefined;
  close?: () => void;
  readonly children?: ComponentChildren;
}

/** A form that says why it failed. */
function Form({ action, icon, isDanger, doing, submit, withheld, close, children }: FormProps) {
  const failure = useSignal<Failure | null>(null);
  const isBusy = useSignal(false);
  const send = async () => {
    isBusy.value = true;
    failure.value = null;
    try {
      await submit();
    } catch (error) {
      failure.value = failureOf(error);
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy.value && withheld === undefined) void send();
      }}
    >
      {children}
      {failure.value && <Refusal failure={failure.value} />}
      <div class="actions">
        {close && <Button label="Cancel" onPress={close} />}
        <Button
          label={isBusy.value ? doing : action}
          icon={icon}
          kind={isDanger ? "danger" : "primary"}
          submits
          withheld={withheld}
          busy={isBusy.value}
        />
      </div>
    </form>
  );
}

/** `close`: of the dialog that it is in. */
export function AddForm({ close }: { readonly close?: () => void }) {
  const host = useSignal("");
  const name = useSignal("");
  const submit = async () => {
    const given = name.value.trim();
    const device = await call("addDevice", { body: { host: host.value, ...(given !== "" && { name: given }) } });
    put(device);
    say(`${device.name} is here`);
    close?.();
  };
  return (
    <Form
      action="Add"
      icon="plus"
      doing="Asking who lives there …"
      submit={submit}
      withheld={host.value.trim() === "" ? "Type its address" : undefined}
      {...(close && { close })}
    >
      <Field
        label="Address"
        placeholder="192.168.1.40"
        note="As the set's network settings show it; the set must be on"
        text={host}
        focused={close !== undefined}
      />
      {close && <Field label="Name" placeholder="What the set calls itself" text={name} maxLength={128} />}
    </Form>
  );
}

export function Add({ close }: { close(): void }) {
  return (
    <Dialog title="Add by address" onClose={close}>
      <AddForm close={close} />
    </Dialog>
  );
}

export function Rename({ entry, close }: About) {
  const name = useSignal(entry.device.peek().name);
  const submit = async () => {
    put(await call("changeDevice", { id: entry.id, body: { name: name.value } }));
    close();
  };
  return (
    <Dialog title={`Rename ${entry.device.peek().name}`} onClose={close}>
      <Form action="Rename" icon="check" doing="Renaming …" submit={submit} close={close}>
        <Field label="Name" text={name} maxLength={128} focused />
      </Form>
    </Dialog>
  );
}

export function Labels({ entry, close }: About) {
  const text = useSignal((entry.device.peek().labels ?? []).join(", "));
  const submit = async () => {
    const labels = [
      ...new Set(
        text.value
          .toLowerCase()
          .split(/[\s,]+/)
          .filter(Boolean),
      ),
    ];
    put(await call("changeDevice", { id: entry.id, body: { labels } }));
    close();
  };
  return (
    <Dialog title={`Labels of ${entry.device.value.name}`} onClose={close}>
      <Form action="Save" icon="check" doing="Saving …" submit={submit} close={close}>
        <Field
          label="Labels"
          placeholder="downstairs, lab"
          note="Words of a to z, 0 to 9 and . _ = - between commas. A label means all devices that have it, as in: zapd off -d label:lab"
          text={text}
          focused
        />
      </Form>
    </Dialog>
  );
}

export function Forget({ entry, close }: About) {
  const { name } = entry.device.value;
  const submit = async () => {
    await call("removeDevice", { id: entry.id });
    close();
    say(`${name} is forgotten`);
  };
  return (
    <Dialog title={`Forget ${name}?`} onClose={close}>
      <Form action="Forget" icon="trash-2" isDanger doing="Forgetting …" submit={submit} close={close}>
        <p class="muted">
          Its name, its labels and what it gave zapd to be let in are gone then. A set that is on and is looked for
          comes back as one that was never here.
        </p>
      </Form>
    </Dialog>
  );
}
