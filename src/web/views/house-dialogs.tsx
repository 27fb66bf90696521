/** The dialogs of the house: add, rename, labels, forget. A failure is shown in the form. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { call } from "../calls.ts";
import { focusTitle } from "../route.ts";
import { type Entry, entries, updateDevice } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import type { IconName } from "../ui/icon.tsx";
import { Refusal } from "../ui/refusal.tsx";
import { announce } from "../ui/status.tsx";
import { useTask } from "../ui/task.ts";

export type OpenDialog =
  | { readonly what: DialogName; readonly entry: Entry }
  | { readonly what: "add"; readonly entry: null };

interface DialogProps {
  readonly entry: Entry;
  close(): void;
}

interface FormProps {
  readonly action: string;
  readonly icon: IconName;
  readonly isDanger?: boolean;
  /** The label of the button while the request is under way. */
  readonly busyLabel: string;
  /** The request; if it throws, the form shows the failure and stays open. */
  submit(): Promise<void>;
  /** Why the form cannot be submitted yet. */
  readonly withheld?: string | undefined;
  close?: () => void;
  readonly children?: ComponentChildren;
}

/** A form that shows why its request failed. */
function Form({ action, icon, isDanger, busyLabel, submit, withheld, close, children }: FormProps) {
  const { isBusy, failure, run } = useTask(submit);
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy.value && withheld === undefined) run();
      }}
    >
      {children}
      {failure.value && <Refusal failure={failure.value} />}
      <div class="actions">
        {close && <Button label="Cancel" onPress={close} />}
        <Button
          label={isBusy.value ? busyLabel : action}
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

/** `close` closes the dialog around the form; without a dialog there is none. */
export function AddForm({ close }: { readonly close?: () => void }) {
  const host = useSignal("");
  const name = useSignal("");
  const submit = async () => {
    const given = name.value.trim();
    const known = entries.peek();
    const device = await call("addDevice", { body: { host: host.value, ...(given !== "" && { name: given }) } });
    updateDevice(device);
    announce(`${device.name} was ${known.some(({ id }) => id === device.id) ? "already known" : "added"}`);
    close?.();
  };
  return (
    <Form
      action="Add"
      icon="plus"
      busyLabel="Looking for a device there …"
      submit={submit}
      withheld={host.value.trim() === "" ? "Enter its address" : undefined}
      {...(close && { close })}
    >
      <Field
        label="Address"
        placeholder="192.168.1.40"
        note="You find it in the TV's network settings. The TV must be on"
        text={host}
        focused={close !== undefined}
      />
      {close && <Field label="Name" placeholder="The TV's own name" text={name} maxLength={128} />}
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

function Rename({ entry, close }: DialogProps) {
  const name = useSignal(entry.device.peek().name);
  const submit = async () => {
    updateDevice(await call("changeDevice", { id: entry.id, body: { name: name.value } }));
    close();
  };
  return (
    <Dialog title={`Rename ${entry.device.peek().name}`} onClose={close}>
      <Form action="Rename" icon="check" busyLabel="Renaming …" submit={submit} close={close}>
        <Field label="Name" text={name} maxLength={128} focused />
      </Form>
    </Dialog>
  );
}

function Labels({ entry, close }: DialogProps) {
  const text = useSignal((entry.device.peek().labels ?? []).join(", "));
  const submit = async () => {
    const labels = [...new Set(text.value.toLowerCase().match(/[^\s,]+/g))];
    updateDevice(await call("changeDevice", { id: entry.id, body: { labels } }));
    close();
  };
  return (
    <Dialog title={`Labels of ${entry.device.value.name}`} onClose={close}>
      <Form action="Save" icon="check" busyLabel="Saving …" submit={submit} close={close}>
        <Field
          label="Labels"
          placeholder="downstairs, lab"
          note="Separate them with commas; use a to z, 0 to 9 and . _ = -. A label stands for all devices that have it: zapd off -d label:lab"
          text={text}
          focused
        />
      </Form>
    </Dialog>
  );
}

function Forget({ entry, close }: DialogProps) {
  const { name } = entry.device.value;
  const submit = async () => {
    await call("removeDevice", { id: entry.id });
    close();
    // The menu that gets the focus back goes with its device.
    requestAnimationFrame(focusTitle);
    announce(`${name} was forgotten`);
  };
  return (
    <Dialog title={`Forget ${name}?`} onClose={close}>
      <Form action="Forget" icon="trash-2" isDanger busyLabel="Forgetting …" submit={submit} close={close}>
        <p class="muted">
          This removes its name, its labels and its pairing. If the TV is on, the next search finds it again, as a new
          device.
        </p>
      </Form>
    </Dialog>
  );
}

/** The dialogs of the menu of a device. */
export const dialogs = { rename: Rename, labels: Labels, forget: Forget } as const;
export type DialogName = keyof typeof dialogs;
