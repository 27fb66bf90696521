/**
 * Edits the files in which clients list their servers: JSON, with comments and trailing commas where editors allow them. One
 * entry is written, and every other byte stays. Written by hand because no library passes test/mcp/jsonc.test.ts: `modify` of
 * jsonc-parser 3.3.1 formats the whole line that it writes on, moves a comment that follows the last entry behind ours,
 * replaces the first of two equal names where readers take the last, and refuses a byte order mark. Its parser, and that of
 * @humanwhocodes/momoa 3.3.13, overflow the stack on deep nesting. jsonc-morph 0.3.6 has no place of an error, takes the first
 * of two names, refuses the mark, and is 360 kB of WebAssembly; @croct/json5-parser 0.2.2 reads some megabytes in 20 s.
 */
import { isDeepStrictEqual } from "node:util";
import { isObject } from "../system/json.ts";

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
  /** The members of an object, and whether a comma follows the last. */
  readonly members?: readonly Member[];
  readonly hasTrailingComma?: boolean;
}

/** Deeper than the file of any client. */
const maxDepth = 200;
/** A byte order mark, too, is of `\s`. */
const blank = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;
const quote = /"/y;
/** A part of a string: as one pattern, a string of some million characters would exceed the limits of the runtimes. */
const part = /[^"\\\x00-\x1f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Parses a text. Fails with `JsonError`. */
export function parseJsonc(text: string): unknown {
  return parse(text).value;
}

/** Returns the text with an entry added to a section, or replaced. Fails with `JsonError`. */
export function withEntry(text: string, section: string, name: string, entry: unknown): string {
  const source = text.trim() === "" ? `{}${newlineOf(text)}` : text;
  const root = parse(source);
  const changed = place(source, root, [section, name], entry);
  // The result is parsed again before it is used: it must have the new entry, and all else unchanged.
  const wanted = { ...asObject(root.value) };
  wanted[section] = { ...asObject(wanted[section]), [name]: entry };
  if (!isDeepStrictEqual(parseJsonc(changed), wanted))
    throw new JsonError(source, 0, "the entry cannot be added to this file");
  return changed;
}

function place(text: string, node: Node, [key = "", ...rest]: readonly string[], entry: unknown): string {
  if (!node.members) throw new JsonError(text, node.start, `expected an object, found ${kindOf(node.value)}`);
  const member = node.members.findLast((one) => one.key === key);
  if (member && rest.length > 0) return place(text, member.value, rest, entry);
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
  const end = last?.value.end ?? node.start + 1;
  // After the last member and its comments.
  const at = end + text.slice(end, close).trimEnd().length;
  const comma = last && !node.hasTrailingComma ? "," : "";
  const head = text.slice(0, end) + comma + text.slice(end, at);
  if (inner === null) return `${head} ${line}${text.slice(at)}`;
  const newline = newlineOf(text);
  const isClosed = /\n/.test(text.slice(at, close));
  return `${head}${newline}${inner}${line}${isClosed ? "" : newline + (indentAt(text, node.start) ?? "")}${text.slice(isClosed ? at : close)}`;
}

/** A value in the style of the file: on one line, or on several. */
function written(text: string, value: unknown, indent: string | null): string {
  if (indent === null) return JSON.stringify(value);
  return JSON.stringify(value, null, unitOf(text)).replaceAll("\n", newlineOf(text) + indent);
}

/** The indentation of the line of a value or a member; `null` where other values precede it on that line. */
function indentAt(text: string, at: number): string | null {
  const before = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return /^([ \t]*)(?:"(?:[^"\\]|\\.)*"\s*:\s*)?$/.exec(before)?.[1] ?? null;
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
    const start = at;
    if (take(quote) !== null) while (take(part) !== null);
    if (at === start || take(quote) === null) fail('expected text in double quotes (")', start);
    return JSON.parse(text.slice(start, at)) as string;
  };
  /** Parses items up to a closing bracket; returns whether a comma follows the last. */
  const list = (close: string, item: () => void): boolean => {
    /** Whether a comma follows the last item; unset before the first. */
    let hasComma: boolean | undefined;
    at++;
    for (;;) {
      skip();
      if (text[at] === close) break;
      if (at >= text.length) fail(`the closing ${close} is missing`);
      if (hasComma === false) fail(`expected a comma or ${close}`);
      item();
      skip();
      hasComma = text[at] === ",";
      if (hasComma) at++;
    }
    at++;
    return hasComma === true;
  };
  const node = (depth: number): Node => {
    if (depth > maxDepth) fail(`nested deeper than ${maxDepth} levels`);
    const start = at;
    if (text[at] === "{") {
      const members: Member[] = [];
      const hasTrailingComma = list("}", () => {
        const place = at;
        const key = word();
        skip();
        if (text[at] !== ":") fail("expected a colon after the name");
        at++;
        skip();
        members.push({ key, start: place, value: node(depth + 1) });
      });
      const value = Object.fromEntries(members.map((member) => [member.key, member.value.value]));
      return { start, end: at, value, members, hasTrailingComma };
    }
    if (text[at] === "[") {
      const items: unknown[] = [];
      list("]", () => void items.push(node(depth + 1).value));
      return { start, end: at, value: items };
    }
    if (text[at] === '"') return { value: word(), start, end: at };
    const found = take(scalar) ?? fail(at < text.length ? "expected a value" : "the file ends too early");
    return { start, end: at, value: JSON.parse(found) };
  };
  skip();
  const root = node(0);
  skip();
  if (at < text.length) fail("unexpected text after the end");
  return root;
}
