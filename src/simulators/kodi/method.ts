/** Methods, with what each takes, and how they fail. */
import type { Model } from "./model.ts";
import type { Parameter, Schema } from "./schema.ts";

export type Params = Readonly<Record<string, unknown>>;

export interface Method {
  /** In the order in which they may be given without their names. */
  readonly params: readonly Parameter[];
  /** What it answers; where that is nothing, it is OK. */
  run(model: Model, params: Params): unknown;
}

export type Methods = Readonly<Record<string, Method>>;

/** A parameter that has to be there. */
export const required = (schema: Schema) => ({ required: schema });

export function method(
  takes: Readonly<Record<string, Schema | ReturnType<typeof required>>>,
  run: Method["run"],
): Method {
  const params = Object.entries(takes).map(([name, one]) =>
    "required" in one ? { name, schema: one.required, required: true } : { name, schema: one, required: false },
  );
  return { params, run };
}

/** The properties asked for, of all that there are. */
export function pick(wanted: unknown, all: Params): Record<string, unknown> {
  const asked = Array.isArray(wanted) ? wanted.map(String) : [];
  return Object.fromEntries(asked.filter((name) => all[name] !== undefined).map((name) => [name, all[name]]));
}

export function limits(total: number) {
  return { end: total, start: 0, total };
}

/** The errors that Kodi 20.1 was seen giving (players.md 7.1). */
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

/** The process died of a call: nothing is answered. */
export class Crashed extends Error {}
