/** Text for the field that the device shows: a line at once, or each keystroke as it is made. */
import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { Typing, typeText } from "../holding.ts";
import { type Entry, press } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { counted, withheldHint } from "../words.ts";

/** As long as the API takes it. */
const longest = 500;

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
    if (text.value === "") return;
    isBusy.value = true;
    // What was not taken stays, to be tried again; a password does not stay longer than it must.
    if (await typeText(entry, text.value)) text.value = "";
    isBusy.value = false;
  };
  const direct = (event: KeyboardEvent) => {
    // A phone's keyboard names no keys, and composes all that is typed: what came of them goes at once.
    isNameless.current = event.key === "Unidentified";
    if (event.isComposing) return;
    if (event.key === "Enter") void press(entry, "select", "pressing select");
    else if ([...event.key].length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey)
      typing.current?.type(event.key);
    else return;
    event.preventDefault();
  };
  const goAtOnce = (field: HTMLInputElement) => {
    typing.current?.type(field.value);
    field.value = "";
  };
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
          // The types of some attributes hang on which of them it is, which a union cannot follow.
          type={(isSecret.value ? "password" : "text") as "text"}
          maxLength={longest}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          readOnly={why !== undefined}
          title={why}
          placeholder={isDirect.value ? "each key goes to the set at once" : "for the field that it shows"}
          value={text.value}
          onKeyDown={(event) => isDirect.value && direct(event)}
          onInput={(event) => {
            const { value } = event.currentTarget;
            if (!isDirect.value) text.value = value;
            // What is still being composed, as where a letter takes several keys, becomes another text yet.
            else if (!event.isComposing || isNameless.current) goAtOnce(event.currentTarget);
          }}
          onCompositionEnd={(event) => isDirect.value && goAtOnce(event.currentTarget)}
        />
        {!isDirect.value && <Button label="Send" icon="send" submits busy={isBusy.value} withheld={why} />}
      </div>
      <div class="remote-text-how">
        <label>
          <input
            type="checkbox"
            checked={isDirect.value}
            onChange={(event) => {
              isDirect.value = event.currentTarget.checked;
              text.value = "";
            }}
          />
          each keystroke at once
        </label>
        <label>
          <input
            type="checkbox"
            checked={isSecret.value}
            onChange={(event) => {
              isSecret.value = event.currentTarget.checked;
              text.value = "";
            }}
          />
          a password
        </label>
        {text.value !== "" && (
          <span class="muted">
            {counted([...text.value].length, "character")}
            {text.value.length >= longest && ", as many as go at once"}
          </span>
        )}
      </div>
    </form>
  );
}
