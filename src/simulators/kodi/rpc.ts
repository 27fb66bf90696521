/** JSON-RPC 2.0 as Kodi speaks it. */
import { pushCapped } from "../bench/set.ts";
import { Crashed, type Params, RpcError } from "./method.ts";
import { methods } from "./methods.ts";
import type { Model, ReceivedCall } from "./model.ts";
import { mismatch, missing, typeOf } from "./schema.ts";

/** The response text; null for a notification, and for a call that crashed the process. */
export function answerText(model: Model, via: ReceivedCall["via"], body: string): string | null {
  let request: unknown;
  try {
    request = JSON.parse(body);
  } catch {
    recordCall(model, { via, method: "", params: body, error: -32700 });
    return JSON.stringify(errorOf(new RpcError(-32700), null));
  }
  try {
    const answer = Array.isArray(request) ? batch(model, via, request) : single(model, via, request);
    return answer === null ? null : JSON.stringify(answer);
  } catch (error) {
    if (!(error instanceof Crashed)) throw error;
    model.emit("crash", "died of a call, as the real one does");
    model.shutDown("ended", "crash");
    return null;
  }
}

function batch(model: Model, via: ReceivedCall["via"], requests: readonly unknown[]): unknown {
  if (requests.length === 0) return errorOf(new RpcError(-32600), null);
  const answers = requests.map((request) => single(model, via, request)).filter((answer) => answer !== null);
  return answers.length === 0 ? null : answers;
}

function single(model: Model, via: ReceivedCall["via"], request: unknown): unknown {
  const fields: Params = typeof request === "object" && request !== null ? { ...request } : {};
  const { method, params = {}, id } = fields;
  const note = (error: number | null) =>
    recordCall(model, { via, method: typeof method === "string" ? method : "", params: fields["params"], error });
  try {
    if (fields["jsonrpc"] !== "2.0" || typeof method !== "string" || typeof params !== "object" || params === null)
      throw new RpcError(-32600);
    const result = call(model, method, params);
    note(null);
    return id === undefined ? null : { id, jsonrpc: "2.0", result };
  } catch (error) {
    if (!(error instanceof RpcError)) {
      note(null);
      throw error;
    }
    note(error.code);
    model.emit("refused", `refused ${String(method)}: ${error.message}`);
    // An invalid request is answered even without an id.
    return id === undefined && error.code !== -32600 ? null : errorOf(error, id ?? null);
  }
}

function call(model: Model, name: string, params: object): unknown {
  const found = Object.hasOwn(methods, name) ? methods[name] : undefined;
  if (found === undefined) throw new RpcError(-32601);
  const known = found.params;
  const given: Params = Array.isArray(params)
    ? Object.fromEntries(known.flatMap(({ name }, at) => (at < params.length ? [[name, params[at]]] : [])))
    : { ...params };
  const refuse = (stack: unknown) => new RpcError(-32602, { method: name, stack });
  for (const parameter of known) {
    const value = given[parameter.name];
    if (value === undefined && parameter.required) throw refuse(missing(parameter));
    const wrong = value === undefined ? null : mismatch(value, parameter.schema, parameter.name);
    if (wrong !== null) throw refuse(wrong);
  }
  const extra = Array.isArray(params)
    ? params.length > known.length
    : Object.keys(given).some((key) => !known.some((parameter) => parameter.name === key));
  // Kodi names the last known parameter then (Kodi 20.1, ran).
  const last = known.at(-1);
  const stack = last && { stack: { name: last.name, type: typeOf(last.schema) } };
  if (extra) throw new RpcError(-32602, { message: "Too many parameters", method: name, ...stack });
  return found.run(model, given) ?? "OK";
}

function errorOf(error: RpcError, id: unknown) {
  const content = error.content === undefined ? {} : { data: error.content };
  return { error: { code: error.code, ...content, message: error.message }, id, jsonrpc: "2.0" };
}

const KEPT_CALLS = 1_000;

function recordCall(model: Model, call: ReceivedCall): void {
  pushCapped(model.calls, call, KEPT_CALLS);
}
