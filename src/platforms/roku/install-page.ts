/**
 * Reads the page that a Roku's installer answers with: always 200, whether it worked or not. Its messages are in one of three
 * places (protocols/roku.md 2.1), else in its visible text. Pure.
 */

import { asJson, listOf, readJson } from "../../transport/json.ts";

export type Outcome = "installed" | "identical" | "rejected" | "update-required" | "unknown";

export interface InstallPage {
  readonly outcome: Outcome;
  readonly messages: readonly string[];
}

interface Message {
  readonly text: string;
  readonly type: string;
}

const uploadReceived = /^application received: \d/i;

/** A page that is not recognised is `unknown`: nothing is taken for installed. */
export function readInstallPage(html: string): InstallPage {
  const marked = unique([...fromParams(html), ...fromShell(html), ...fromFont(html)]);
  const messages = marked.length > 0 ? marked : unique(fromText(html));
  const texts = messages.map((message) => message.text);
  const isAny = (pattern: RegExp) => texts.some((text) => pattern.test(text));
  if (/failed to check for software update/i.test(html)) return { outcome: "update-required", messages: texts };
  if (isAny(/identical to previous version/i)) return { outcome: "identical", messages: texts };
  if (messages.some(isFailure)) return { outcome: "rejected", messages: texts };
  // "Application Received" is a success of the upload only.
  if (
    messages.some(
      ({ text, type }) =>
        /\b((un)?install(ation)?|delete) succe/i.test(text) || (type === "success" && !uploadReceived.test(text)),
    )
  )
    return { outcome: "installed", messages: texts };
  return { outcome: "unknown", messages: texts };
}

function isFailure(message: Message): boolean {
  return message.type === "error" || /\b(failure|failed|invalid|no manifest|corrupt)\b/i.test(message.text);
}

/** `var params = JSON.parse('{"messages":[{"text":…,"type":…}]}')`; other JSON.parse calls hold numbers or arrays. */
function fromParams(html: string): Message[] {
  const found: Message[] = [];
  for (const [, literal = ""] of html.matchAll(/JSON\.parse\(\s*'((?:[^'\\]|\\.)*)'\s*\)/gs)) {
    for (const { text, type } of listOf(asJson(readJson(unquote(literal))), "messages"))
      found.push({ text: clean(toText(text)), type: toText(type) });
  }
  return found;
}

/** `Shell.create('Roku.Message').trigger('Set message type', 'error').trigger('Set message content', '…')` */
function fromShell(html: string): Message[] {
  const pattern = /'Set message type',\s*'(\w+)'\s*\)\s*\.trigger\(\s*'Set message content',\s*'((?:[^'\\]|\\.)*)'/gs;
  return [...html.matchAll(pattern)].map(([, type = "", text = ""]) => ({ text: clean(unquote(text)), type }));
}

/**
 * `<font color="red">…</font>`, for failure and success alike. Split, as one pattern would search a page of many start tags
 * to its end for each of them.
 */
function fromFont(html: string): Message[] {
  const parts = html.split(/<font color="red">/i).slice(1);
  return parts.flatMap((part) => {
    const end = part.search(/<\/font>/i);
    return end === -1 ? [] : [{ text: clean(part.slice(0, end)), type: "" }];
  });
}

/** Texts about a package. */
const verdict =
  /\bapplication received:|\b((un)?install(ation)?|delete) (succe|fail)|\bidentical to previous version|\bcompilation failed|\bno manifest\b/i;

/** The visible texts about a package, without scripts and styles. */
function fromText(html: string): Message[] {
  const found: Message[] = [];
  let skippedTag: string | undefined;
  for (const part of html.split("<").slice(1)) {
    const name = /^\/?[a-z]+/i.exec(part)?.[0].toLowerCase();
    if (skippedTag !== undefined && name !== `/${skippedTag}`) continue;
    skippedTag = name === "script" || name === "style" ? name : undefined;
    const text = part.slice(part.indexOf(">") + 1, 4_000);
    if (skippedTag === undefined && verdict.test(text)) found.push({ text: decoded(clean(text)), type: "" });
  }
  return found;
}

const entities: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };

function decoded(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/gi, (entity) => entities[entity.toLowerCase()] ?? entity);
}

const escapes: Record<string, string> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f", v: "\v" };

/** Resolves the escapes of a JavaScript string. */
function unquote(literal: string): string {
  return literal.replace(/\\(u[0-9a-f]{4}|x[0-9a-f]{2}|.)/gis, (_whole, code: string) => {
    if (code.length > 1) return String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return escapes[code] ?? code;
  });
}

function toText(value: unknown): string {
  return typeof value === "object" ? "" : String(value ?? "");
}

function clean(text: string): string {
  return text
    .slice(0, 4_000)
    .replace(/<[^>]*>/g, " ")
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, 1_000);
}

function unique(messages: readonly Message[]): Message[] {
  const seen = new Map<string, Message>();
  for (const message of messages) {
    if (message.text !== "" && !seen.has(message.text)) seen.set(message.text, message);
  }
  return [...seen.values()];
}
