/**
 * Lenient reading of the small XML documents that devices write: elements, attributes and text. Document types and
 * entities of its own are refused unread, and elements are counted before one is made (SECURITY.md T8, T34).
 *
 * Not a library: the one that stood here needed 37 ms and 19 MiB for a list of 1,900 apps, one character of text at a time,
 * where a document of a megabyte may cost 20 ms and 8 MiB. What is read here is cut out of the text, each part once.
 */
import { ZapdError } from "../api/errors.ts";
import type { Answer } from "./http-answer.ts";

/** One element. Names are as written; `text` is trimmed and decoded. */
export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly Element[];
  readonly text: string;
}

const maxDepth = 64;
const maxElements = 20_000;
/** Characters of one text or attribute; no device says anything as long. */
const longestValue = 8_192;

/**
 * The text of a document, in the charset that its byte order mark, its header or its own declaration names: the first of
 * these that is a charset and fits the bytes. Sets write UTF-8; what fits nothing is read as that, with U+FFFD in its gaps.
 */
export function documentText({ headers, body }: Pick<Answer, "headers" | "body">): string {
  const start = new TextDecoder("latin1").decode(body.subarray(0, 256));
  const mark = Object.entries(marks).find(([bytes]) => start.startsWith(bytes))?.[1];
  const header = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(headers.get("content-type") ?? "")?.[1];
  // One that can be read as it stands is not in a charset of two bytes, whatever it says.
  const declared = /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([^"']+)/.exec(start)?.[1]?.replace(/^utf-?16.*/i, "utf-8");
  for (const charset of [mark, header, declared, "utf-8"]) {
    const text = charset === undefined ? null : decodeAs(charset, body);
    if (text?.includes("<")) return text;
  }
  return new TextDecoder().decode(body);
}

const marks = { "\xef\xbb\xbf": "utf-8", "\xff\xfe": "utf-16le", "\xfe\xff": "utf-16be" } as const;

/** `null` where the charset is not known, or the bytes are none of it. */
function decodeAs(charset: string, bytes: Uint8Array): string | null {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/**
 * Reads a document and gives its root element. Fails with `device_error` when there is none, when the document is cut
 * short, or when its root is another than `expected`: an error page of a set is no empty list.
 */
export function readXml(text: string, expected?: string): Element {
  if (/<!(DOCTYPE|ENTITY)/i.test(text)) throw unreadable();
  if (countElements(text) > maxElements)
    throw new ZapdError("device_error", `answered with a document of more than ${maxElements} elements`);
  const root = parse(text);
  if (!root) throw unreadable();
  if (expected !== undefined && root.name.toLowerCase() !== expected)
    throw new ZapdError("device_error", "answered with another document than the one that was asked for");
  return root;
}

/** The first child of that name. */
export function child(element: Element | undefined, name: string): Element | undefined {
  return element?.children.find((one) => one.name === name);
}

/** The text of the first child of that name; `null` when it is absent or empty. */
export function childText(element: Element | undefined, name: string): string | null {
  return child(element, name)?.text || null;
}

/** Every child of that name. */
export function childrenOf(element: Element | undefined, name: string): readonly Element[] {
  return element?.children.filter((one) => one.name === name) ?? [];
}

/** How many elements begin in a text, at most one more than are read. */
function countElements(text: string): number {
  let count = 0;
  for (let at = text.indexOf("<"); at !== -1 && count <= maxElements; at = text.indexOf("<", at + 1)) {
    const next = text.charCodeAt(at + 1);
    if (next !== slash && next !== exclamation && next !== question) count++;
  }
  return count;
}

const [slash, exclamation, question, doubleQuote, singleQuote, greaterThan] = [0x2f, 0x21, 0x3f, 0x22, 0x27, 0x3e];

/** One walk from tag to tag. An end that is missing ends the walk, so nothing is searched for twice. */
function parse(text: string): Element | undefined {
  let root: Parsed | undefined;
  const open: Parsed[] = [];
  let at = 0;
  for (let start = text.indexOf("<"); start !== -1; start = text.indexOf("<", at)) {
    const within = open.at(-1);
    if (start > at) within?.addText(text.slice(at, start));
    const next = text.charCodeAt(start + 1);
    if (next === exclamation && text.startsWith("<!--", start)) at = behind(text, "-->", start + 4);
    else if (next === exclamation && text.startsWith("<![CDATA[", start)) {
      at = behind(text, "]]>", start + 9);
      // What stands in it is meant as it is written.
      within?.addText(text.slice(start + 9, at - 3).replaceAll("&", "&amp;"));
    } else if (next === question) at = behind(text, "?>", start + 2);
    else if (next === exclamation) at = behind(text, ">", start + 2);
    else if (next === slash) {
      at = behind(text, ">", start + 2);
      // Whichever name it says: devices are careless, and a document is either closed or not.
      open.pop();
      if (open.length === 0 && root) return root;
    } else {
      const end = tagEnd(text, start + 1);
      at = end + 1;
      const empty = text.charCodeAt(end - 1) === slash;
      const element = new Parsed(text.slice(start + 1, empty ? end - 1 : end));
      root ??= element;
      within?.add(element);
      if (empty && root === element) return root;
      if (!empty && open.push(element) > maxDepth) throw unreadable();
    }
  }
  throw unreadable();
}

/** The index behind the next `end`; a document without it is cut short. */
function behind(text: string, end: string, from: number): number {
  const found = text.indexOf(end, from);
  if (found === -1) throw unreadable();
  return found + end.length;
}

/** The index of the `>` that ends a tag: one in quotes does not. */
function tagEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === greaterThan) return at;
    if (code === doubleQuote || code === singleQuote) at = behind(text, text.charAt(at), at + 1) - 1;
  }
  throw unreadable();
}

