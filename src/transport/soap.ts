/**
 * UPnP control (Device Architecture 1.1, section 3): an action of a service is a POST with an XML envelope. The answer is an
 * envelope with values, or a fault with status 500. Elements are read by local name, as each stack has its own prefixes.
 */
import { DeviceError, type ErrorCode, protocolError } from "../api/errors.ts";
import { tryOr } from "../system/try-or.ts";
import { type Answer, type DeviceHttp, type RequestOptions, refuseRedirect } from "./http.ts";
import { documentText, type Element, readXml } from "./xml.ts";

export interface SoapAction {
  /** The control URL of the service: path and query, percent-encoded. */
  readonly path: string;
  /** The type of the service with its version, as in the device's description: `urn:schemas-upnp-org:service:…:1`. */
  readonly service: string;
  readonly action: string;
  /** The arguments, in the order in which the service declares them: stacks refuse another order. */
  readonly args?: Readonly<Record<string, string | number>>;
  /** How long its answer may take, where that is longer than usual. */
  readonly timeoutMs?: number;
}

/** In characters: a value may be the list of all media types that a TV takes, or another document. */
const maxValueLength = 128 * 1024;

type SoapHttp = Pick<DeviceHttp, "read" | "command">;

/** Calls an action that changes nothing; it is sent once more when the connection was closed without an answer. Fails with a `SoapFault`. */
export async function askSoap(http: SoapHttp, action: SoapAction, signal: AbortSignal): Promise<SoapValues> {
  return readSoap(action, await http.read(action.path, signal, soapRequest(action)));
}

/** Calls an action that changes something; it is sent at most once. Fails with a `SoapFault`. */
export async function tellSoap(http: SoapHttp, action: SoapAction, signal: AbortSignal): Promise<SoapValues> {
  return readSoap(action, await http.command(action.path, signal, soapRequest(action)));
}

/** The values that an action answered, by name. */
export type SoapValues = ReadonlyMap<string, string>;

/** No values, where the service answered with a fault. */
export async function unlessFault(request: Promise<SoapValues>): Promise<SoapValues> {
  return request.catch((error: unknown) => {
    if (error instanceof SoapFault) return new Map();
    throw error;
  });
}

/** Reads a boolean (Device Architecture 1.1, table 2-8); `null` for other values. */
export function soapFlag(value: string | undefined): boolean | null {
  const word = value?.trim().toLowerCase() ?? "";
  if (["1", "true", "yes"].includes(word)) return true;
  return ["0", "false", "no"].includes(word) ? false : null;
}

/** A device answered an action with a fault, or with the status of a missing action. */
export class SoapFault extends DeviceError {
  /** The `errorCode` of UPnP: 401 for a missing action, 402 for wrong arguments, from 700 on those of the service; `null` where it gives none. */
  readonly errorCode: number | null;

  constructor(action: string, status: number, errorCode: number | null, words: string) {
    const shown = words.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\s]+/gu, " ").trim();
    const value = [errorCode ?? `status ${status}`, ...(shown === "" ? [] : [`"${shown.slice(0, 160)}"`])].join(" ");
    const code = codeOf(errorCode ?? status);
    const reason = code === "device_refused" ? "denied" : "protocol";
    super(code, `refused ${action}: it says ${value}`, { phase: "answered", reason });
    this.errorCode = errorCode;
  }
}

/** By the code of UPnP (table 3-3), or by the status where a stack gives no fault. */
function codeOf(value: number): ErrorCode {
  // A missing or optional action; a missing path; no POST there; and 501, with which some stacks answer either.
  if ([401, 602, 404, 405, 501].includes(value)) return "unsupported_operation";
  return value === 606 || value === 403 ? "device_refused" : "device_error";
}

type SoapRequest = Required<Pick<RequestOptions, "headers" | "body" | "timeoutMs">>;

function soapRequest({ service, action, args = {}, timeoutMs = 0 }: SoapAction): SoapRequest {
  const values = Object.entries(args).map(([name, value]) => `<${name}>${escaped(String(value))}</${name}>`);
  const body = [
    '<?xml version="1.0" encoding="utf-8"?>\n',
    '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"',
    ' s:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/"><s:Body>',
    `<u:${action} xmlns:u="${escaped(service)}">${values.join("")}</u:${action}>`,
    "</s:Body></s:Envelope>",
  ].join("");
  const headers = { "Content-Type": 'text/xml; charset="utf-8"', SOAPACTION: `"${service}#${action}"` };
  return { headers, body, timeoutMs };
}

/** Fails with a `SoapFault`, or with `device_error` for another answer. */
function readSoap({ action }: SoapAction, answer: Answer): SoapValues {
  const { status } = answer;
  refuseRedirect(answer);
  if (status !== 200 && status !== 500) throw new SoapFault(action, status, null, "");
  // With status 500 the body may be any error page, or empty.
  const envelope = tryOr(() => readXml(documentText(answer)), undefined);
  const body = within(envelope, "Body");
  const fault = within(body, "Fault");
  if (fault || status === 500) throw faultOf(action, status, fault);
  const response = within(body, `${action}Response`);
  if (!response) throw protocolError(`sent an unexpected answer to ${action}`);
  return new Map(response.children.map((value) => [localName(value), value.textUpTo(maxValueLength)]));
}

function faultOf(action: string, status: number, fault: Element | undefined): SoapFault {
  const error = within(within(fault, "detail"), "UPnPError");
  const code = within(error, "errorCode")?.text ?? "";
  const words = within(error, "errorDescription")?.text ?? within(fault, "faultstring")?.text ?? "";
  return new SoapFault(action, status, /^\d{3}$/.test(code) ? Number(code) : null, words);
}

/** The name of an element without its prefix. */
function localName({ name }: Element): string {
  return name.slice(name.indexOf(":") + 1);
}

/** The first child of a local name. */
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

/** Escapes a text for XML, and removes characters that XML does not allow. */
export function escaped(text: string): string {
  return text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "").replace(/[&<>"']/g, (one) => entities[one] ?? one);
}
