/** Which key of the terminal presses which key of the set, and where each is drawn: one table that everything reads. */

export interface Binding {
  /** As the input names it. */
  readonly input: string;
  /** The key of the set. */
  readonly key: string;
  /** What it is called on the screen. */
  readonly cap: string;
  readonly word: string;
}

export const bindings: readonly Binding[] = [
  { input: "up", key: "up", cap: "↑", word: "" },
  { input: "left", key: "left", cap: "←", word: "" },
  { input: "enter", key: "select", cap: "Enter", word: "" },
  { input: "right", key: "right", cap: "→", word: "" },
  { input: "down", key: "down", cap: "↓", word: "" },
  { input: "backspace", key: "back", cap: "Bksp", word: "back" },
  { input: "h", key: "home", cap: "h", word: "home" },
  { input: " ", key: "play-pause", cap: "Space", word: "play/pause" },
  { input: "r", key: "rewind", cap: "r", word: "rewind" },
  { input: "f", key: "fast-forward", cap: "f", word: "forward" },
  { input: "+", key: "volume-up", cap: "+", word: "louder" },
  { input: "-", key: "volume-down", cap: "-", word: "softer" },
  { input: "m", key: "mute", cap: "m", word: "mute" },
  { input: "i", key: "info", cap: "i", word: "info" },
  { input: "o", key: "options", cap: "o", word: "options" },
  { input: "page-up", key: "channel-up", cap: "PgUp", word: "channel up" },
  { input: "page-down", key: "channel-down", cap: "PgDn", word: "channel down" },
  { input: "p", key: "power", cap: "p", word: "power" },
];

/** Other inputs that mean the same. */
const synonyms: Readonly<Record<string, string>> = { "=": "+", _: "-", delete: "backspace" };

export function bindingOf(input: string): Binding | undefined {
  const meant = synonyms[input] ?? input;
  return bindings.find((one) => one.input === meant);
}

/** What the remote itself does. */
export const commands: readonly { readonly cap: string; readonly word: string }[] = [
  { cap: "/", word: "apps" },
  { cap: "t", word: "text" },
  { cap: "Tab", word: "next set" },
  { cap: "?", word: "help" },
  { cap: "q", word: "quit" },
];
