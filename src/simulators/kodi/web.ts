/** The web server: /jsonrpc by POST and GET (players.md 7.1), and a front page. */
import { timingSafeEqual } from "node:crypto";
import { decoded, type HttpOptions, type HttpResponse, type Reply, type Request } from "../bench/http.ts";
import { methods } from "./methods.ts";
import type { Model } from "./model.ts";
import { bytesAt, imageAt, isShown } from "./pictures.ts";
import { answerText } from "./rpc.ts";

const LIMIT = 1024 * 1024;
const JSON_TYPE = ["Content-Type", "application/json"] as const;

export function web(model: Model): HttpOptions {
  return {
    headers: [
      ["Accept-Ranges", "none"],
      ["Cache-Control", "private, max-age=0, no-cache"],
    ],
    limit: LIMIT,
    answer(request, body) {
      // A sleeping machine never answers.
      if (model.power !== "on") return "never";
      const [path = "", query = ""] = request.target.split("?", 2);
      const reply = refuse(model, request, path) ?? answer(model, request, query, body.toString("utf8"));
      // Refusals and answers to GET close the connection (Kodi 20.1, ran).
      if (typeof reply === "string" || (reply.status !== 401 && request.method === "POST")) return reply;
      return { ...reply, headers: [...(reply.headers ?? []), ["Connection", "close"]], hangUp: true };
    },
  };
}

function refuse(model: Model, request: Request, path: string): HttpResponse | null {
  if (!isAllowed(model, request.headers["authorization"] ?? ""))
    return {
      status: 401,
      headers: [["WWW-Authenticate", 'Basic realm="Kodi"']],
    };
  if (path === "/" && request.method === "GET")
    return { status: 200, headers: [["Content-Type", "text/html"]], body: "<!DOCTYPE html>\n<title>Kodi</title>\n" };
  if (path.startsWith("/vfs/")) return fileAt(model, nameIn(path));
  if (path.startsWith("/image/")) return pictureAt(model, nameIn(path));
  if (path !== "/jsonrpc") return NOT_FOUND;
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  return request.method === "POST" && type !== "application/json" ? { status: 415 } : null;
}

const NOT_FOUND: HttpResponse = {
  status: 404,
  body: "<html><head><title>File not found</title></head><body>File not found</body></html>",
};

/** The decoded rest of a path after its first part; null for malformed escapes. */
const nameIn = (path: string) => decoded(path.replace(/^\/\w+\//, ""));

/** Pictures have no Content-Type; an empty name is an error (Kodi 20.1, ran). */
function pictureAt(model: Model, name: string | null): HttpResponse {
  if (name === "") return { status: 500 };
  const body = name === null ? null : imageAt(model, name);
  return body === null ? NOT_FOUND : { status: 200, body };
}

/** A file outside of all sources gets 401 without WWW-Authenticate (Kodi 20.1, ran). */
function fileAt(model: Model, name: string | null): HttpResponse {
  if (name === "") return { status: 500 };
  const body = name === null ? null : bytesAt(model, name);
  const isThere = body !== null || model.options.media.some(({ file, poster }) => file === name || poster === name);
  if (!isThere) return NOT_FOUND;
  if (body === null || name === null || !isShown(model, name)) return { status: 401 };
  return { status: 200, headers: [["Content-Type", "image/png"]], body };
}

function isAllowed({ options: { user }, password }: Model, given: string): boolean {
  if (password === null) return true;
  const wanted = Buffer.from(`Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`);
  const sent = Buffer.from(given);
  return sent.length === wanted.length && timingSafeEqual(sent, wanted);
}

function answer(model: Model, request: Request, query: string, body: string): Reply {
  const asked = request.method === "POST" ? body : new URLSearchParams(query).get("request");
  // GET without a request describes all methods (Kodi 20.1, ran).
  if (asked === null) return { status: 200, headers: [JSON_TYPE], body: JSON.stringify(Object.keys(methods)) };
  const response = answerText(model, "http", asked);
  // A call without an id is executed, and the connection closed without a response (Kodi 20.1, ran).
  return response === null ? "reset" : { status: 200, headers: [JSON_TYPE], body: response };
}
