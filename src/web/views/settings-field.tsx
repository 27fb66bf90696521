/** One setting: its description, its value, and the error of the last change. */
import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { Button } from "../ui/button.tsx";
import { useTask } from "../ui/task.ts";
import { parseDraft, type Setting, textOf, type Value } from "./settings-words.ts";

interface SettingFieldProps {
  readonly setting: Setting;
  readonly value: Value;
  /** Changes the setting; `null` resets it to the default. */
  change(value: Value | null): Promise<void>;
}

export function SettingField({ setting, value, change }: SettingFieldProps) {
  const id = useId();
  /** The field of a secret starts empty, because the API returns only a placeholder. */
  const shown = setting.kind === "secret" ? "" : textOf(value);
  /** What was typed and is not saved; `null` for nothing. */
  const draft = useSignal<string | null>(null);
  const {
    isBusy: isSaving,
    failure,
    run: save,
  } = useTask(async (wanted: Value | null) => {
    // After a finger the focus would open the keyboard of the screen.
    const isByKey = document.activeElement?.matches("button:focus-visible");
    await change(wanted);
    // Not left to the value: it may be the same, written otherwise.
    draft.value = null;
    if (!isByKey) return;
    requestAnimationFrame(() => {
      // The button that was pressed goes.
      if (document.activeElement === document.body) document.getElementById(id)?.focus();
    });
  });
  useEffect(() => {
    draft.value = null;
    failure.value = null;
  }, [shown]);
  const saveDraft = (text: string) => {
    const wanted = parseDraft(setting, text);
    const message = `${setting.key} must be a whole number`;
    if (wanted === null) failure.value = { code: "config_invalid", message, hint: null, reason: null };
    else save(wanted);
  };
  const edit = (text: string) => {
    draft.value = text === shown ? null : text;
    // What was wrong with another value.
    if (text === shown) failure.value = null;
  };
  const isChanged = draft.value !== null;
  const isDefault = textOf(value) === textOf(setting.defaultValue);
  const problem = failure.value && [failure.value.message, failure.value.hint].filter(Boolean).join(". ");
  const about = `${id}-about${problem ? ` ${id}-problem` : ""}`;
  const attributes = { id, "aria-describedby": about, "aria-invalid": problem ? ("true" as const) : undefined };
  return (
    <form
      class={`setting is-${setting.kind}`}
      onSubmit={(event) => {
        event.preventDefault();
        if (draft.value !== null && !isSaving.value) saveDraft(draft.value);
      }}
    >
      <div class="setting-about">
        <label for={id}>
          <code>{setting.key}</code>
        </label>
        <p id={`${id}-about`}>
          {setting.description.split("`").map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part))}
          {setting.minimum !== undefined && setting.maximum !== undefined && (
            <span class="muted">
              {" "}
              ({setting.minimum} to {setting.maximum})
            </span>
          )}
        </p>
      </div>
      <div class="setting-value field">
        {setting.kind === "toggle" ? (
          <input
            {...attributes}
            type="checkbox"
            role="switch"
            aria-checked={value === true}
            class="switch"
            checked={value === true}
            onChange={(event) => {
              // The switch moves only once the daemon has confirmed the change.
              event.currentTarget.checked = value === true;
              if (!isSaving.value) save(value !== true);
            }}
          />
        ) : setting.kind === "choice" ? (
          <select {...attributes} value={textOf(value)} onChange={(event) => save(event.currentTarget.value)}>
            {setting.choices.map((choice) => (
              <option key={choice} value={choice}>
                {choice}
              </option>
            ))}
          </select>
        ) : (
          <input
            {...attributes}
            // The types of other attributes depend on this one, and TypeScript cannot follow a union here.
            type={(setting.kind === "secret" ? "password" : "text") as "text"}
            inputMode={setting.kind === "number" ? "numeric" : "text"}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            placeholder={placeholderOf(setting, value)}
            value={draft.value ?? shown}
            onInput={(event) => edit(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Escape" && isChanged) edit(shown);
            }}
          />
        )}
        {isChanged && <Button label="Save" kind="primary" submits busy={isSaving.value} />}
        {!isChanged && !isDefault && (
          <Button
            label={setting.kind === "secret" ? `Remove ${setting.key}` : `Reset ${setting.key} to its default`}
            icon="undo-2"
            iconOnly
            kind="quiet"
            busy={isSaving.value}
            onPress={() => save(null)}
          />
        )}
      </div>
      {problem && (
        <p class="setting-problem" id={`${id}-problem`} role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}

function placeholderOf({ kind, defaultValue }: Setting, value: Value): string {
  if (kind === "secret") return value === "" ? "not set" : "set; type a new one";
  return textOf(defaultValue) || "none";
}
