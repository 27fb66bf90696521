/**
 * The files in which clients list their servers: JSON, where editors allow comments and trailing commas. One entry is put in
 * its place, and every other byte stays.
 */
import { isObject } from "../system/json.ts";

/** Where a text is no JSON, and why. */
export class JsonError extends Error {
  readonly line: number;
  readonly column: number;

  constructor(text: string, at: number, what: string) {
    super(what);
    const before = text.slice(0, at).split("\n");
    this.line = before.length;
    this.column = (before.at(-1) ?? "").length + 1;
  }
}

interface Member {
  readonly key: string;
  readonly start: number;
  readonly value: Node;
}

interface Node {
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
  /** Of an object: what is in it, and whether a comma stands behind the last. */
  readonly members?: readonly Member[];
  readonly isOpen?: boolean;
}

/** Deeper than any client writes. */
const deepest = 200;
const blank = /(?:[\s\ufeff]|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;
const string = /"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

/** The value of a text. Fails with JsonError. */
export function parseJsonc(text: string): unknown {
  return parse(text).value;
}

/** The text with an entry in a section of it, made or put in the place of the one before. Fails with JsonError. */
export function withEntry(text: string, section: string, name: string, entry: unknown): string {
  const given = text.replace(/[\s\ufeff]*$/, "") === "" ? `{}${newlineOf(text)}` : text;
  const root = parse(given);
  const changed = placed(given, root, [section, name], entry);
  // What was written is read back before it takes the place of anything: one entry is new, and all else is as it was.
  const wanted = { ...asObject(root.value) };
  wanted[section] = { ...asObject(wanted[section]), [name]: entry };
  if (!isSame(parseJsonc(changed), wanted)) throw new JsonError(given, 0, "cannot be changed in its place");
  return changed;
}

function placed(text: string, node: Node, [key = "", ...rest]: readonly string[], entry: unknown): string {
  if (!node.members) throw new JsonError(text, node.start, `holds ${kindOf(node.value)} where an object is meant`);
  const member = node.members.findLast((one) => one.key === key);
  if (member && rest.length > 0) return placed(text, member.value, rest, entry);
  const value = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), entry);
  if (member) {
    const { start, end } = member.value;
    return text.slice(0, start) + written(text, value, indentAt(text, member.start)) + text.slice(end);
  }
  return inserted(text, node, key, value);
}

function inserted(text: string, node: Node, key: string, value: unknown): string {
  const last = node.members?.at(-1);
  const inner = last ? indentAt(text, last.start) : (indentAt(text, node.start) ?? "") + unitOf(text);
  const line = `${JSON.stringify(key)}: ${written(text, value, inner)}`;
  const close = node.end - 1;
  // Behind what stands there last, comments too.
  const at =
    (last?.value.end ?? node.start + 1) + text.slice(last?.value.end ?? node.start + 1, close).trimEnd().length;
  const comma = last && !node.isOpen ? "," : "";
  const head = last ? text.slice(0, last.value.end) + comma + text.slice(last.value.end, at) : text.slice(0, at);
  if (inner === null) return `${head} ${line}${text.slice(at)}`;
  const newline = newlineOf(text);
  const isClosed = /\n/.test(text.slice(at, close));
  return `${head}${newline}${inner}${line}${isClosed ? "" : newline + (indentAt(text, node.start) ?? "")}${text.slice(isClosed ? at : close)}`;
}

/** A value as the rest of the file is written: in lines, or in one. */
function written(text: string, value: unknown, indent: string | null): string {
  if (indent === null) return JSON.stringify(value);
  return JSON.stringify(value, null, unitOf(text)).replaceAll("\n", newlineOf(text) + indent);
}

/** What stands before a place on its line; `null` where that is more than blanks, but for the beginning of the file. */
function indentAt(text: string, at: number): string | null {
  const before = text.slice(text.lastIndexOf("\n", at - 1) + 1, at).replace(/^\ufeff/, "");
  return /^[ \t]*$/.test(before)
    ? before
    : /^[ \t]*("(?:[^"\\]|\\.)*"\s*:\s*)$/.test(before)
      ? (/^[ \t]*/.exec(before)?.[0] ?? "")
      : null;
}

function unitOf(text: string): string {
  return /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
}

function newlineOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

function asObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  return value === null ? "null" : `a ${typeof value}`;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, inside]) => [key, sorted(inside)]);
}

function parse(text: string): Node {
  let at = 0;
  const fail = (what: string, where = at): never => {
    throw new JsonError(text, where, what);
  };
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? null;
    at += found?.length ?? 0;
    return found;
  };
  const skip = () => void take(blank);
  const word = (): string => {
    const found = take(string) ?? fail('has no text in quotes (") here');
    return JSON.parse(found) as string;
  };
  /** What is between brackets, each read by `one`; whether a comma stands behind the last. */
  const list = (close: string, one: () => void): boolean => {
    let isOpen = false;
    let isFirst = true;
    at++;
    for (;;) {
      skip();
      if (text[at] === close) break;
      if (at >= text.length) fail(`ends before its ${close}`);
      if (!isFirst && !isOpen) fail(`has no comma, and no ${close}, here`);
      one();
      isFirst = false;
      skip();
      isOpen = text[at] === ",";
      if (isOpen) at++;
    }
    at++;
    return isOpen;
  };
  const node = (depth: number): Node => {
    if (depth > deepest) fail(`is nested deeper than ${deepest} levels`);
    const start = at;
    if (text[at] === "{") {
      const members: Member[] = [];
      const isOpen = list("}", () => {
        const place = at;
        const key = word();
        skip();
        if (text[at] !== ":") fail("has no colon behind a name here");
        at++;
        skip();
        members.push({ key, start: place, value: node(depth + 1) });
      });
      const value = Object.fromEntries(members.map((member) => [member.key, member.value.value]));
      return { start, end: at, value, members, isOpen };
    }
    if (text[at] === "[") {
      const items: unknown[] = [];
      list("]", () => void items.push(node(depth + 1).value));
      return { start, end: at, value: items };
    }
    if (text[at] === '"') return { value: word(), start, end: at };
    const found = take(scalar) ?? fail(at < text.length ? "has no value here" : "ends too early");
    return { start, end: at, value: JSON.parse(found) };
  };
  skip();
  const root = node(0);
  skip();
  if (at < text.length) fail("goes on behind its end");
  return root;
}
