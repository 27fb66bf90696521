/**
 * Lenient reading of the small XML documents that devices write: elements, attributes and text. Document types and
 * entities of its own are refused unread, and what costs most is counted before it is parsed (SECURITY.md T8, T34): a
 * document of a megabyte may cost 20 ms and 8 MiB.
 */
import { Parser } from "htmlparser2";
import { type DeviceError, protocolError } from "../api/errors.ts";
import type { Answer } from "./http-connection.ts";

const maxDepth = 64;
const maxElements = 20_000;
/** Beginnings, ends, comments and instructions together: an element that holds text has two. */
const maxTags = 3 * maxElements;
/** In one element; the most that a set writes is ten. */
const maxAttributes = 100;
/** Characters of one text or attribute, where nobody expects more; no name or address is as long. */
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
  refuseTooMany(text);
  const root = parse(text);
  if (!root) throw unreadable();
  if (root.name.includes(":")) dropPrefix(root, root.name.slice(0, root.name.indexOf(":") + 1));
  if (expected !== undefined && root.name.toLowerCase() !== expected)
    throw protocolError("answered with another document than the one that was asked for");
  return root;
}

/** What has the prefix of the root is of the namespace that another document has as its default: it is called as it is there. */
function dropPrefix(element: Element, prefix: string): void {
  if (element.name.startsWith(prefix)) element.name = element.name.slice(prefix.length);
  for (const one of element.children) dropPrefix(one, prefix);
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

/** Counts before anything is parsed: each tag costs time, and each element memory. */
function refuseTooMany(text: string): void {
  let elements = 0;
  let tags = 0;
  for (let at = text.indexOf("<"); at !== -1; at = text.indexOf("<", at + 1)) {
    const next = text.charAt(at + 1);
    if (next !== "/" && next !== "!" && next !== "?") elements++;
    if (elements > maxElements || ++tags > maxTags)
      throw protocolError(`answered with a document of more than ${maxElements} elements`);
  }
}

/** The root, once it is closed; what stands behind it is not read. */
function parse(text: string): Element | undefined {
  let root: Element | undefined;
  let isClosed = false;
  let isLiteral = false;
  const open: Element[] = [];
  const parser: Parser = new Parser(
    {
      onopentagname(name) {
        const element = new Element(copy(name));
        root ??= element;
        open.at(-1)?.children.push(element);
        if (open.push(element) > maxDepth) throw unreadable();
      },
      onattribute: (name, value) => open.at(-1)?.addAttribute(name, value),
      ontext: (part) => open.at(-1)?.addText(isLiteral ? part.replaceAll("&", "&amp;") : part),
      oncdatastart() {
        isLiteral = true;
      },
      oncdataend() {
        isLiteral = false;
      },
      onclosetag() {
        open.pop();
        isClosed = open.length === 0;
        if (isClosed) parser.pause();
      },
    },
    // Entities are decoded with the few texts that somebody looks at.
    { xmlMode: true, decodeEntities: false },
  );
  // Not ended: that would close what a document that is cut short leaves open.
  parser.write(text);
  return isClosed ? root : undefined;
}

/**
 * One element. Names are as written, without the prefix that the root has; `text` is trimmed and decoded. Attributes and text are decoded when somebody wants
 * them: most are never looked at.
 */
export class Element {
  name: string;
  readonly children: Element[] = [];
  /** Names and values in turn, and the text, both as written. */
  readonly #written: string[] = [];
  #inside = "";

  constructor(name: string) {
    this.name = name;
  }

  get attributes(): Readonly<Record<string, string>> {
    const written = this.#written;
    return Object.fromEntries(written.flatMap((name, at) => (at % 2 ? [] : [[name, decode(written[at + 1] ?? "")]])));
  }

  get text(): string {
    return this.textUpTo(longestValue);
  }

  /** The same, of so many characters as they are written. */
  textUpTo(characters: number): string {
    return decode(this.#inside, characters).trim();
  }

  addAttribute(name: string, value: string): void {
    if (this.#written.push(name, value.trim()) > 2 * maxAttributes) throw unreadable();
  }

  addText(text: string): void {
    const trimmed = text.trim();
    if (trimmed !== "") this.#inside += trimmed;
  }
}

const named: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Decodes the five entities of XML and character references, once. Controls, which no set means, become spaces. */
function decode(given: string, characters = longestValue): string {
  const text = copy(given.slice(0, characters));
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

/** What is kept of a document must not keep the whole of it in memory. */
function copy(text: string): string {
  return Buffer.from(text).toString();
}

function unreadable(): DeviceError {
  return protocolError("answered with a document that cannot be read");
}
