/** JSON-RPC to one Kodi, over HTTP (players.md 7.1), or over its WebSocket where it has no web server. */
import { ZapdError } from "../../errors.ts";
import { type Answer, bodyText, DeviceHttp } from "../http.ts";
import { asJson, isJson, type Json } from "../json.ts";
import type { Address, CredentialKeeper, Surroundings } from "../platform.ts";

const answerBytes = 4 * 1024 * 1024;

/** One call. Fails with `device_refused` for what cannot be done now, `unsupported_operation` for what it does not know. */
export type Call = (method: string, params: Json, signal: AbortSignal) => Promise<unknown>;

/** What Kodi answered to a call that it did not carry out; `cause` of the failures that are made of it. */
export interface RpcProblem {
  readonly code: number;
  readonly message: string;
}

export const passwordHint =
  "In Kodi: Settings > Services > Control > Username and Password; then run zapd pair --user kodi";

export class HttpRpc {
  readonly #http: DeviceHttp;
  readonly #credentials: CredentialKeeper | null;
  #last = 0;

  constructor(options: {
    readonly address: Address;
    readonly surroundings: Pick<Surroundings, "requestTimeout" | "isOwnDoor">;
    readonly credentials: CredentialKeeper | null;
    /** Throws when another Kodi answers; its `ask` goes over the connection that is proven. */
    prove?(ask: (method: string, params: Json) => Promise<Json>): Promise<void>;
  }) {
    const { address, surroundings, prove } = options;
    this.#credentials = options.credentials;
    this.#http = new DeviceHttp({
      ...{ address, surroundings },
      ...(prove && {
        prove: (read) =>
          prove(async (method, params) => asJson(resultOf(await read("/jsonrpc", this.#sent(method, params))))),
      }),
    });
  }

  /** A question: asked twice when the first try failed without a word. */
  async read(method: string, params: Json, signal: AbortSignal): Promise<unknown> {
    // What it says decides what is done to it: it must be the one that is meant.
    const options = { ...this.#sent(method, params), maxBytes: answerBytes, proven: true };
    return resultOf(await this.#http.read("/jsonrpc", signal, options));
  }

  /** A command: sent once, to the Kodi that is meant. */
  async command(method: string, params: Json, signal: AbortSignal): Promise<unknown> {
    return resultOf(await this.#http.command("/jsonrpc", signal, this.#sent(method, params)));
  }

  close(): void {
    this.#http.close();
  }

  #sent(method: string, params: Json): { headers: Record<string, string>; body: string } {
    const { user, password } = this.#credentials?.read() ?? {};
    const login = Buffer.from(`${user ?? "kodi"}:${password ?? ""}`).toString("base64");
    const headers = { "Content-Type": "application/json", ...(password && { Authorization: `Basic ${login}` }) };
    return { headers, body: JSON.stringify({ jsonrpc: "2.0", id: ++this.#last, method, params }) };
  }
}

function resultOf(answer: Answer): unknown {
  if (answer.status === 401)
    throw new ZapdError("pairing_required", "asks for a name and a password", { hint: passwordHint });
  if (answer.status >= 300 && answer.status < 400)
    throw new ZapdError("device_error", "answered with a redirect, and none is ever followed");
  if (answer.status !== 200) throw new ZapdError("device_error", "is no Kodi: it answers no JSON-RPC");
  return resultIn(parsed(bodyText(answer)));
}

/** The result in an answer, or the failure that it tells of (7.1). */
export function resultIn(answer: unknown): unknown {
  if (!isJson(answer) || (!("result" in answer) && !isJson(answer["error"])))
    throw new ZapdError("device_error", "answered something that cannot be read");
  const error = answer["error"];
  if (!isJson(error)) return answer["result"];
  const cause: RpcProblem = { code: Number(error["code"]), message: String(error["message"]).slice(0, 200) };
  if (cause.code === -32_601) throw new ZapdError("unsupported_operation", "has no such function", { cause });
  if (cause.code === -32_602) throw new ZapdError("device_error", "did not know what was meant", { cause });
  if (cause.code === -32_100) throw new ZapdError("device_refused", "cannot do that now", { cause });
  throw new ZapdError("device_error", "answered with a failure of its own", { cause });
}

/** The code of Kodi's answer that a failure was made of. */
export function codeOf(error: unknown): number | null {
  const cause = error instanceof ZapdError ? error.cause : null;
  return isJson(cause) && typeof cause["code"] === "number" ? cause["code"] : null;
}

export function parsed(message: string): unknown {
  try {
    return JSON.parse(message);
  } catch (error) {
    throw new ZapdError("device_error", "answered something that is no JSON", { cause: error });
  }
}
