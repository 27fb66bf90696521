/** An element: its attributes, and its text or children. Null content is an empty element. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | null | undefined>> = {},
  content: string | readonly string[] | null = null,
): string {
  const words = Object.entries(attributes).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  const open = [name, ...words.map(([key, value]) => `${key}="${escaped(value)}"`)].join(" ");
  if (content === null || content.length === 0) return `<${open} />`;
  if (typeof content === "string") return `<${open}>${escaped(content)}</${name}>`;
  const children = content.flatMap((child) => child.split("\n")).map((line) => `\t${line}`);
  return [`<${open}>`, ...children, `</${name}>`].join("\n");
}

export function xmlDocument(root: string): string {
  return `<?xml version="1.0" encoding="UTF-8" ?>\n${root}\n`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
