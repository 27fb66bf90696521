/** What a key of the terminal does, in each mode. */
import { bindingOf } from "./bindings.ts";
import type { Input } from "./input.ts";
import { appsShown, deviceOf, type Effect, isAsleep, type Mode, type Model, type Step } from "./model.ts";

const maxText = 1_024;
const pageRows = 8;

export function updateInput(model: Model, input: Input): Step {
  if ("paste" in input) return paste(model, input.paste);
  const { key } = input;
  if (key === "ctrl-c") return { model, effects: [{ name: "quit" }] };
  if (key === "ctrl-z") return { model, effects: [{ name: "suspend" }] };
  if (key === "ctrl-l") return { model, effects: [{ name: "redraw" }] };
  switch (model.mode.name) {
    case "keys":
      return inKeys(model, key);
    case "help":
      return stay({ ...model, mode: { name: "keys" } });
    case "text":
      return inText(model, model.mode, key);
    case "apps":
      return inApps(model, model.mode, key);
  }
}

function stay(model: Model): Step {
  return { model, effects: [] };
}

function leave(model: Model, ...effects: Effect[]): Step {
  return { model: { ...model, mode: { name: "keys" } }, effects };
}

/** Pasting writes where one writes, and presses nothing anywhere else. */
function paste(model: Model, text: string): Step {
  const { mode } = model;
  const line = text.replace(/[\r\n\t]+/g, " ").replace(/[\p{Cc}\p{Cs}]/gu, "");
  if (mode.name === "text") return stay({ ...model, mode: { ...mode, text: limited(mode.text + line) } });
  if (mode.name === "apps") return stay({ ...model, mode: { ...mode, filter: limited(mode.filter + line), at: 0 } });
  return stay(model);
}

function inKeys(model: Model, key: string): Step {
  if (key === "q" || key === "escape") return { model, effects: [{ name: "quit" }] };
  if (key === "?") return stay({ ...model, mode: { name: "help" } });
  if (key === "tab") return turn(model, 1);
  if (key === "shift-tab") return turn(model, -1);
  const { current } = model;
  if (current === null) return stay(model);
  if (key === "t") return stay({ ...model, notice: null, mode: { name: "text", text: "" } });
  if (key === "/") return openApps(model, current);
  return press(model, current, key);
}

function press(model: Model, id: string, input: string): Step {
  const binding = bindingOf(input);
  if (!binding) return stay(model);
  const wakes =
    binding.key === "power" && isAsleep(model) && deviceOf(model)?.capabilities.includes("power_on") === true;
  const key = wakes ? "power-on" : binding.key;
  const notice = wakes ? { text: "turning it on …", loud: false } : model.notice;
  return { model: { ...model, lit: binding.input, notice }, effects: [{ name: "press", id, key }] };
}

function openApps(model: Model, id: string): Step {
  return {
    model: { ...model, notice: null, mode: { name: "apps", filter: "", at: 0 } },
    effects: [{ name: "list", id }],
  };
}

/** The next set, or the one before; a single one stays. */
function turn(model: Model, by: number): Step {
  const { devices } = model;
  const at = devices.findIndex((one) => one.id === model.current);
  const next = devices[(at + by + devices.length) % devices.length];
  if (!next || next.id === model.current)
    return stay({ ...model, notice: { text: "no other set is known", loud: false } });
  return { model: { ...model, current: next.id, seen: null, notice: null, lit: null }, effects: [{ name: "look" }] };
}

function inText(model: Model, mode: Mode & { name: "text" }, key: string): Step {
  if (key === "escape") return leave(model);
  if (key === "enter") {
    const { current } = model;
    return mode.text === "" || current === null
      ? leave(model)
      : leave(model, { name: "press", id: current, key: `literal:${mode.text}` });
  }
  const text = edited(mode.text, key);
  return text === null ? stay(model) : stay({ ...model, mode: { ...mode, text } });
}

function inApps(model: Model, mode: Mode & { name: "apps" }, key: string): Step {
  if (key === "escape") return leave(model);
  const shown = appsShown(model, mode.filter);
  if (key === "enter") {
    const app = shown[mode.at];
    if (!app || model.current === null) return stay(model);
    const notice = { text: `launching ${app.name} …`, loud: false };
    return leave({ ...model, notice }, { name: "launch", id: model.current, app: app.platform_id });
  }
  const moved = { up: -1, down: 1, "shift-tab": -1, tab: 1, "page-up": -pageRows, "page-down": pageRows }[key];
  if (moved !== undefined) {
    const at = Math.max(0, Math.min(shown.length - 1, mode.at + moved));
    return stay({ ...model, mode: { ...mode, at } });
  }
  if (key === "home" || key === "end")
    return stay({ ...model, mode: { ...mode, at: key === "home" ? 0 : Math.max(0, shown.length - 1) } });
  const filter = edited(mode.filter, key);
  return filter === null ? stay(model) : stay({ ...model, mode: { ...mode, filter, at: 0 } });
}

/** The text after a key, or `null` when the key does not write. */
function edited(text: string, key: string): string | null {
  if (key === "backspace") return [...text].slice(0, -1).join("");
  if (key === "ctrl-u") return "";
  if (key === "ctrl-w") return text.replace(/\S*\s*$/u, "");
  return [...key].length === 1 ? limited(text + key) : null;
}

function limited(text: string): string {
  return [...text].slice(0, maxText).join("");
}
