/** One sentence for each thing that was read or done, for an agent to tell: no more than was seen. */
import { activity, powerWords } from "../api/client-words.ts";
import type { Device, State } from "../api/schemas.ts";
import { printable } from "../system/printable.ts";

/** What a device does; an app that it does not tell is not called home. */
export function stateWords(state: State): string {
  const power = `${state.power === "unknown" ? "" : "is "}${powerWords[state.power]}`;
  const shown = state.power === "on" && state.app === null ? ["home, or an app that it does not tell"] : [];
  const doing = activity(state.app === null ? { ...state, power: "unknown" } : state);
  return printable([power, ...shown, ...doing].join(" · "));
}

/** A device in a list, with what it does where that was read. */
export function deviceLine({ name, power, access, is_default }: Device, state: State | null): string {
  const standing =
    access === "unpaired" ? "is not paired" : `is ${power === "unknown" ? "not known to be on" : powerWords[power]}`;
  return printable(`${name}${is_default ? " (default)" : ""} ${state ? stateWords(state) : standing}`);
}

/** What became of a command: seen, not seen yet, or not to be known; and what was read after it. */
export function outcome(done: string, confirmed: boolean | null, { name }: Device, after: State | null): string {
  const seen = {
    true: "The device shows it",
    false: "The device took the command, but does not show it yet",
    null: "Whether it had its effect cannot be read from the device",
  }[`${confirmed}`];
  const now = after ? ` Now: ${name} ${stateWords(after)}.` : " Its state could not be read afterwards.";
  return printable(`${done}. ${seen}.${now}`);
}
