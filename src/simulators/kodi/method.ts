/** Methods with their parameters and errors. */
import type { Model } from "./model.ts";
import type { Parameter, Schema } from "./schema.ts";

export type Params = Readonly<Record<string, unknown>>;

export interface Method {
  /** In the order of positional parameters. */
  readonly params: readonly Parameter[];
  /** Returns the result; `undefined` becomes `"OK"`. */
  run(model: Model, params: Params): unknown;
}

export type Methods = Readonly<Record<string, Method>>;

/** Marks a parameter as required. */
export const required = (schema: Schema) => ({ required: schema });

export function method(
  parameters: Readonly<Record<string, Schema | ReturnType<typeof required>>>,
  run: Method["run"],
): Method {
  const params = Object.entries(parameters).map(([name, one]) =>
    "required" in one ? { name, schema: one.required, required: true } : { name, schema: one, required: false },
  );
  return { params, run };
}

/** The requested ones of all properties. */
export function pick(wanted: unknown, all: Params): Record<string, unknown> {
  const asked = Array.isArray(wanted) ? wanted.map(String) : [];
  return Object.fromEntries(asked.filter((name) => all[name] !== undefined).map((name) => [name, all[name]]));
}

export function limits(total: number) {
  return { end: total, start: 0, total };
}

/** The errors of Kodi 20.1 (players.md 7.1). */
const ERRORS: Readonly<Record<number, string>> = {
  [-32700]: "Parse error.",
  [-32600]: "Invalid request.",
  [-32601]: "Method not found.",
  [-32602]: "Invalid params.",
  [-32100]: "Failed to execute method.",
};

export class RpcError extends Error {
  readonly code: number;
  readonly content: unknown;
  constructor(code: number, content?: unknown) {
    super(ERRORS[code]);
    this.code = code;
    this.content = content;
  }
}

export const invalidParams = () => new RpcError(-32602);
export const failed = () => new RpcError(-32100);

/** A call crashed the process, so there is no response. */
export class Crashed extends Error {}
