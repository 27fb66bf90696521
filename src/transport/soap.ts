/**
 * UPnP control (Device Architecture 1.1, section 3): an action of a service is a POST with an envelope of XML, and answers
 * with values in another, or with a fault behind status 500. Envelopes are small, and read as everything from a device is:
 * capped, without document types, by local names, since each stack has prefixes of its own.
 */
import { DeviceError, type ErrorCode, protocolError } from "../api/errors.ts";
import { type Answer, type DeviceHttp, type RequestOptions, refuseRedirect } from "./http.ts";
import { documentText, type Element, readXml } from "./xml.ts";

/** One action. */
export interface SoapAction {
  /** The control URL of the service: path and query, percent-encoded. */
  readonly path: string;
  /** The type of the service with its version, as the device's description has it: `urn:schemas-upnp-org:service:…:1`. */
  readonly service: string;
  readonly action: string;
  /** What it takes, in the order in which the service declares it: stacks refuse another. */
  readonly args?: Readonly<Record<string, string | number>>;
}

/** Characters of a value: all the kinds of file that a television takes are one, and so is a document within this one. */
const longestValue = 128 * 1024;

type SoapHttp = Pick<DeviceHttp, "read" | "command">;

/** Asks for values, by an action that changes nothing: tried once more where the first try failed without a word. Fails with a `SoapFault`. */
export async function askSoap(http: SoapHttp, action: SoapAction, signal: AbortSignal): Promise<SoapValues> {
  return readSoap(action, await http.read(action.path, signal, soapRequest(action)));
}

/** Tells a device to do something; sent at most once. Fails with a `SoapFault`. */
export async function tellSoap(http: SoapHttp, action: SoapAction, signal: AbortSignal): Promise<SoapValues> {
  return readSoap(action, await http.command(action.path, signal, soapRequest(action)));
}

/** What an action answered, by name. */
export type SoapValues = ReadonlyMap<string, string>;

/** A service that has no answer to a question says nothing; a device that is gone is gone. */
export async function unlessFault(asked: Promise<SoapValues>): Promise<SoapValues> {
  return asked.catch((error: unknown) => {
    if (error instanceof SoapFault) return new Map();
    throw error;
  });
}

/** A boolean (Device Architecture 1.1, table 2-8); `null` where it is none. */
export function soapFlag(said: string | undefined): boolean | null {
  const word = said?.trim().toLowerCase() ?? "";
  if (["1", "true", "yes"].includes(word)) return true;
  return ["0", "false", "no"].includes(word) ? false : null;
}

/** A device answered an action with a fault, or with a status that says that it has no such action there. */
export class SoapFault extends DeviceError {
  /** The `errorCode` of UPnP: 401 for an action that it lacks, 402 for wrong arguments, from 700 on the service's own; `null` where it gives none. */
  readonly errorCode: number | null;

  constructor(action: string, status: number, errorCode: number | null, words: string) {
    const shown = words.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\s]+/gu, " ").trim();
    const said = [errorCode ?? `status ${status}`, ...(shown === "" ? [] : [`"${shown.slice(0, 160)}"`])].join(" ");
    const code = codeOf(errorCode ?? status);
    const reason = code === "device_refused" ? "denied" : "protocol";
    super(code, `refused ${action}: it says ${said}`, { phase: "answered", reason });
    this.errorCode = errorCode;
  }
}

/** By the code of UPnP (table 3-3), or the status where a stack gives no fault. */
function codeOf(said: number): ErrorCode {
  // Lacks the action, optional and left out; nothing at the path, no POST there, and 501 as some stacks say for either.
  if ([401, 602, 404, 405, 501].includes(said)) return "unsupported_operation";
  return said === 606 || said === 403 ? "device_refused" : "device_error";
}

/** What is sent for an action. */
function soapRequest({ service, action, args = {} }: SoapAction): Required<Pick<RequestOptions, "headers" | "body">> {
  const values = Object.entries(args).map(([name, value]) => `<${name}>${escaped(String(value))}</${name}>`);
  const body = [
    '<?xml version="1.0" encoding="utf-8"?>\n',
    '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"',
    ' s:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/"><s:Body>',
    `<u:${action} xmlns:u="${escaped(service)}">${values.join("")}</u:${action}>`,
    "</s:Body></s:Envelope>",
  ].join("");
  return { headers: { "Content-Type": 'text/xml; charset="utf-8"', SOAPACTION: `"${service}#${action}"` }, body };
}

/** What an action answered. Fails with a `SoapFault`, or `device_error` where the answer is none. */
function readSoap({ action }: SoapAction, answer: Answer): SoapValues {
  const { status } = answer;
  refuseRedirect(answer);
  if (status !== 200 && status !== 500) throw new SoapFault(action, status, null, "");
  const envelope = isEmpty(answer) ? undefined : readXml(documentText(answer));
  const body = within(envelope, "Body");
  const fault = within(body, "Fault");
  if (fault || status === 500) throw faultOf(action, status, fault);
  const response = within(body, `${action}Response`);
  if (!response) throw protocolError(`answered ${action} with something else`);
  return new Map(response.children.map((value) => [localName(value), value.textUpTo(longestValue)]));
}

function faultOf(action: string, status: number, fault: Element | undefined): SoapFault {
  const error = within(within(fault, "detail"), "UPnPError");
  const code = within(error, "errorCode")?.text ?? "";
  const words = within(error, "errorDescription")?.text ?? within(fault, "faultstring")?.text ?? "";
  return new SoapFault(action, status, /^\d{3}$/.test(code) ? Number(code) : null, words);
}

function isEmpty({ body }: Answer): boolean {
  return body.every((byte) => byte <= 0x20);
}

/** The name of an element without its prefix. */
function localName({ name }: Element): string {
  return name.slice(name.indexOf(":") + 1);
}

/** The first child of a name, whatever its prefix. */
function within(element: Element | undefined, name: string): Element | undefined {
  return element?.children.find((one) => localName(one) === name);
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** A text fit for XML, without the characters that it may not hold. */
export function escaped(text: string): string {
  return text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "").replace(/[&<>"']/g, (one) => entities[one] ?? one);
}
