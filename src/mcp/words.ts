/** Sentences for agents about states and commands. They claim only what was read. */
import { activity, powerWords } from "../api/client-words.ts";
import type { Device, State } from "../api/schemas.ts";
import { printable } from "../system/printable.ts";

/** A state as text. Where the app is unknown, it does not claim the home screen. */
export function stateWords(state: State): string {
  const power = `${state.power === "unknown" ? "" : "is "}${powerWords[state.power]}`;
  const shown = state.power === "on" && state.app === null ? ["home screen, or an app that it does not report"] : [];
  const doing = activity(state.app === null ? { ...state, power: "unknown" } : state);
  return printable([power, ...shown, ...doing].join(" · "));
}

/** A device in a list, with its state where that was read. */
export function deviceLine({ name, power, access, is_default }: Device, state: State | null): string {
  const status =
    access === "unpaired" ? "is not paired" : `is ${power === "unknown" ? "not known to be on" : powerWords[power]}`;
  return printable(`${name}${is_default ? " (default)" : ""} ${state ? stateWords(state) : status}`);
}

/** The result of a command: confirmed, not yet, or unknown; and the state after it. */
export function outcome(done: string, confirmed: boolean | null, { name }: Device, after: State | null): string {
  const seen = {
    true: "The device shows it",
    false: "The device accepted the command, but does not show the effect yet",
    null: "The device does not tell whether the command had its effect",
  }[`${confirmed}`];
  const now = after ? ` Now: ${name} ${stateWords(after)}.` : " Its state was not read afterwards.";
  return printable(`${done}. ${seen}.${now}`);
}
