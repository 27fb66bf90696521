import type { Model } from "./model.ts";
import type { Parameter } from "./schema.ts";

export type Params = Readonly<Record<string, unknown>>;

export interface Method {
  readonly params?: readonly Parameter[];
  run(model: Model, params: Params): unknown;
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
export class Died extends Error {}
