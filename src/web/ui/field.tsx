import type { Signal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";

interface FieldProps {
  readonly label: string;
  /** What stands in it. */
  readonly text: Signal<string>;
  /** What is kept of what was typed. */
  clean?(typed: string): string;
  /** What it is for, below it. */
  readonly note?: string;
  readonly type?: "text" | "password" | "search";
  readonly placeholder?: string;
  /** The label is for those who cannot see the placeholder. */
  readonly labelHidden?: boolean;
  /** Takes the focus when it appears. */
  readonly focused?: boolean;
  readonly inputMode?: "text" | "numeric";
  readonly autocomplete?: string;
  readonly maxLength?: number;
}

/** A field for a line of text, with its label and its note. */
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
        // In a dialog it has the focus as that opens: what is typed at once must not reach a button.
        autofocus={focused}
        // The types of some attributes hang on which of them it is, which a union cannot follow.
        type={type as "text"}
        value={text.value}
        autocomplete={autocomplete}
        autocapitalize="off"
        spellcheck={false}
        aria-describedby={note && `${id}-note`}
        onInput={(event) => {
          text.value = clean(event.currentTarget.value);
          // Where what is kept is as before nothing is drawn, and what was typed would stay.
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
