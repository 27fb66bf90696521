/** Documents that sets serve: XML, UPnP descriptions, SOAP, and pictures. */
import { createHash } from "node:crypto";
import { crc32, deflateSync } from "node:zlib";

type Attributes = Readonly<Record<string, string | null | undefined>>;
/** A text, a list of children, or names and texts of children. Null or empty makes an empty element. */
type Content = string | readonly string[] | Readonly<Record<string, string | null>> | null;

/** An XML element. Attributes that are null or undefined are left out. */
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

/** An XML element without attributes. */
export function tag(name: string, content: Content): string {
  return element(name, {}, content);
}

/** One element per entry. */
export function textElements(content: Readonly<Record<string, string | null>>): string[] {
  return Object.entries(content).map(([name, text]) => tag(name, text));
}

export function xmlDocument(root: string): string {
  return `<?xml version="1.0" encoding="UTF-8" ?>\n${root}\n`;
}

const SPEC_VERSION = tag("specVersion", { major: "1", minor: "0" });

export function upnpDescription(device: Readonly<Record<string, string>>, services: readonly string[]): string {
  const root = element("root", { xmlns: "urn:schemas-upnp-org:device-1-0" }, [
    SPEC_VERSION,
    tag("device", [...textElements(device), tag("serviceList", services)]),
  ]);
  return `<?xml version="1.0"?>\n${root}\n`;
}

/** A UPnP service description. */
export function scpd(...children: readonly string[]): string {
  return xmlDocument(element("scpd", { xmlns: "urn:schemas-upnp-org:service-1-0" }, [SPEC_VERSION, ...children]));
}

/** The SOAP response of an action. */
export function soapAnswer(action: string, service: string, values: Readonly<Record<string, string>>): string {
  return soapEnvelope(element(`u:${action}Response`, { "xmlns:u": service }, values));
}

/** A SOAP fault with a UPnP error code. */
export function soapFault(errorCode: number, errorDescription: string): string {
  const error = { errorCode: String(errorCode), errorDescription };
  const detail = element("UPnPError", { xmlns: "urn:schemas-upnp-org:control-1-0" }, error);
  const fault = textElements({ faultcode: "s:Client", faultstring: "UPnPError" });
  return soapEnvelope(tag("s:Fault", [...fault, tag("detail", [detail])]));
}

function soapEnvelope(content: string): string {
  const schema = "http://schemas.xmlsoap.org/soap/";
  const names = { "xmlns:s": `${schema}envelope/`, "s:encodingStyle": `${schema}encoding/` };
  return xmlDocument(element("s:Envelope", names, [tag("s:Body", [content])]));
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** A PNG of one colour that is derived from a word, so that icons of apps differ. */
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
