/** What sets serve: XML, the descriptions of UPnP, and pictures. */
import { createHash } from "node:crypto";
import { crc32, deflateSync } from "node:zlib";

type Attributes = Readonly<Record<string, string | null | undefined>>;
/** A text; children; or children that hold a text each, by their names. Null, or a text or a list that is empty: an empty element. */
type Content = string | readonly string[] | Readonly<Record<string, string | null>> | null;

/** An element; an attribute that is null or undefined is left out. */
export function element(name: string, attributes: Attributes = {}, content: Content = null): string {
  const words = Object.entries(attributes).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  const open = [name, ...words.map(([key, value]) => `${key}="${escapeXml(value)}"`)].join(" ");
  if (content === null || content.length === 0) return `<${open} />`;
  if (typeof content === "string") return `<${open}>${escapeXml(content)}</${name}>`;
  const children = isList(content) ? content : textElements(content);
  return [`<${open}>`, ...children.flatMap((child) => child.split("\n")).map((line) => `\t${line}`), `</${name}>`].join(
    "\n",
  );
}

const isList = (content: object): content is readonly string[] => Array.isArray(content);

/** An element for each. */
export function textElements(content: Readonly<Record<string, string | null>>): string[] {
  return Object.entries(content).map(([name, text]) => element(name, {}, text));
}

export function xmlDocument(root: string): string {
  return `<?xml version="1.0" encoding="UTF-8" ?>\n${root}\n`;
}

/** A description of UPnP's: what the device says of itself, and the services that it has. */
export function upnpDescription(device: Readonly<Record<string, string>>, services: readonly string[]): string {
  const root = element("root", { xmlns: "urn:schemas-upnp-org:device-1-0" }, [
    element("specVersion", {}, { major: "1", minor: "0" }),
    element("device", {}, [...textElements(device), element("serviceList", {}, services)]),
  ]);
  return `<?xml version="1.0"?>\n${root}\n`;
}

/** What an action of a service answers. */
export function soapAnswer(action: string, service: string, values: Readonly<Record<string, string>>): string {
  return soapEnvelope(element(`u:${action}Response`, { "xmlns:u": service }, values));
}

/** A refusal, with the code of UPnP. */
export function soapFault(errorCode: number, errorDescription: string): string {
  const error = { errorCode: String(errorCode), errorDescription };
  const detail = element("UPnPError", { xmlns: "urn:schemas-upnp-org:control-1-0" }, error);
  const said = textElements({ faultcode: "s:Client", faultstring: "UPnPError" });
  return soapEnvelope(element("s:Fault", {}, [...said, element("detail", {}, [detail])]));
}

function soapEnvelope(content: string): string {
  const schema = "http://schemas.xmlsoap.org/soap/";
  const names = { "xmlns:s": `${schema}envelope/`, "s:encodingStyle": `${schema}encoding/` };
  return xmlDocument(element("s:Envelope", names, [element("s:Body", {}, [content])]));
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** A picture (PNG) of one colour drawn from a word, so that every app has an icon of its own. */
export function picture(word: string, width = 290, height = 218): Uint8Array {
  const [red = 0, green = 0, blue = 0] = createHash("sha256").update(word).digest();
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(width * 3, Buffer.from([red, green, blue]))]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.concat(Array<Buffer>(height).fill(row)))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), content]);
  const frame = Buffer.alloc(body.length + 8);
  frame.writeUInt32BE(content.length, 0);
  frame.set(body, 4);
  frame.writeUInt32BE(crc32(body), body.length + 4);
  return frame;
}
