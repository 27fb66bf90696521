import type { Signal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";

interface FieldProps {
  readonly label: string;
  /** The value, written with each input. */
  readonly text: Signal<string>;
  /** Turns the input into the value. */
  clean?(typed: string): string;
  /** A line of help below the field. */
  readonly note?: string;
  readonly type?: "text" | "password" | "search";
  readonly placeholder?: string;
  /** Shows the label to screen readers only. */
  readonly labelHidden?: boolean;
  /** Takes the focus when it is rendered first. */
  readonly focused?: boolean;
  readonly inputMode?: "text" | "numeric";
  readonly autocomplete?: string;
  readonly maxLength?: number;
}

/**
 * Whether an input method takes the key itself. In Safari the key that ends a composition comes after its end, and only
 * `keyCode` tells (WebKit bug 165004).
 */
export const isComposing = ({ isComposing, keyCode }: KeyboardEvent): boolean => isComposing || keyCode === 229;

/** A text field with a label and a note. */
export function Field({
  label,
  text,
  clean = String,
  note,
  type = "text",
  labelHidden,
  focused,
  autocomplete = "off",
  ...more
}: FieldProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (focused) input.current?.focus();
  }, []);
  return (
    <div class="field">
      <label for={id} class={labelHidden ? "hidden" : ""}>
        {label}
      </label>
      <input
        ref={input}
        id={id}
        // `autofocus` sets the focus while a dialog opens, so that early key presses cannot reach a button.
        autofocus={focused}
        // The types of other attributes depend on this one, and TypeScript cannot follow a union here.
        type={type as "text"}
        value={text.value}
        autocomplete={autocomplete}
        autocapitalize="off"
        spellcheck={false}
        aria-describedby={note && `${id}-note`}
        onInput={(event) => {
          text.value = clean(event.currentTarget.value);
          // If `clean` leaves the value as it was nothing renders, and the raw input would stay.
          if (event.currentTarget.value !== text.value) event.currentTarget.value = text.value;
        }}
        {...more}
      />
      {note && (
        <p class="note" id={`${id}-note`}>
          {note}
        </p>
      )}
    </div>
  );
}
