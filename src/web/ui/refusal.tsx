import type { Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Failure } from "../calls.ts";
import { withLocalTimes } from "../words.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

/** Failures that were read out: a row that is rendered again, as after a change of the view, does not repeat them. */
const readOut = new WeakSet<Failure>();

/** The message and hint of a failure, unchanged but for its times. It stays until it is closed. */
export function Refusal({ failure, onClose }: { readonly failure: Failure; readonly onClose?: () => void }) {
  const isNew = useMemo(() => !readOut.has(failure), [failure]);
  useEffect(() => void readOut.add(failure), [failure]);
  return (
    // A status that is rendered with its text would not be read out.
    <div class="refusal" role={isNew ? "alert" : "status"}>
      <Icon name="circle-alert" size={18} />
      <p>
        {failure.message}
        {failure.hint && <span class="hint">{withLocalTimes(failure.hint)}</span>}
      </p>
      {onClose && <Button label="Dismiss" icon="x" iconOnly kind="quiet" onPress={onClose} />}
    </div>
  );
}

/** Why the last request failed, until it is closed; nothing after one that succeeded. */
export function LastRefusal({ failure }: { readonly failure: Signal<Failure | null> }) {
  if (failure.value === null) return null;
  return (
    <Refusal
      failure={failure.value}
      onClose={() => {
        failure.value = null;
      }}
    />
  );
}
