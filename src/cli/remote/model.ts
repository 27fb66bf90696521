/** What the remote knows, and how each event changes it. Pure: what must be done in the world comes out as effects. */
import type { App, Device, State } from "../../api/operations.ts";
import type { Failure } from "../failure.ts";
import type { Input } from "./input.ts";

export interface Model {
  readonly devices: readonly Device[];
  /** The id of the set that is driven; `null` while none is known. */
  readonly current: string | null;
  /** What is on it; `null` until it has told. */
  readonly seen: Seen | null;
  /** Whether the daemon answers. */
  readonly lost: boolean;
  readonly mode: Mode;
  readonly notice: Notice | null;
  /** The input that was pressed a moment ago, drawn as pressed. */
  readonly lit: string | null;
  /** Keys that a set has said it lacks, by its id. */
  readonly absent: Readonly<Record<string, readonly string[]>>;
  readonly apps: Readonly<Record<string, readonly App[]>>;
}

/** What a set told last, or why it told nothing. */
export type Seen = { readonly state: State } | { readonly failure: Failure };

export type Mode =
  | { readonly name: "keys" | "help" }
  | { readonly name: "text"; readonly text: string }
  | { readonly name: "apps"; readonly filter: string; readonly at: number };

/** The bottom line: calm while something is under way, loud when it failed. */
export interface Notice {
  readonly text: string;
  readonly hint?: string;
  readonly loud: boolean;
}

export type Event =
  | { readonly name: "input"; readonly input: Input }
  | { readonly name: "devices"; readonly devices: readonly Device[] }
  | { readonly name: "state"; readonly id: string; readonly device: Device; readonly state: State }
  | { readonly name: "stateless"; readonly id: string; readonly failure: Failure }
  | { readonly name: "apps"; readonly id: string; readonly apps: readonly App[] }
  | { readonly name: "done"; readonly id: string; readonly what: string }
  | { readonly name: "failed"; readonly id: string; readonly what: string; readonly failure: Failure }
  /** Keys that waited too long behind a slow one. */
  | { readonly name: "dropped"; readonly id: string; readonly count: number }
  | { readonly name: "lost" }
  | { readonly name: "unlit" }
  | { readonly name: "hushed" };

export type Effect =
  /** A key of the set, or `literal:` with a text. */
  | { readonly name: "press"; readonly id: string; readonly key: string }
  | { readonly name: "launch"; readonly id: string; readonly app: string }
  | { readonly name: "list"; readonly id: string }
  /** Another set: ask at once what is on it. */
  | { readonly name: "look" }
  | { readonly name: "redraw" | "suspend" | "quit" };

export interface Step {
  readonly model: Model;
  readonly effects: readonly Effect[];
}

export function begin(devices: readonly Device[], current: string | null): Model {
  return {
    ...{ devices, current, seen: null, lost: false, mode: { name: "keys" }, notice: null, lit: null },
    ...{ absent: {}, apps: {} },
  };
}

export function deviceOf(model: Model): Device | undefined {
  return model.devices.find((one) => one.id === model.current);
}

/** Whether it takes no keys now: off, in standby or silent. */
export function isAsleep({ seen }: Model): boolean {
  if (seen === null) return false;
  return "state" in seen
    ? /^(off|standby)$/.test(seen.state.power)
    : /^device_(unreachable|timeout)$/.test(seen.failure.code);
}

/** The apps of the current set that hold every word of the filter, those that begin with it first. */
export function appsShown(model: Model, filter: string): readonly App[] {
  const wanted = plain(filter);
  const apps = (model.apps[model.current ?? ""] ?? []).filter((app) => app.installed);
  if (wanted === "") return apps;
  const ranked = apps.flatMap((app) => {
    const name = plain(app.name);
    const rank = name.startsWith(wanted) ? 0 : name.includes(` ${wanted}`) ? 1 : name.includes(wanted) ? 2 : 3;
    return rank < 3 || inOrder(wanted, name) ? [{ app, rank }] : [];
  });
  return ranked.sort((one, other) => one.rank - other.rank).map(({ app }) => app);
}

function plain(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().trim();
}

/** `nfx` finds Netflix. */
function inOrder(wanted: string, name: string): boolean {
  let from = 0;
  for (const character of wanted.replaceAll(" ", "")) {
    from = name.indexOf(character, from) + 1;
    if (from === 0) return false;
  }
  return true;
}
