/** The control port (ECP): routes, access modes and responses. */
import { isIP } from "node:net";
import { picture } from "../bench/documents.ts";
import { decoded, type HttpOptions, type HttpResponse, type Request } from "../bench/http.ts";
import { exitApp, launch } from "./apps.ts";
import * as documents from "./documents.ts";
import { findApp, type Model } from "./model.ts";
import type { AccessMode } from "./options.ts";
import { keyWords, parseKey, pressKey, releaseKey } from "./remote.ts";

const BODY_LIMIT = 64 * 1024;

const LIMITED: HttpResponse = {
  status: 403,
  headers: [["Content-Type", "text/plain"]],
  body: "ECP command not allowed in Limited mode.",
};

/** The refusal of each access mode (1.2); null lets the request through. */
const REFUSALS: Readonly<Record<Rule, Readonly<Record<"limited" | "disabled", HttpResponse | null>>>> = {
  open: { limited: null, disabled: null },
  basic: { limited: null, disabled: { status: 401 } },
  query: { limited: LIMITED, disabled: { status: 401 } },
  action: { limited: { status: 403 }, disabled: { status: 401 } },
  launch: { limited: { status: 403 }, disabled: { status: 401 } },
};

export function ecp(model: Model): HttpOptions {
  const { softwareVersion } = model.options;
  return {
    // npm roku-client ignores devices without the word Roku in the Server header (1.1).
    headers: [["Server", `Roku/${softwareVersion} UPnP/1.0 Roku/${softwareVersion}`]],
    record: model.requests,
    limit: BODY_LIMIT,
    answer: (request) => respond(model, request),
  };
}

function respond(model: Model, request: Request): HttpResponse {
  // A host name in `Host` is refused, against DNS rebinding (1.2).
  if (!isAddress(request.headers.host ?? "")) return { status: 403 };
  const [path = "", query = ""] = request.target.split(/\?(.*)/s);
  const words = decodeWords(path);
  const found = words === null ? null : findRoute(request.method, words);
  if (found === null) return { status: 404 };
  const { route, rest } = found;
  const refusal = refused(model, route);
  if (refusal === null) return answerOf(route.act(model, rest, Object.fromEntries(new URLSearchParams(query))));
  // Limited mode reports an unknown key or app before its own refusal (1.2).
  const fault = model.access === "limited" ? route.fault?.(model, rest) : null;
  if (fault) return { status: fault };
  // What is read is asked for again and again while somebody looks, and would bury what is done to the set.
  if (request.method === "POST") model.emit("refused", refusalText(model.access, path, words ?? []));
  return refusal;
}

function refused(model: Model, route: Route): HttpResponse | null {
  if (model.access === "enabled" || model.access === "permissive") return null;
  if (route.rule === "launch" && model.access === "limited" && model.options.limitedLaunch) return null;
  return REFUSALS[route.rule][model.access];
}

function refusalText(access: AccessMode, path: string, [verb = "", word = ""]: string[]): string {
  const parsed = verb.startsWith("key") ? parseKey(word) : null;
  const what = parsed === null ? path : "name" in parsed ? `key ${keyWords(parsed.name)}` : "text";
  return `refused ${what}: network access is ${access}`;
}

/** The decoded parts of a path; null for a malformed escape, which gets 404 (1.2). */
function decodeWords(path: string): string[] | null {
  const words = path.split("/").slice(1).map(decoded);
  return words.every((word) => word !== null) ? words : null;
}

function findRoute(method: string, words: string[]): { route: Route; rest: string[] } | null {
  for (const length of [2, 1]) {
    const name = `${method === "HEAD" ? "GET" : method} ${words.slice(0, length).join("/")}`;
    const route = Object.hasOwn(ROUTES, name) ? ROUTES[name] : undefined;
    const rest = words.slice(length);
    if (route !== undefined && words.length >= length && rest.length <= (route.words ?? 0)) return { route, rest };
  }
  return null;
}

function isAddress(host: string): boolean {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  return isIP(bracketed ?? plain ?? "") !== 0;
}

type Rule = "open" | "basic" | "query" | "action" | "launch";
/** Gets the path parts after those of the route, and the query. Returns an XML document, a bare status, or a whole response. */
type Act = (model: Model, words: string[], params: Record<string, string>) => string | number | HttpResponse;

