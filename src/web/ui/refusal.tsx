import type { Failure } from "../calls.ts";
import type { Entry } from "../store.ts";
import { here } from "../words.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

/** What the daemon said when something failed, word for word but for its times, with the setting or the command that mends it. It stays until it is put away. */
export function Refusal({ failure, onClose }: { readonly failure: Failure; readonly onClose?: () => void }) {
  return (
    <div class="refusal" role="status">
      <Icon name="circle-alert" size={18} />
      <p>
        {failure.message}
        {failure.hint && <span class="hint">{here(failure.hint)}</span>}
      </p>
      {onClose && <Button label="Put away" icon="x" iconOnly kind="quiet" onPress={onClose} />}
    </div>
  );
}

/** Why the last thing that this page asked of a device failed; nothing once something has worked. */
export function LastRefusal({ entry: { refusal } }: { readonly entry: Entry }) {
  const { value: failure } = refusal;
  if (failure === null) return null;
  return (
    <Refusal
      failure={failure}
      onClose={() => {
        refusal.value = null;
      }}
    />
  );
}
