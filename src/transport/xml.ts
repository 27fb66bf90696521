/**
 * Reads the small XML documents of devices leniently: elements, attributes and text. Document types and entity declarations are
 * refused, and tags are counted before parsing (SECURITY.md T8, T34): a document of a megabyte may take 20 ms and 8 MiB.
 */
import { Parser } from "htmlparser2";
import { type DeviceError, protocolError } from "../api/errors.ts";
import { tryOr } from "../system/try-or.ts";
import type { Answer } from "./http-connection.ts";

const maxDepth = 64;
const maxElements = 20_000;
/** Start tags, end tags, comments and instructions together. */
const maxTags = 3 * maxElements;
/** Of one element; no known set writes more than ten. */
const maxAttributes = 100;
/** In characters, of a text or an attribute: no name or address is as long. */
const maxValueLength = 8_192;

/**
 * The text of a document, in the charset of its byte order mark, its header or its declaration: the first that decodes the
 * bytes. Where none does, it is read as UTF-8, with U+FFFD for wrong bytes.
 */
export function documentText({ headers, body }: Pick<Answer, "headers" | "body">): string {
  const start = new TextDecoder("latin1").decode(body.subarray(0, 256));
  const mark = Object.entries(marks).find(([bytes]) => start.startsWith(bytes))?.[1];
  const header = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(headers.get("content-type") ?? "")?.[1];
  // A declaration that can be read as latin1 is not in UTF-16, whatever it says.
  const declared = /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([^"']+)/.exec(start)?.[1]?.replace(/^utf-?16.*/i, "utf-8");
  for (const charset of [mark, header, declared, "utf-8"]) {
    // `null` where the charset is unknown, or does not fit the bytes.
    const text = charset && tryOr(() => new TextDecoder(charset, { fatal: true }).decode(body), null);
    if (text?.includes("<")) return text;
  }
  return new TextDecoder().decode(body);
}

const marks = { "\xef\xbb\xbf": "utf-8", "\xff\xfe": "utf-16le", "\xfe\xff": "utf-16be" } as const;

/**
 * Reads a document, and returns its root element. Fails with `device_error` when it is no complete document, or its root is not
 * `expected`, as in an error page.
 */
export function readXml(text: string, expected?: string): Element {
  if (/<!(DOCTYPE|ENTITY)/i.test(text)) throw unreadable();
  refuseTooMany(text);
  const root = parse(text);
  if (!root) throw unreadable();
  if (root.name.includes(":")) dropPrefix(root, root.name.slice(0, root.name.indexOf(":") + 1));
  if (expected !== undefined && root.name.toLowerCase() !== expected)
    throw protocolError("answered with a different document from the one requested");
  return root;
}

/** Removes the namespace prefix of the root, as other sets write the same documents without one. */
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

export function childrenOf(element: Element | undefined, name: string): readonly Element[] {
  return element?.children.filter((one) => one.name === name) ?? [];
}

/** Called before parsing: each tag takes time, and each element memory. */
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

/** The root, where it is closed; text after it is not read. */
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
    // Entities are decoded when a text is read.
    { xmlMode: true, decodeEntities: false },
  );
  // Without `end`, which would close the open elements of a document that is cut short.
  parser.write(text);
  return isClosed ? root : undefined;
}

/**
 * One element. Its name is without the prefix of the root; `text` is trimmed. Attributes and text are decoded when they are read,
 * as most never are.
 */
export class Element {
  name: string;
  readonly children: Element[] = [];
  /** Names and values in turn, not decoded. */
  readonly #rawAttributes: string[] = [];
  #rawText = "";

  constructor(name: string) {
    this.name = name;
  }

  get attributes(): Readonly<Record<string, string>> {
    const rawAttributes = this.#rawAttributes;
    return Object.fromEntries(
      rawAttributes.flatMap((name, at) => (at % 2 ? [] : [[name, decode(rawAttributes[at + 1] ?? "")]])),
    );
  }

  get text(): string {
    return this.textUpTo(maxValueLength);
  }

  /** The text of the first `characters` raw characters. */
  textUpTo(characters: number): string {
    return decode(this.#rawText, characters).trim();
  }

  addAttribute(name: string, value: string): void {
    if (this.#rawAttributes.push(name, value.trim()) > 2 * maxAttributes) throw unreadable();
  }

  addText(text: string): void {
    this.#rawText += this.#rawText === "" ? text.trimStart() : text;
  }
}

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Decodes the five entities of XML and character references, once. Control characters become spaces. */
export function decode(raw: string, characters = maxValueLength): string {
  const text = copy(raw.slice(0, characters));
  if (!/[&\p{Cc}]/u.test(text)) return text;
  const decoded = text.replace(
    /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-f]{1,6}));/gi,
    (whole, name, decimal, hex) => {
      if (name) return entities[String(name).toLowerCase()] ?? whole;
      const point = decimal ? Number.parseInt(decimal, 10) : Number.parseInt(hex, 16);
      return point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff) ? String.fromCodePoint(point) : "";
    },
  );
  return decoded.replace(/\p{Cc}/gu, " ");
}

/** A slice would keep the whole document in memory. */
function copy(text: string): string {
  return Buffer.from(text).toString();
}

function unreadable(): DeviceError {
  return protocolError("answered with a document that cannot be read");
}
