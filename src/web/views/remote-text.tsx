/** Typing into the text field on the device: a whole line, or each keystroke at once. */
import { type Signal, useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { pressLimits } from "../../api/limits.ts";
import { Typing, typeText } from "../holding.ts";
import type { Entry } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { isComposing } from "../ui/field.tsx";
import { countOf, withheldHint } from "../words.ts";
import { Withheld } from "./remote-keys.tsx";

/** The limit of the API. */
const maxCharacters = pressLimits.characters;

export function Text({ entry }: { readonly entry: Entry }) {
  const device = entry.device.value;
  const why = withheldHint(device, "text");
  const text = useSignal("");
  const isSecret = useSignal(false);
  const isDirect = useSignal(false);
  const isBusy = useSignal(false);
  const typing = useRef<Typing | null>(null);
  typing.current ??= new Typing(entry);
  const isNameless = useRef(false);
  const id = useId();
  if (why === undefined && !device.capabilities.includes("text")) return null;
  const send = async () => {
    const { value: sent } = text;
    if (sent === "") return;
    isBusy.value = true;
    // A text that the device refused stays in the field for another try, and so does what was written meanwhile.
    if ((await typeText(entry, sent)) && text.value.startsWith(sent)) text.value = text.value.slice(sent.length);
    isBusy.value = false;
  };
  const direct = (event: KeyboardEvent) => {
    // Phone keyboards report no key names and compose everything; their input is sent as it arrives.
    isNameless.current = event.key === "Unidentified";
    if (isComposing(event)) return;
    if (event.key === "Enter") {
      if (!event.repeat) typing.current?.type("\n");
    } else if ([...event.key].length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey)
      typing.current?.type(event.key);
    else return;
    event.preventDefault();
  };
  const goAtOnce = (field: HTMLInputElement) => {
    typing.current?.type(field.value);
    field.value = "";
  };
  const choice = (chosen: Signal<boolean>, label: string) => (
    <label>
      <input
        type="checkbox"
        checked={chosen.value}
        onChange={(event) => {
          chosen.value = event.currentTarget.checked;
          text.value = "";
        }}
      />
      {label}
    </label>
  );
  return (
    <form
      class="remote-text field"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy.value && why === undefined) void send();
      }}
    >
      <label for={id}>Type</label>
      <div class="remote-text-line">
        <input
          id={id}
          // The types of other attributes depend on this one, and TypeScript cannot follow a union here.
          type={(isSecret.value ? "password" : "text") as "text"}
          maxLength={maxCharacters}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          readOnly={why !== undefined}
          title={why}
          placeholder={isDirect.value ? "each key is sent at once" : "for the text field on its screen"}
          value={text.value}
          onKeyDown={(event) => isDirect.value && why === undefined && direct(event)}
          onInput={(event) => {
            const { value } = event.currentTarget;
            if (!isDirect.value) text.value = value;
            // Text of an input method is not final until the composition ends.
            else if (!event.isComposing || isNameless.current) goAtOnce(event.currentTarget);
          }}
          onCompositionEnd={(event) => isDirect.value && goAtOnce(event.currentTarget)}
        />
        {!isDirect.value && <Button label="Send" icon="send" submits busy={isBusy.value} withheld={why} />}
      </div>
      {why === undefined ? (
        <div class="remote-text-how">
          {choice(isDirect, "send each keystroke at once")}
          {choice(isSecret, "hide it (password)")}
          {text.value !== "" && (
            <span class="muted">
              {countOf([...text.value].length, "character")}
              {text.value.length >= maxCharacters && ", the most that can be sent at once"}
            </span>
          )}
        </div>
      ) : (
        <Withheld device={device} why={why} />
      )}
    </form>
  );
}
