/** The keyboard as a remote, while it is switched on and no text field has the focus. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { holdKey } from "../holding.ts";
import type { Entry } from "../store.ts";
import { Dialog } from "../ui/dialog.tsx";
import { onPageLeave } from "../ui/leaving.ts";
import { type Key, powerKey } from "../words.ts";
import { searchClass } from "./remote-lists.tsx";

/** Whether keyboard keys go to the device; kept while the page is open. */
export const isKeyboardOn = signal(true);

interface Shortcut {
  /** `KeyboardEvent.key` values. */
  readonly on: readonly string[];
  readonly shown: string;
  readonly does: string;
  /** Device keys; the first one that the device has is pressed. */
  readonly keys?: readonly Key[];
}

const shortcuts: readonly Shortcut[] = [
  { on: ["ArrowUp"], shown: "↑", does: "up", keys: ["up"] },
  { on: ["ArrowDown"], shown: "↓", does: "down", keys: ["down"] },
  { on: ["ArrowLeft"], shown: "←", does: "left", keys: ["left"] },
  { on: ["ArrowRight"], shown: "→", does: "right", keys: ["right"] },
  { on: ["Enter"], shown: "Enter", does: "OK", keys: ["select"] },
  { on: ["Backspace", "Escape"], shown: "Backspace, Esc", does: "back", keys: ["back"] },
  { on: [" "], shown: "Space", does: "play or pause", keys: ["play-pause", "play"] },
  { on: ["+", "="], shown: "+", does: "louder", keys: ["volume-up"] },
  { on: ["-"], shown: "-", does: "quieter", keys: ["volume-down"] },
  { on: ["m"], shown: "m", does: "mute", keys: ["mute"] },
  { on: ["h"], shown: "h", does: "home", keys: ["home"] },
  { on: ["o"], shown: "o", does: "options", keys: ["options"] },
  { on: ["i"], shown: "i", does: "info", keys: ["info"] },
  { on: ["p"], shown: "p", does: "turn it off or on (asks first)" },
  { on: ["/"], shown: "/", does: "search its apps" },
  { on: ["?"], shown: "?", does: "this list" },
];

interface Listening {
  readonly entry: Entry;
  askPower(): void;
  showList(): void;
}

/** Handles the keyboard while the remote is shown. */
export function useKeyboard({ entry, askPower, showList }: Listening): void {
  useEffect(() => {
    const held = new Map<string, () => void>();
    const releaseAll = () => {
      for (const up of held.values()) up();
      held.clear();
    };
    /** What a pointer went down on last, until the next key. */
    let pointed: EventTarget | null = null;
    const down = (event: KeyboardEvent) => {
      // macOS reports no release of other keys while this one is down.
      if (event.metaKey) releaseAll();
      if (!isKeyboardOn.value || event.ctrlKey || event.metaKey || event.altKey) return;
      // A select that was opened by a pointer and closed without a choice has the focus still. While it is open no key comes here.
      if (pointed instanceof HTMLSelectElement && pointed === event.target && event.key !== "Tab") {
        event.preventDefault();
        pointed.blur();
      }
      pointed = null;
      if (isHandledByFocus(event)) return;
      // Caps Lock may be on.
      const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      // A layout of other letters, as Greek, has Latin ones at the same places.
      const isForeign = /[^\p{ASCII}\p{Script=Latin}]/u.test(letter) && event.code.startsWith("Key");
      const name = isForeign ? event.code.slice(3).toLowerCase() : letter;
      const shortcut = shortcuts.find(({ on }) => on.includes(name));
      if (!shortcut) return;
      event.preventDefault();
      if (event.repeat) return;
      if (name === "?") return showList();
      if (name === "p") return askPower();
      if (name === "/") return document.querySelector<HTMLElement>(`.${searchClass}`)?.focus();
      const has = entry.device.peek().keys;
      const key = shortcut.keys?.find((one) => has.includes(one));
      if (key === undefined) return;
      held.get(event.code)?.();
      highlightKey(key, true);
      const up = holdKey(entry, key);
      held.set(event.code, () => {
        up();
        highlightKey(key, false);
      });
    };
    // A button pressed by mouse loses the focus, or Enter and Space would press it again; so does a slider, with all its keys.
    // Firefox before 129 does not say by what; a click by a key has no count.
    const click = ({ pointerType = "mouse", detail, target }: PointerEvent) => {
      if (!isKeyboardOn.value || pointerType !== "mouse" || detail === 0 || !(target instanceof Element)) return;
      if (target.closest("dialog")) return;
      target.closest<HTMLElement>("button, summary")?.blur();
      document.querySelector<HTMLElement>(".slider:focus")?.blur();
    };
    const up = (event: KeyboardEvent) => {
      held.get(event.code)?.();
      held.delete(event.code);
    };
    const point = ({ target }: Event) => {
      pointed = target;
    };
    const over = new AbortController();
    addEventListener("pointerdown", point, { signal: over.signal });
    addEventListener("keydown", down, { signal: over.signal });
    addEventListener("keyup", up, { signal: over.signal });
    // Before it opens a dialog, which would give it the focus back, and after it has switched the keyboard on.
    for (const capture of [true, false]) addEventListener("click", click, { capture, signal: over.signal });
    const unsubscribe = onPageLeave(releaseAll);
    return () => {
      over.abort();
      unsubscribe();
      releaseAll();
    };
  }, [entry]);
}

/** Shows a key as pressed on the screen too. */
function highlightKey(key: Key, isDown: boolean): void {
  document.querySelector(`.remote-key.key-${key}`)?.classList.toggle("is-down", isDown);
}

/** Whether the focused element handles the key itself: a field, dialog, menu or slider; a button handles Enter and Space. */
function isHandledByFocus({ key, target }: KeyboardEvent): boolean {
  if (document.querySelector("dialog[open]")) return true;
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("input, textarea, select:focus, [role=menu], [aria-expanded=true]")) {
    // A checkbox handles only Space.
    return !(target instanceof HTMLInputElement && target.type === "checkbox" && key !== " ");
  }
  return (key === "Enter" || key === " ") && target.closest("button, a, summary") !== null;
}

export function Shortcuts({ entry, close }: { readonly entry: Entry; close(): void }) {
  const has = entry.device.value.keys;
  const hasSearch = document.querySelector(`.${searchClass}`) !== null;
  const shown = shortcuts.filter(({ on, keys }) => {
    if (on.includes("p")) return [true, false].some((isOn) => powerKey(entry.device.peek(), isOn) !== undefined);
    if (on.includes("/")) return hasSearch;
    return keys === undefined || keys.some((key) => has.includes(key));
  });
  return (
    <Dialog title="Keyboard shortcuts" onClose={close}>
      <dl class="shortcuts">
        {shown.map((one) => (
          <div key={one.shown}>
            <dt>
              <kbd>{one.shown}</kbd>
            </dt>
            <dd>{one.does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
