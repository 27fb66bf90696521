/** One setting: what it is, its value, and what was wrong with the one that was typed. */
import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { failureOf } from "../calls.ts";
import { Button } from "../ui/button.tsx";
import { type Described, textOf, typed, type Value } from "./settings-words.ts";

interface SettingFieldProps {
  readonly setting: Described;
  readonly value: Value;
  /** Changes it; `null` is back to the default. */
  change(value: Value | null): Promise<void>;
}

export function SettingField({ setting, value, change }: SettingFieldProps) {
  const id = useId();
  const problem = useSignal<string | null>(null);
  /** Nothing is typed into a secret at first: what it reads as is not it. */
  const shown = setting.kind === "secret" ? "" : textOf(value);
  const draft = useSignal(shown);
  const isSaving = useSignal(false);
  useEffect(() => {
    draft.value = shown;
    problem.value = null;
  }, [shown]);
  const save = async (wanted: Value | null) => {
    isSaving.value = true;
    problem.value = null;
    try {
      await change(wanted);
      if (setting.kind === "secret") draft.value = "";
    } catch (error) {
      const failure = failureOf(error);
      problem.value = failure && [failure.message, failure.hint].filter(Boolean).join(". ");
    } finally {
      isSaving.value = false;
    }
  };
  const saveDraft = () => {
    const wanted = typed(setting, draft.value);
    if (wanted === null) problem.value = `${setting.key} must be a whole number`;
    else void save(wanted);
  };
  const isChanged = draft.value !== shown;
  const isUsual = textOf(value) === textOf(setting.usual);
  const about = `${id}-about${problem.value ? ` ${id}-problem` : ""}`;
  const given = { id, "aria-describedby": about, "aria-invalid": problem.value ? ("true" as const) : undefined };
  return (
    <form
      class={`setting is-${setting.kind}`}
      onSubmit={(event) => {
        event.preventDefault();
        if (isChanged && !isSaving.value) saveDraft();
      }}
    >
      <div class="setting-about">
        <label for={id}>
          <code>{setting.key}</code>
        </label>
        <p id={`${id}-about`}>
          {setting.description.split("`").map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part))}
          {setting.least !== undefined && setting.most !== undefined && (
            <span class="muted">
              {" "}
              ({setting.least} to {setting.most})
            </span>
          )}
        </p>
      </div>
      <div class="setting-value field">
        {setting.kind === "toggle" ? (
          <input
            {...given}
            type="checkbox"
            role="switch"
            aria-checked={value === true}
            class="switch"
            checked={value === true}
            disabled={isSaving.value}
            onChange={(event) => {
              // It shows what holds: it moves once the daemon has said so.
              event.currentTarget.checked = value === true;
              void save(value !== true);
            }}
          />
        ) : setting.kind === "choice" ? (
          <select {...given} value={textOf(value)} onChange={(event) => void save(event.currentTarget.value)}>
            {setting.choices.map((choice) => (
              <option key={choice} value={choice}>
                {choice}
              </option>
            ))}
          </select>
        ) : (
          <input
            {...given}
            // The types of some attributes hang on which of them it is, which a union cannot follow.
            type={(setting.kind === "secret" ? "password" : "text") as "text"}
            inputMode={setting.kind === "number" ? "numeric" : "text"}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            placeholder={placeholderOf(setting, value)}
            value={draft.value}
            onInput={(event) => {
              draft.value = event.currentTarget.value;
            }}
            onKeyDown={(event) => {
              if (event.key === "Escape" && isChanged) draft.value = shown;
            }}
          />
        )}
        {isChanged && <Button label="Save" kind="primary" submits busy={isSaving.value} />}
        {!isChanged && !isUsual && (
          <Button
            label={setting.kind === "secret" ? `Forget ${setting.key}` : `${setting.key}: back to the default`}
            icon="undo-2"
            iconOnly
            kind="quiet"
            busy={isSaving.value}
            onPress={() => void save(null)}
          />
        )}
      </div>
      {problem.value && (
        <p class="setting-problem" id={`${id}-problem`} role="alert">
          {problem.value}
        </p>
      )}
    </form>
  );
}

function placeholderOf({ kind, usual }: Described, value: Value): string {
  if (kind === "secret") return value === "" ? "not set" : "set; type another";
  return textOf(usual) === "" ? "none" : textOf(usual);
}
