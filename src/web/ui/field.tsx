import { useEffect, useId, useRef } from "preact/hooks";

interface FieldProps {
  readonly label: string;
  readonly value: string;
  onChange(value: string): void;
  /** What is wrong with it; read out. */
  readonly problem?: string | null;
  /** What it is for, below it. */
  readonly note?: string;
  readonly type?: "text" | "password" | "search" | "number";
  readonly placeholder?: string;
  /** The label is for those who cannot see the placeholder. */
  readonly labelHidden?: boolean;
  /** Takes the focus when it appears. */
  readonly focused?: boolean;
  readonly inputMode?: "text" | "numeric" | "decimal" | "search";
  readonly autocomplete?: string;
  readonly maxLength?: number;
}

/** A field for a line of text, with its label, its note and what is wrong with it. */
export function Field({
  label,
  value,
  onChange,
  problem,
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
  const about = [note && `${id}-note`, problem && `${id}-problem`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id} class={labelHidden ? "hidden" : ""}>
        {label}
      </label>
      <input
        ref={input}
        id={id}
        // The types of some attributes hang on which of them it is, which a union cannot follow.
        type={type as "text"}
        value={value}
        autocomplete={autocomplete}
        autocapitalize="off"
        spellcheck={false}
        aria-invalid={problem ? "true" : undefined}
        aria-describedby={about === "" ? undefined : about}
        onInput={(event) => onChange(event.currentTarget.value)}
        {...more}
      />
      {note && (
        <p class="note" id={`${id}-note`}>
          {note}
        </p>
      )}
      {problem && (
        <p class="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </div>
  );
}
