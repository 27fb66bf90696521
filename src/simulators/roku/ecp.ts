import { isIP } from "node:net";
import type { Answer, HttpOptions, Plan, RecordedRequest, Request } from "../http.ts";
import { ROUTES, type Route, type Rule } from "./ecp-routes.ts";
import { parseKey, spoken } from "./keys.ts";
import type { Model } from "./model.ts";
import type { AccessMode } from "./options.ts";

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

export function ecp(model: Model, record: (request: RecordedRequest) => void): HttpOptions {
  const { softwareVersion } = model.identity;
  return {
    // npm roku-client takes no device whose Server header lacks the word Roku (1.1).
    headers: [["Server", `Roku/${softwareVersion} UPnP/1.0 Roku/${softwareVersion}`]],
    record,
    plan: (request): Plan => ({ limit: BODY_LIMIT, receive: () => {}, answer: () => respond(model, request) }),
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
  model.emit({ type: "refused", path, status: refusal.status, text: describe(model.access, path, words ?? []) });
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