interface Route {
  /** The access rule of the table in 1.2. */
  readonly rule: Rule;
  readonly act: Act;
  /** How many path parts may follow. Default 0. */
  readonly words?: number;
  /** The status for an unknown key or app, in any access mode. */
  fault?(model: Model, words: string[]): number | null;
}

function answerOf(result: string | number | HttpResponse): HttpResponse {
  if (typeof result === "number") return { status: result };
  if (typeof result !== "string") return result;
  const headers = [
    ["Content-Type", 'text/xml; charset="utf-8"'],
    ["Cache-Control", "no-cache"],
  ] as const;
  return { status: 200, headers, body: result };
}

const image = (word: string): HttpResponse => ({
  status: 200,
  headers: [["Content-Type", "image/png"]],
  body: picture(word),
});

/** Restricts a route to some sets; others answer with the status. */
const only =
  (status: number, has: (model: Model) => boolean) =>
  (act: Act): Act =>
  (model, ...given) =>
    has(model) ? act(model, ...given) : status;
const onTv = only(404, ({ isTv }) => isTv);
const onModern = only(404, ({ options }) => !options.legacy);
/** Developer queries need developer mode (1.2). */
const forDevelopers = only(403, ({ options }) => options.developer !== null);

function keyRoute(action: "press" | "down" | "up"): Route {
  const act: Act = (model, [word = ""]) => {
    const key = parseKey(word);
    if (key === null) return 400;
    if (action === "up") return releaseKey(model, key) ? 200 : 202;
    pressKey(model, key, action);
    return 200;
  };
  return { rule: "action", act, words: 1, fault: (_model, [word = ""]) => (parseKey(word) === null ? 400 : null) };
}

const LAUNCHED = { launched: 200, running: 202, "not-installed": 404 } as const;

const ROUTES: Readonly<Record<string, Route>> = {
  "GET ": { rule: "open", act: documents.deviceDescription },
  "GET ecp_SCPD.xml": { rule: "open", act: () => documents.SERVICE_DESCRIPTION },
  "GET dial_SCPD.xml": { rule: "open", act: () => documents.SERVICE_DESCRIPTION },
  "GET device-image.png": { rule: "open", act: (model) => image(model.options.modelNumber) },
  "GET query/device-info": { rule: "basic", act: documents.deviceInfo },
  "GET query/active-app": { rule: "basic", act: documents.activeApp },
  "GET query/apps": { rule: "query", act: documents.apps },
  "GET query/media-player": { rule: "query", act: documents.mediaPlayer },
  "GET query/audio-device": { rule: "query", act: onModern(documents.audioDevice) },
  "GET query/tv-channels": { rule: "query", act: onTv(documents.tvChannels) },
  "GET query/tv-active-channel": { rule: "query", act: onTv(documents.tvActiveChannel) },
  "GET query/icon": { rule: "query", words: 1, act: (model, [id = ""]) => (findApp(model, id) ? image(id) : 404) },
  "GET query/app-state": { rule: "query", words: 1, act: forDevelopers(documents.appState) },
  // Stands for all developer queries, which get 202 while there is nothing to report (1.2).
  "GET query/chanperf": { rule: "query", words: 2, act: forDevelopers(() => 202) },
  "POST keypress": keyRoute("press"),
  "POST keydown": keyRoute("down"),
  "POST keyup": keyRoute("up"),
  "POST launch": {
    rule: "launch",
    words: 1,
    act: (model, [id = ""], params) => LAUNCHED[launch(model, id, params)],
    fault: (model, [id = ""]) => (findApp(model, id) ? null : 404),
  },
  "POST input": {
    rule: "action",
    words: 1,
    act(model, _words, params) {
      const words = Object.entries(params).map(([name, value]) => `${name}=${value}`);
      model.emit("input", ["input", ...words].join(" "));
      return 200;
    },
  },
  // Roku documents only the status; clients also read a document (1.8).
  "POST exit-app": {
    rule: "action",
    words: 2,
    act: onModern(
      forDevelopers((model, [id = "", force]) =>
        exitApp(model, id, force === "true") === "not-running" ? 404 : documents.EXITED,
      ),
    ),
  },
};
