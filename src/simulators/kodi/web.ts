import { timingSafeEqual } from "node:crypto";
import type { Answer, HttpOptions, Plan, Request } from "../http.ts";
import { methods } from "./methods.ts";
import type { Model } from "./model.ts";

/** Answers a body; null when there is nothing to say. It throws when the process dies of it. */
export type Ask = (body: string) => string | null;

const LIMIT = 1024 * 1024;
const ALWAYS: HttpOptions["headers"] = [
  ["Accept-Ranges", "none"],
  ["Cache-Control", "private, max-age=0, no-cache"],
];
const JSON_TYPE = ["Content-Type", "application/json"] as const;

/** The web server: /jsonrpc by POST and GET (players.md 7.1), and a front page. */
export function web(model: Model, ask: Ask, crash: () => void): HttpOptions {
  return {
    headers: ALWAYS,
    record: () => {},
    plan(request): Plan {
      const [path = "", query = ""] = request.target.split("?", 2);
      // A machine that sleeps in silence: what is asked is never answered.
      if (model.power !== "on") return { limit: LIMIT, receive: () => {}, answer: () => "never" };
      const refusal = refuse(model, request, path);
      const pieces: Uint8Array[] = [];
      return {
        limit: LIMIT,
        receive: (chunk) => pieces.push(chunk),
        // Refusals and answers to GET close the connection (Kodi 20.1, ran).
        hangUp: refusal?.status === 401 || request.method !== "POST",
        answer: () => refusal ?? answer(request, query, Buffer.concat(pieces).toString("utf8"), ask, crash),
      };
    },
  };
}

function refuse(model: Model, request: Request, path: string): Answer | null {
  if (!isAllowed(model, request.headers["authorization"] ?? ""))
    return {
      status: 401,
      headers: [
        ["Connection", "close"],
        ["WWW-Authenticate", 'Basic realm="Kodi"'],
      ],
    };
  if (path === "/" && request.method === "GET")
    return { status: 200, headers: [["Content-Type", "text/html"]], body: "<!DOCTYPE html>\n<title>Kodi</title>\n" };
  if (path !== "/jsonrpc")
    return { status: 404, body: "<html><head><title>File not found</title></head><body>File not found</body></html>" };
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  return request.method === "POST" && type !== "application/json" ? { status: 415 } : null;
}

function isAllowed({ identity: { user }, password }: Model, given: string): boolean {
  if (password === null) return true;
  const wanted = Buffer.from(`Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`);
  const said = Buffer.from(given);
  return said.length === wanted.length && timingSafeEqual(said, wanted);
}

function answer(
  request: Request,
  query: string,
  body: string,
  ask: Ask,
  crash: () => void,
): ReturnType<Extract<Plan, { limit: number }>["answer"]> {
  const asked = request.method === "POST" ? body : new URLSearchParams(query).get("request");
  // GET without a request is the description of everything (Kodi 20.1, ran).
  if (asked === null) return { status: 200, headers: [JSON_TYPE], body: JSON.stringify(Object.keys(methods)) };
  let said: string | null;
  try {
    said = ask(asked);
  } catch {
    crash();
    return "reset";
  }
  // A call without an id is done, and the connection closed without an answer (Kodi 20.1, ran).
  return said === null ? "reset" : { status: 200, headers: [JSON_TYPE], body: said };
}
