/**
 * The page a Roku's installer answers with: always 200, whether it worked or not. What it says stands in one of three
 * places (protocols/roku.md 2.1), or in plain sight where a page has none of them. Pure.
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

const received = /^application received: \d/i;

/** Reads the page; anything that is not recognised is `unknown`, and so not installed. */
export function readInstallPage(html: string): InstallPage {
  const marked = unique([...fromParams(html), ...fromShell(html), ...fromFont(html)]);
  const messages = marked.length > 0 ? marked : unique(fromText(html));
  const texts = messages.map((message) => message.text);
  const says = (pattern: RegExp) => texts.some((text) => pattern.test(text));
  if (/failed to check for software update/i.test(html)) return { outcome: "update-required", messages: texts };
  if (says(/identical to previous version/i)) return { outcome: "identical", messages: texts };
  if (messages.some(isFailure)) return { outcome: "rejected", messages: texts };
  // That the bytes have come says nothing of the installation.
  if (
    messages.some(
      ({ text, type }) => /\binstall(ation)? succe/i.test(text) || (type === "success" && !received.test(text)),
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
      found.push({ text: clean(wordOf(text)), type: wordOf(type) });
  }
  return found;
}

/** `Shell.create('Roku.Message').trigger('Set message type', 'error').trigger('Set message content', '…')` */
function fromShell(html: string): Message[] {
  const pattern = /'Set message type',\s*'(\w+)'\s*\)\s*\.trigger\(\s*'Set message content',\s*'((?:[^'\\]|\\.)*)'/gs;
  return [...html.matchAll(pattern)].map(([, type = "", text = ""]) => ({ text: clean(unquote(text)), type }));
}

/**
 * `<font color="red">…</font>`, for failure and success alike. Not one pattern for both ends: a page of nothing but
 * beginnings would be searched to its end for each.
 */
function fromFont(html: string): Message[] {
  const parts = html.split(/<font color="red">/i).slice(1);
  return parts.flatMap((part) => {
    const end = part.search(/<\/font>/i);
    return end === -1 ? [] : [{ text: clean(part.slice(0, end)), type: "" }];
  });
}

/** What an installer says of a package, as distinct from what a page says of itself. */
const verdict =
  /\bapplication received:|\binstall(ation)? (succe|fail)|\bidentical to previous version|\bcompilation failed|\bno manifest\b/i;

/** The texts between the tags that tell of a package; scripts and styles are none. */
function fromText(html: string): Message[] {
  const found: Message[] = [];
  let silent: string | undefined;
  for (const part of html.split("<").slice(1)) {
    const name = /^\/?[a-z]+/i.exec(part)?.[0].toLowerCase();
    if (silent !== undefined && name !== `/${silent}`) continue;
    silent = name === "script" || name === "style" ? name : undefined;
    const text = part.slice(part.indexOf(">") + 1, 4_000);
    if (silent === undefined && verdict.test(text)) found.push({ text: decoded(clean(text)), type: "" });
  }
  return found;
}

const entities: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };

function decoded(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/gi, (entity) => entities[entity.toLowerCase()] ?? entity);
}

const escapes: Record<string, string> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f", v: "\v" };

/** Undoes the escapes of a JavaScript string in single quotes. */
function unquote(literal: string): string {
  return literal.replace(/\\(u[0-9a-f]{4}|x[0-9a-f]{2}|.)/gis, (_whole, code: string) => {
    if (code.length > 1) return String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return escapes[code] ?? code;
  });
}

function wordOf(value: unknown): string {
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
    if (message.text === "") continue;
    const before = seen.get(message.text);
    if (!before || before.type === "") seen.set(message.text, message);
  }
  return [...seen.values()];
}
