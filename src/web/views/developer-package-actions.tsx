/** What is done with the package that a set has: started anew, removed. */
import { useSignal } from "@preact/signals";
import { call } from "../calls.ts";
import { attempt, type Entry } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { say } from "../ui/status.tsx";
import { paramsIn } from "./developer-words.ts";

/** `text`: parameters of a deep link, as they are typed. */
export function Reload({ entry, text }: { readonly entry: Entry; readonly text: string }) {
  const { params, problem } = paramsIn(text);
  const isBusy = useSignal(false);
  const reload = async () => {
    isBusy.value = true;
    const body = Object.keys(params).length > 0 ? { params } : {};
    const done = await attempt(entry, "starting it anew", () => call("reloadPackage", { id: entry.id, body }));
    isBusy.value = false;
    if (done) say(`${done.app.name} was started anew`);
  };
  return (
    <Button
      label="Reload"
      icon="rotate-cw"
      busy={isBusy.value}
      withheld={problem ?? undefined}
      onPress={() => void reload()}
    />
  );
}

export function Remove({ entry }: { readonly entry: Entry }) {
  const isAsking = useSignal(false);
  const { name } = entry.device.value;
  const close = () => {
    isAsking.value = false;
  };
  const remove = async () => {
    close();
    const done = await attempt(entry, "removing the package", () => call("removePackage", { id: entry.id }));
    if (done) say(`The package is gone from ${name}`);
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
          <p class="muted">What it has kept on the set goes with it. It can be sent again at any time.</p>
          <div class="actions">
            <Button label="Cancel" onPress={close} />
            <Button label="Remove" icon="trash-2" kind="danger" onPress={() => void remove()} />
          </div>
        </Dialog>
      )}
    </>
  );
}
