/** The control port (ECP): who may ask what, and what is answered. */
import { isIP } from "node:net";
import { picture } from "../bench/documents.ts";
import type { Answer, HttpOptions, Request } from "../bench/http.ts";
import { exitApp, launch } from "./apps.ts";
import * as documents from "./documents.ts";
import { findApp, type Model } from "./model.ts";
import type { AccessMode } from "./options.ts";
import { parseKey, pressKey, releaseKey, spoken } from "./remote.ts";

const BODY_LIMIT = 64 * 1024;

/** What each mode answers instead of acting (1.2); null lets the request through. */
const REFUSALS: Readonly<Record<Rule, Readonly<Record<"limited" | "disabled", Answer | null>>>> = {
  open: { limited: null, disabled: null },
  basic: { limited: null, disabled: { status: 401 } },
  query: { limited: limitedText(), disabled: { status: 401 } },
  action: { limited: { status: 403 }, disabled: { status: 401 } },
  launch: { limited: { status: 403 }, disabled: { status: 401 } },
};

function limitedText(): Answer {
  const body = "ECP command not allowed in Limited mode.";
  return { status: 403, headers: [["Content-Type", "text/plain"]], body };
}

export function ecp(model: Model): HttpOptions {
  const { softwareVersion } = model.identity;
  return {
    // npm roku-client takes no device whose Server header lacks the word Roku (1.1).
    headers: [["Server", `Roku/${softwareVersion} UPnP/1.0 Roku/${softwareVersion}`]],
    record: model.requests,
    limit: BODY_LIMIT,
    answer: (request) => respond(model, request),
  };
}

function respond(model: Model, request: Request): Answer {
  // A name in Host is refused: the set's guard against DNS rebinding (1.2).
  if (!isAddress(request.headers.host ?? "")) return { status: 403 };
  const [path = "", query = ""] = request.target.split(/\?(.*)/s);
  const words = decodeWords(path);
  const found = words === null ? null : findRoute(request.method, words);
  if (found === null) return { status: 404 };
  const { route, rest } = found;
  const refusal = refused(model, route);
  if (refusal === null) return route.act(model, rest, Object.fromEntries(new URLSearchParams(query)));
  // A key that does not exist, an app that is not there: limited mode judges that before itself (1.2).
  const fault = model.access === "limited" ? route.fault?.(model, rest) : null;
  if (fault) return fault;
  model.emit("refused", describe(model.access, path, words ?? []));
  return refusal;
}

function refused(model: Model, route: Route): Answer | null {
  if (model.access === "enabled" || model.access === "permissive") return null;
  if (route.rule === "launch" && model.access === "limited" && model.identity.limitedLaunch) return null;
  return REFUSALS[route.rule][model.access];
}

function describe(access: AccessMode, path: string, [verb = "", word = ""]: string[]): string {
  const parsed = verb.startsWith("key") ? parseKey(word) : null;
  const what = parsed === null ? path : "name" in parsed ? `key ${spoken(parsed.name)}` : "text";
  return `refused ${what}: network access is ${access}`;
}

/** The words of a path, each decoded by itself; null for a malformed escape, which is no route (1.2). */
function decodeWords(path: string): string[] | null {
  try {
    return path.split("/").slice(1).map(decodeURIComponent);
  } catch {
    return null;
  }
}

function findRoute(method: string, words: string[]): { route: Route; rest: string[] } | null {
  for (const length of [2, 1]) {
    const route = words.length < length ? undefined : ROUTES[words.slice(0, length).join("/")];
    const rest = words.slice(length);
    if (route === undefined || rest.length > route.words) continue;
    if (route.method === (method === "HEAD" ? "GET" : method)) return { route, rest };
  }
  return null;
}

function isAddress(host: string): boolean {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  return isIP(bracketed ?? plain ?? "") !== 0;
}

const EMPTY = (status: number): Answer => ({ status });
type Params = Record<string, string>;
/** Given the words after the route's own, and the query; what comes back is said once the mode allows it. */
type Act = (model: Model, words: string[], params: Params) => Answer;

interface Route {
  method: "GET" | "POST";
  /** Which column of the table in 1.2 rules it. */
  rule: Rule;
  act: Act;
  /** How many words may follow. */
  words: number;
  /** What is wrong with the words themselves, whatever the mode. */
  fault?: (model: Model, words: string[]) => Answer | null;
}

type Rule = "open" | "basic" | "query" | "action" | "launch";

const document =
  (write: (model: Model) => string): Act =>
  (model) =>
    xml(write(model));

function xml(body: string): Answer {
  const headers = [
    ["Content-Type", 'text/xml; charset="utf-8"'],
    ["Cache-Control", "no-cache"],
  ] as const;
  return { status: 200, headers, body };
}

