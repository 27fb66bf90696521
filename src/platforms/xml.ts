/**
 * Lenient reading of the small XML documents that devices write. Document types and entities of its own are refused
 * before parsing; the byte cap of the call is the real defence (SECURITY.md T8).
 */
import { XMLParser } from "fast-xml-parser";
import { ZapdError } from "../errors.ts";

/** One element. Names are as written; `text` is trimmed and decoded. */
export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly Element[];
  readonly text: string;
}

const maxDepth = 64;
const maxElements = 20_000;

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: "",
  parseTagValue: false,
  parseAttributeValue: false,
  processEntities: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  trimValues: true,
});

/** Reads a document and gives its root element; fails with `device_error` when there is none. */
export function readXml(text: string): Element {
  if (/<!(DOCTYPE|ENTITY)/i.test(text)) throw unreadable();
  const root = elementsOf(parse(text), 0, { left: maxElements })[0];
  if (!root) throw unreadable();
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

function parse(text: string): unknown {
  try {
    return parser.parse(text);
  } catch (cause) {
    throw unreadable(cause);
  }
}

function elementsOf(nodes: unknown, depth: number, budget: { left: number }): Element[] {
  if (depth > maxDepth) throw unreadable();
  const elements: Element[] = [];
  for (const node of Array.isArray(nodes) ? nodes : []) {
    if (typeof node !== "object" || node === null) continue;
    const name = Object.keys(node).find((key) => key !== ":@" && key !== "#text");
    if (name === undefined) continue;
    if (--budget.left < 0) throw unreadable();
    const { [name]: inside, ":@": attributes } = node as Record<string, unknown>;
    elements.push({
      name,
      attributes: attributesOf(attributes),
      children: elementsOf(inside, depth + 1, budget),
      text: textIn(inside),
    });
  }
  return elements;
}

function attributesOf(attributes: unknown): Record<string, string> {
  const pairs = Object.entries(typeof attributes === "object" && attributes !== null ? attributes : {});
  return Object.fromEntries(pairs.map(([name, value]) => [name, decode(String(value))]));
}

function textIn(nodes: unknown): string {
  if (!Array.isArray(nodes)) return "";
  const texts = nodes.flatMap((node: unknown) =>
    typeof node === "object" && node !== null && "#text" in node ? [String(node["#text"])] : [],
  );
  return decode(texts.join("")).trim();
}

const named: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Decodes the five entities of XML and character references, once. Controls, which no set means, become spaces. */
function decode(text: string): string {
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

function unreadable(cause?: unknown): ZapdError {
  return new ZapdError("device_error", "answered with a document that cannot be read", { cause });
}