const noChildren: readonly Element[] = [];

/** An element whose attributes and text are decoded when somebody wants them: most are never looked at. */
class Parsed implements Element {
  readonly name: string;
  children: readonly Element[] = noChildren;
  /** What stands between its brackets behind the name, and in it, both as written. */
  private readonly tag: string;
  private inside = "";

  constructor(tag: string) {
    const blank = tag.search(/\s/);
    this.name = blank === -1 ? tag : tag.slice(0, blank);
    this.tag = blank === -1 ? "" : tag.slice(blank);
    if (this.name === "") throw unreadable();
  }

  get attributes(): Record<string, string> {
    return Object.fromEntries(attributesIn(this.tag));
  }

  get text(): string {
    return decode(this.inside).trim();
  }

  add(element: Element): void {
    if (this.children === noChildren) this.children = [element];
    else (this.children as Element[]).push(element);
  }

  addText(text: string): void {
    const trimmed = text.trim();
    if (trimmed !== "") this.inside += trimmed;
  }
}

/** A name without a value is stepped over by the same pattern, so that none is looked at twice. */
function attributesIn(tag: string): [string, string][] {
  const found: [string, string][] = [];
  for (const [, name = "", quoted, apostrophed] of tag.matchAll(/([^\s=]+)\s*(?:=\s*(?:"([^"]*)"|'([^']*)'))?/g)) {
    const value = quoted ?? apostrophed;
    if (value !== undefined) found.push([name, decode(value.trim())]);
  }
  return found;
}

const named: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Decodes the five entities of XML and character references, once. Controls, which no set means, become spaces. */
function decode(given: string): string {
  // A copy: what is kept of a document must not keep the whole of it in memory.
  const text = Buffer.from(given.slice(0, longestValue)).toString();
  if (!/[&\p{Cc}]/u.test(text)) return text;
  const decoded = text.replace(
    /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-f]{1,6}));/gi,
    (whole, name, decimal, hex) => {
      if (name) return named[String(name).toLowerCase()] ?? whole;
      const point = decimal ? Number.parseInt(decimal, 10) : Number.parseInt(hex, 16);
      return point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff) ? String.fromCodePoint(point) : "";
    },
  );
  return decoded.replace(/\p{Cc}/gu, " ");
}

function unreadable(): ZapdError {
  return new ZapdError("device_error", "answered with a document that cannot be read");
}