const image = (word: string): Answer => ({
  status: 200,
  headers: [["Content-Type", "image/png"]],
  body: picture(word),
});

const get = (rule: Rule, act: Act, words = 0): Route => ({ method: "GET", rule, act, words });
const post = (rule: Rule, act: Act, words = 1): Route => ({ method: "POST", rule, act, words });
const onKey = (act: Act): Route => ({ ...post("action", act), fault: unknownKey });
const onlyOn =
  (has: (model: Model) => boolean, act: Act): Act =>
  (model, words, params) =>
    has(model) ? act(model, words, params) : EMPTY(404);

const isTv = (model: Model) => model.isTv;
const isModern = (model: Model) => !model.identity.legacy;

const DEVELOPER_QUERIES = [
  ...["app-ui", "chanperf", "registry", "sgnodes", "r2d2-bitmaps", "fwbeacons", "sgrendezvous"],
  "graphics-frame-rate",
];

const scpd = document(() => documents.SERVICE_DESCRIPTION);

const ROUTES: Readonly<Record<string, Route>> = {
  "": get("open", document(documents.deviceDescription)),
  "ecp_SCPD.xml": get("open", scpd),
  "dial_SCPD.xml": get("open", scpd),
  "device-image.png": get("open", (model) => image(model.identity.modelNumber)),
  "query/device-info": get("basic", document(documents.deviceInfo)),
  "query/active-app": get("basic", document(documents.activeApp)),
  "query/apps": get("query", document(documents.apps)),
  "query/media-player": get("query", document(documents.mediaPlayer)),
  "query/audio-device": get("query", onlyOn(isModern, document(documents.audioDevice))),
  "query/tv-channels": get("query", onlyOn(isTv, document(documents.tvChannels))),
  "query/tv-active-channel": get("query", onlyOn(isTv, document(documents.tvActiveChannel))),
  "query/icon": get("query", icon, 1),
  "query/app-state": get("query", developerOnly(state), 1),
  ...Object.fromEntries(DEVELOPER_QUERIES.map((word) => [`query/${word}`, get("query", developerQuery(word), 2)])),
  keypress: onKey((model, words) => key(model, words, "press")),
  keydown: onKey((model, words) => key(model, words, "down")),
  keyup: onKey((model, words) => key(model, words, "up")),
  launch: { ...post("launch", launchApp), fault: notInstalled },
  install: post("action", () => EMPTY(200)),
  input: post("action", input),
  "exit-app": post("action", onlyOn(isModern, developerOnly(exit)), 2),
  "search/browse": post("action", () => EMPTY(200), 0),
};

// Every developer query needs developer mode (1.2).
function developerOnly(act: Act): Act {
  return (model, words, params) => (model.identity.developer === null ? EMPTY(403) : act(model, words, params));
}

function developerQuery(word: string): Act {
  return developerOnly((model) => {
    if (model.active === null) return EMPTY(202);
    return xml(word === "registry" ? documents.registry(model) : documents.developerDocument(model, word));
  });
}

function unknownKey(_model: Model, [word = ""]: string[]): Answer | null {
  return parseKey(word) === null ? EMPTY(400) : null;
}

function notInstalled(model: Model, [id = ""]: string[]): Answer | null {
  return findApp(model, id) === undefined ? EMPTY(404) : null;
}

function icon(model: Model, [id = ""]: string[]): Answer {
  return findApp(model, id) === undefined ? EMPTY(404) : image(id);
}

function state(model: Model, [id = ""]: string[]): Answer {
  const app = findApp(model, id);
  return app === undefined ? EMPTY(404) : xml(documents.appState(model, app));
}

function key(model: Model, [word = ""]: string[], action: "press" | "down" | "up"): Answer {
  const key = parseKey(word);
  if (key === null) return EMPTY(400);
  if (action === "up") return EMPTY(releaseKey(model, key) ? 200 : 202);
  pressKey(model, key, action);
  return EMPTY(200);
}

const LAUNCHED = { launched: 200, running: 202, "not-installed": 404 } as const;

function launchApp(model: Model, [id = ""]: string[], params: Params): Answer {
  return EMPTY(LAUNCHED[launch(model, id, params)]);
}

function input(model: Model, _words: string[], params: Params): Answer {
  const words = Object.entries(params).map(([name, value]) => `${name}=${value}`);
  model.emit("input", ["input", ...words].join(" "));
  return EMPTY(200);
}

// Roku's documentation has a status, clients read a document beside it (1.8).
function exit(model: Model, [id = "", force]: string[]): Answer {
  return exitApp(model, id, force === "true") === "not-running" ? EMPTY(404) : xml(documents.EXITED);
}
