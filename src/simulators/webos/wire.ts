/** What SSAP carries, in and out, and how it refuses. */
import { type JsonObject, objectIn, parseObject } from "../bench/json.ts";

export type Payload = JsonObject;

export interface Message {
  readonly id: unknown;
  readonly type: string;
  readonly uri: string;
  readonly payload: Payload;
}

/** Null for what is not a message: the set ignores it. */
export function parseMessage(text: string): Message | null {
  const { id, type, uri, payload } = parseObject(text);
  if (typeof type !== "string") return null;
  // Some clients send it as the text of its JSON.
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

/** A request that is refused: `401 insufficient permissions`, with a payload of its own when an application refused it. */
export class Refusal extends Error {
  readonly payload: Payload;

  constructor(error: string, payload: Payload = {}) {
    super(error);
    this.payload = payload;
  }
}

/** As sent for an unknown app: code -101 and its text within `500 Application error`. */
export function applicationError(errorCode: number, errorText: string): Refusal {
  return new Refusal("500 Application error", { returnValue: false, errorCode, errorText });
}

export const noSuchMethod = () => new Refusal("404 no such service or method");
export const noPermission = () => new Refusal("401 insufficient permissions");
export const notRegistered = () => new Refusal("401 insufficient permissions (not registered)");

// What a set says to a payload of the wrong shape is in no source.
const invalid = (name: string) => applicationError(-1, `invalid parameters: ${name}`);

/** Both shapes of a failure (smart-tvs.md 2.4). */
export function failureOf(refusal: Refusal, shape: "error" | "response"): Payload {
  if (shape === "error") return { type: "error", error: refusal.message, payload: refusal.payload };
  const [, code, text] = /^(\d+) (.*)$/.exec(refusal.message) ?? [];
  const payload = { returnValue: false, errorCode: Number(code), errorText: text, ...refusal.payload };
  return { type: "response", payload };
}
