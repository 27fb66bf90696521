/** What JSONRPC.Introspect tells of the methods that are simulated: in the form of Kodi 20.1 (ran), in words of our own. */
import { invalidParams, type Methods } from "./method.ts";
import type { Parameter, Schema } from "./schema.ts";

type Described = Record<string, unknown>;

/** What is told without being asked, and what it is about. */
const NOTIFICATIONS: Readonly<Record<string, string>> = {
  "Application.OnVolumeChanged": "The volume has changed.",
  "GUI.OnScreensaverActivated": "The screensaver has begun.",
  "GUI.OnScreensaverDeactivated": "The screensaver has ended.",
  "Input.OnInputFinished": "What was asked for has been given, or not.",
  "Input.OnInputRequested": "Somebody is asked for a text or a number.",
  "Player.OnAVChange": "The streams that play have changed.",
  "Player.OnAVStart": "The first picture or sound is there.",
  "Player.OnPause": "It pauses.",
  "Player.OnPlay": "It plays.",
  "Player.OnPropertyChanged": "A property of what plays has changed.",
  "Player.OnResume": "It plays on.",
  "Player.OnSeek": "It plays at another place.",
  "Player.OnSpeedChanged": "It plays at another speed.",
  "Player.OnStop": "It has stopped.",
  "Playlist.OnAdd": "A list is longer.",
  "Playlist.OnClear": "A list is empty.",
  "Playlist.OnRemove": "A list is shorter.",
  "System.OnQuit": "Kodi ends.",
  "System.OnRestart": "The machine starts anew.",
  "System.OnSleep": "The machine goes to sleep.",
  "System.OnWake": "The machine is awake again.",
};

const PERMISSIONS = [
  ...["ControlGUI", "ControlNotify", "ControlPVR", "ControlPlayback", "ControlPower", "ControlSystem"],
  ...["ExecuteAddon", "ManageAddon", "Navigate", "ReadData", "RemoveData", "UpdateData", "WriteFile"],
] as const;
type Permission = (typeof PERMISSIONS)[number];

/** What who asks may do: everything, on every way that leads here (Kodi 20.1, ran). */
export const permissions = (): Record<string, boolean> => Object.fromEntries(PERMISSIONS.map((name) => [name, true]));

const BY_NAMESPACE: Readonly<Record<string, Permission>> = {
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

function permissionOf(name: string): Permission {
  const [namespace = "", method = ""] = name.split(".");
  return method.startsWith("Get") ? "ReadData" : (BY_NAMESPACE[namespace] ?? "ReadData");
}

interface Wanted {
  readonly descriptions: boolean;
  readonly metadata: boolean;
  readonly filter?: Filter;
}

export interface Filter {
  readonly id: string;
  readonly type: string;
  readonly getreferences?: boolean;
}

export function introspect(methods: Methods, { descriptions, metadata, filter }: Wanted): Described {
  const types: Record<string, Described> = {};
  const all = Object.fromEntries(
    Object.entries(methods)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, method]) => [
        name,
        {
          ...(descriptions && { description: wordsOf(name) }),
          params: method.params.map((parameter) => parameterOf(parameter, types)),
          ...(metadata && { permission: permissionOf(name) }),
          ...{ returns: { type: name.includes(".Get") ? "object" : "any" }, type: "method" },
        },
      ]),
  );
  const head = { description: "JSON-RPC API of XBMC", id: "http://xbmc.org/jsonrpc/ServiceDescription.json" };
  const version = "13.0.0";
  if (filter === undefined)
    return { ...head, methods: all, notifications: notificationsOf(Object.keys(NOTIFICATIONS)), types, version };
  return { ...head, ...filtered(all, types, filter), version };
}

function filtered(
  all: Readonly<Record<string, Described>>,
  types: Readonly<Record<string, Described>>,
  { id, type, getreferences = true }: Filter,
): Described {
  const inSpace = (name: string) => (type === "namespace" ? name.split(".")[0] === id : name === id);
  const isOf = (kind: string) => type === kind || type === "namespace";
  const methods = Object.fromEntries(Object.entries(all).filter(([name]) => isOf("method") && inSpace(name)));
  const told = Object.keys(NOTIFICATIONS).filter((name) => isOf("notification") && inSpace(name));
  const named = type === "type" ? Object.entries(types).filter(([name]) => name === id) : [];
  const references = getreferences ? Object.entries(types).filter(([name]) => refersTo(methods, name)) : [];
  // What there is none of is left out; a name that there is not is refused (Kodi 20.1, ran).
  const parts = {
    ...(Object.keys(methods).length > 0 && { methods }),
    ...(told.length > 0 && { notifications: notificationsOf(told) }),
    ...(named.length + references.length > 0 && { types: Object.fromEntries([...named, ...references]) }),
  };
  if (Object.keys(parts).length === 0) throw invalidParams();
  return parts;
}

const refersTo = (described: unknown, type: string) => JSON.stringify(described).includes(`"$ref":"${type}"`);

function notificationsOf(names: readonly string[]): Record<string, Described> {
  const sender = { name: "sender", required: true, type: "string" };
  const described = (name: string) => ({
    ...{ description: NOTIFICATIONS[name], params: [sender, { name: "data", required: true, type: contentOf(name) }] },
    ...{ returns: null, type: "notification" },
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
