/** SSAP messages and errors. */
import { type JsonObject, objectIn, parseObject } from "../bench/json.ts";

export type Payload = JsonObject;

export interface Message {
  readonly id: unknown;
  readonly type: string;
  readonly uri: string;
  readonly payload: Payload;
}

/** Null for an invalid message, which the set ignores. */
export function parseMessage(text: string): Message | null {
  const { id, type, uri, payload } = parseObject(text);
  if (typeof type !== "string") return null;
  // Some clients send the payload as a JSON text.
  const given = typeof payload === "string" ? parseObject(payload) : objectIn(payload);
  return { id, type, uri: typeof uri === "string" ? uri : "", payload: given };
}

export function textIn(payload: Payload, name: string): string {
  const value = payload[name];
  if (typeof value !== "string") throw invalid(name);
  return value;
}

export function numberIn(payload: Payload, name: string): number {
  const value = payload[name];
  if (typeof value !== "number" || !Number.isInteger(value)) throw invalid(name);
  return value;
}

export function flagIn(payload: Payload, name: string): boolean {
  const value = payload[name];
  if (typeof value !== "boolean") throw invalid(name);
  return value;
}

export function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** A refused request, such as `401 insufficient permissions`. A refusal by an application has a payload. */
export class Refusal extends Error {
  readonly payload: Payload;

  constructor(error: string, payload: Payload = {}) {
    super(error);
    this.payload = payload;
  }
}

/** An error within `500 Application error`, such as code -101 for an unknown app. */
export function applicationError(errorCode: number, errorText: string): Refusal {
  return new Refusal("500 Application error", { returnValue: false, errorCode, errorText });
}

export const noSuchMethod = () => new Refusal("404 no such service or method");
export const noPermission = () => new Refusal("401 insufficient permissions");
export const notRegistered = () => new Refusal("401 insufficient permissions (not registered)");

// No source gives the response to a payload of the wrong shape.
const invalid = (name: string) => applicationError(-1, `invalid parameters: ${name}`);

export function failureOf({ message, payload }: Refusal): Payload {
  return { type: "error", error: message, payload };
}
