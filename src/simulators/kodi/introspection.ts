/** What JSONRPC.Introspect tells of the methods that are simulated: in the form of Kodi 20.1 (ran), in words of our own. */
import { words } from "../bench/set.ts";
import { invalidParams, type Methods } from "./method.ts";
import type { Parameter, Schema } from "./schema.ts";

type Described = Record<string, unknown>;

/** What is told without being asked. */
const NOTIFICATIONS = words(`
  Application.OnVolumeChanged GUI.OnScreensaverActivated GUI.OnScreensaverDeactivated
  Input.OnInputFinished Input.OnInputRequested
  Player.OnAVChange Player.OnAVStart Player.OnPause Player.OnPlay Player.OnPropertyChanged Player.OnResume
  Player.OnSeek Player.OnSpeedChanged Player.OnStop Playlist.OnAdd Playlist.OnClear Playlist.OnRemove
  System.OnQuit System.OnRestart System.OnSleep System.OnWake
`);

const PERMISSIONS = words(`
  ControlGUI ControlNotify ControlPVR ControlPlayback ControlPower ControlSystem ExecuteAddon ManageAddon
  Navigate ReadData RemoveData UpdateData WriteFile
`);

/** What who asks may do: everything, on every way that leads here (Kodi 20.1, ran). */
export const permissions = (): Record<string, boolean> => Object.fromEntries(PERMISSIONS.map((name) => [name, true]));

/** What it takes to do more than to read. */
const BY_NAMESPACE: Readonly<Record<string, string>> = {
  Addons: "ExecuteAddon",
  Application: "ControlPlayback",
  GUI: "ControlGUI",
  Input: "Navigate",
  Player: "ControlPlayback",
  Playlist: "ControlPlayback",
  PVR: "ControlPVR",
  System: "ControlPower",
  Textures: "RemoveData",
};

function permissionOf(name: string): string {
  const [namespace = "", method = ""] = name.split(".");
  return method.startsWith("Get") ? "ReadData" : (BY_NAMESPACE[namespace] ?? "ReadData");
}

export interface Filter {
  readonly id: string;
  readonly type: string;
  readonly getreferences?: boolean;
}

interface Wanted {
  readonly descriptions: boolean;
  readonly metadata: boolean;
  readonly filter?: Filter;
}

export function introspect(methods: Methods, { descriptions, metadata, filter }: Wanted): Described {
  const types: Record<string, Described> = {};
  const all = Object.keys(methods)
    .toSorted()
    .map((name) => [
      name,
      {
        ...(descriptions && { description: wordsOf(name) }),
        params: methods[name]?.params.map((parameter) => parameterOf(parameter, types)),
        ...(metadata && { permission: permissionOf(name) }),
        returns: { type: name.includes(".Get") ? "object" : "any" },
        type: "method",
      },
    ]);
  const head = { description: "JSON-RPC API of XBMC", id: "http://xbmc.org/jsonrpc/ServiceDescription.json" };
  const version = "13.0.0";
  const told = { methods: Object.fromEntries(all), notifications: notificationsOf(NOTIFICATIONS), types };
  return { ...head, ...(filter === undefined ? told : filtered(told, filter)), version };
}

type Told = Readonly<Record<"methods" | "notifications" | "types", Readonly<Record<string, Described>>>>;

function filtered(told: Told, { id, type, getreferences = true }: Filter): Described {
  const isMeant = (name: string) => (type === "namespace" ? name.split(".")[0] === id : name === id);
  const part = (kind: string, entries: Readonly<Record<string, Described>>) =>
    type === kind || type === "namespace" ? Object.entries(entries).filter(([name]) => isMeant(name)) : [];
  const methods = part("method", told.methods);
  const named = Object.entries(told.types).filter(
    ([name]) => (type === "type" && name === id) || (getreferences && refersTo(methods, name)),
  );
  // What there is none of is left out; a name that there is not is refused (Kodi 20.1, ran).
  const found = Object.entries({ methods, notifications: part("notification", told.notifications), types: named })
    .filter(([, entries]) => entries.length > 0)
    .map(([kind, entries]) => [kind, Object.fromEntries(entries)]);
  if (found.length === 0) throw invalidParams();
  return Object.fromEntries(found);
}

const refersTo = (described: unknown, type: string) => JSON.stringify(described).includes(`"$ref":"${type}"`);

function notificationsOf(names: readonly string[]): Record<string, Described> {
  const sender = { name: "sender", required: true, type: "string" };
  const described = (name: string) => ({
    description: wordsOf(name),
    params: [sender, { name: "data", required: true, type: contentOf(name) }],
    returns: null,
    type: "notification",
  });
  return Object.fromEntries(names.map((name) => [name, described(name)]));
}

function contentOf(name: string): string {
  return /^(GUI\.OnScreensaverActivated|Input\.OnInputFinished|System\.On(Sleep|Wake|Restart))$/.test(name)
    ? "null"
    : "object";
}

/** `Player.GetActivePlayers` as "Player: get active players". */
function wordsOf(name: string): string {
  const [namespace, method = ""] = name.split(".");
  return `${namespace}: ${method.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase()}`;
}

function parameterOf({ name, schema, required }: Parameter, types: Record<string, Described>): Described {
  return { ...described(schema, types), name, ...(required && { required: true }) };
}

function described(schema: Schema, types: Record<string, Described>): Described {
  if ("union" in schema) return { type: schema.union.map((one) => described(one, types)) };
  if (schema.type === "array") {
    const { items } = schema;
    const name = "name" in items ? items.name : undefined;
    if (name === undefined) return { items: described(items, types), type: "array" };
    types[name] = { id: name, items: described({ type: "string", enums: enumsOf(items) }, types), type: "array" };
    return { $ref: name };
  }
  if (schema.type !== "object") {
    const { name: _name, ...plain } = { name: undefined, ...schema };
    return plain;
  }
  const properties = Object.entries(schema.properties ?? {}).map(([name, one]) => [name, described(one, types)]);
  return { ...(properties.length > 0 && { properties: Object.fromEntries(properties) }), type: "object" };
}

const enumsOf = (schema: Schema): readonly string[] => ("enums" in schema ? (schema.enums ?? []) : []);
