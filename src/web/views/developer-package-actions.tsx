/** Actions on the installed package: reload and remove. */
import { useSignal } from "@preact/signals";
import { call } from "../calls.ts";
import { command, type Entry } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { announce } from "../ui/status.tsx";
import { useTask } from "../ui/task.ts";
import { paramsIn } from "./developer-delivery.ts";

/** `text`: the deep-link parameters as typed. */
export function Reload({ entry, text }: { readonly entry: Entry; readonly text: string }) {
  const { params, problem } = paramsIn(text);
  const { isBusy, run } = useTask(async () => {
    const body = Object.keys(params).length > 0 ? { params } : {};
    const result = await command(entry, "restarting it", () => call("reloadPackage", { id: entry.id, body }));
    if (result) announce(`${result.app.name} was restarted`);
  });
  return <Button label="Reload" icon="rotate-cw" busy={isBusy.value} withheld={problem ?? undefined} onPress={run} />;
}

export function Remove({ entry }: { readonly entry: Entry }) {
  const isAsking = useSignal(false);
  const { name } = entry.device.value;
  const close = () => {
    isAsking.value = false;
  };
  const remove = async () => {
    close();
    const result = await command(entry, "removing the package", () => call("removePackage", { id: entry.id }));
    if (result) announce(`The package was removed from ${name}`);
  };
  return (
    <>
      <Button
        label="Remove the package"
        icon="trash-2"
        kind="danger"
        onPress={() => {
          isAsking.value = true;
        }}
      />
      {isAsking.value && (
        <Dialog title={`Remove the package from ${name}?`} onClose={close}>
          <p class="muted">
            Data that it stored on the device is removed too. You can send the package again at any time.
          </p>
          <div class="actions">
            <Button label="Cancel" onPress={close} />
            <Button label="Remove" icon="trash-2" kind="danger" onPress={() => void remove()} />
          </div>
        </Dialog>
      )}
    </>
  );
}
