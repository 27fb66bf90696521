/** JSON-RPC to one Kodi, over HTTP (players.md 7.1), or over its WebSocket where it has no web server. */
import { type DeviceError, hasCode, hasReason, pairingRequired, protocolError, ZapdError } from "../../api/errors.ts";
import { orAborted } from "../../system/sleep.ts";
import { type Answer, bodyText, DeviceHttp, type Read, refuseRedirect } from "../../transport/http.ts";
import { asJson, isJson, type Json, readJson } from "../../transport/json.ts";
import type { Address, PlatformHost } from "../platform.ts";

const answerBytes = 4 * 1024 * 1024;

export const passwordHint =
  "In Kodi: Settings > Services > Control > Username and Password; then run zapd pair {device} --user kodi";

/** Kodi, and nobody else as far as it can be told, asks for a name and a password. */
export function loginWanted(problem = "asks for a name and a password"): DeviceError {
  return pairingRequired(problem, passwordHint);
}

/** Whether a failure is that Kodi asks for a login, or refused the one that it was given. */
export function isLoginWanted(error: unknown): error is DeviceError {
  return hasReason(error, "denied") && error.code === "pairing_required";
}

function notKodi(problem: string): DeviceError {
  return protocolError(`is no Kodi: ${problem}`);
}

export interface HttpRpcOptions {
  readonly address: Address;
  readonly platformHost: Pick<PlatformHost, "requestTimeoutMs" | "isOwnListener">;
  /**
   * The login for a Kodi that asks for one; throws where nothing secret may be sent to it. It goes out only on a connection
   * that is opened right after Kodi's own 401 came from the address, and never twice to one that has just refused it.
   */
  login?(): Login;
  /** Looks, before a login goes out on a new connection, who is there as far as that can be seen; throws when it is another. */
  vouch?(signal: AbortSignal): Promise<void>;
  /** Throws when another Kodi answers; its `ask` goes over the connection that is proven. */
  prove?(ask: (method: string, params: Json) => Promise<Json>): Promise<void>;
}

export const usualUser = "kodi";

export interface Login {
  readonly user: string;
  readonly password: string;
}

const refused = "refused this name and password";
/** A login that was refused is not sent again by those who asked at the same time. */
const refusalHolds = 1_000;

export class HttpRpc {
  readonly #options: HttpRpcOptions;
  /** Never sends a login. */
  readonly #open: DeviceHttp;
  readonly #lockedDoor: DeviceHttp;
  #asksLogin = false;
  #login: Login | undefined;
  #refused: { readonly login: Login; readonly at: number } | undefined;
  /** Calls with a login go one after the other over one connection, so that it is said once and not once for each. */
  #before: Promise<void> = Promise.resolve();
  #hung: { readonly at: number; readonly error: ZapdError } | undefined;
  #last = 0;

  constructor(options: HttpRpcOptions) {
    const { address, platformHost, prove } = options;
    this.#options = options;
    const proof = prove && {
      prove: (read: Read) =>
        prove(async (method, params) => asJson(resultOf(await read("/jsonrpc", this.#sent(method, params))))),
    };
    this.#open = new DeviceHttp({ address, platformHost, ...proof });
    this.#lockedDoor = new DeviceHttp({ address, platformHost, ...proof, login: (refusal) => this.#answerTo(refusal) });
  }

  /** A question: asked twice when the first try failed without a word. */
  async read(method: string, params: Json, signal: AbortSignal): Promise<unknown> {
    // What it says decides what is done to it: it must be the one that is meant.
    const send = (http: DeviceHttp) => {
      const options = { ...this.#sent(method, params), maxBytes: answerBytes, proven: true };
      return http.read("/jsonrpc", signal, options);
    };
    return this.#call(signal, send, resultOf);
  }

  /** A command: sent once, to the Kodi that is meant. */
  async command(method: string, params: Json, signal: AbortSignal): Promise<unknown> {
    const send = (http: DeviceHttp) => http.command("/jsonrpc", signal, this.#sent(method, params));
    return this.#call(signal, send, resultOf);
  }

  /** What its web server has at a path, which asks for the same login; `null` where it has nothing there, or keeps it back. */
  async file(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null> {
    const send = async (http: DeviceHttp) => {
      const answer = await http.read(path, signal, { maxBytes, proven: true });
      // What it keeps back it answers 401, too, but asks for no login then (Kodi 20.1, ran).
      const keepsBack = answer.status === 401 && !answer.headers.has("www-authenticate");
      return keepsBack ? { ...answer, status: 403 } : answer;
    };
    return this.#call(signal, send, fileOf);
  }

  close(): void {
    this.#open.close();
    this.#lockedDoor.close();
  }

  async #call<T>(
    signal: AbortSignal,
    send: (http: DeviceHttp) => Promise<Answer>,
    read: (answer: Answer) => T,
  ): Promise<T> {
    if (!this.#asksLogin) {
      try {
        return read(await send(this.#open));
      } catch (error) {
        if (!isLoginWanted(error)) throw error;
        this.#asksLogin = true;
      }
    }
    return this.#inTurn(signal, async () => read(await this.#sendWithLogin(send, signal)));
  }

  async #sendWithLogin(send: (http: DeviceHttp) => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
    const { login, vouch } = this.#options;
    if (!login) throw loginWanted();
    const given = login();
    const before = this.#refused;
    if (before && isSame(before.login, given) && performance.now() - before.at < refusalHolds)
      throw loginWanted(refused);
    // Over a connection on which it was let in before nothing has changed; but it may have ended by now.
    const isIn = this.#lockedDoor.isLoggedIn ? await unlessAsked(send(this.#lockedDoor)) : null;
    if (isIn) return isIn;
    // Whoever is there must ask for it now, as Kodi does: one that refuses the connection, or is none, is not asked more.
    const unasked = await unlessAsked(send(this.#open));
    if (unasked) {
      this.#asksLogin = false;
      return unasked;
    }
    await vouch?.(signal);
    this.#login = given;
    try {
      const answer = await send(this.#lockedDoor);
      refuseLoginWanted(answer);
      return answer;
    } catch (error) {
      if (!isLoginWanted(error)) throw error;
      this.#refused = { login: given, at: performance.now() };
      throw loginWanted(refused);
    } finally {
      this.#login = undefined;
    }
  }

  /** One after the other; when one has waited in vain, so have those behind it. */
  async #inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const since = performance.now();
    const before = this.#before;
    const over = Promise.withResolvers<void>();
    this.#before = over.promise;
    try {
      await orAborted(before, signal);
      if (this.#hung && this.#hung.at > since) throw this.#hung.error;
      return await work();
    } catch (error) {
      if (hasCode(error, "device_timeout", "device_unproven")) this.#hung = { at: performance.now(), error };
      throw error;
    } finally {
      before.then(over.resolve);
    }
  }

  /** Kodi has just asked for a login: what it is given. */
  #answerTo(refusal: Answer): Readonly<Record<string, string>> {
    refuseStranger(refusal);
    if (!this.#login) throw loginWanted();
    const { user, password } = this.#login;
    return { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` };
  }

  #sent(method: string, params: Json): { headers: Record<string, string>; body: string } {
    const headers = { "Content-Type": "application/json" };
    return { headers, body: JSON.stringify({ jsonrpc: "2.0", id: ++this.#last, method, params }) };
  }
}

async function unlessAsked(answering: Promise<Answer>): Promise<Answer | null> {
  try {
    const answer = await answering;
    return answer.status === 401 ? null : answer;
  } catch (error) {
    if (isLoginWanted(error)) return null;
    throw error;
  }
}

function isSame(one: Login, other: Login): boolean {
  return one.user === other.user && one.password === other.password;
}

/** Kodi asks with `Basic realm="Kodi"`, and nothing beside it (players.md 7.1; bytes of Kodi 20.1, ran). */
function refuseStranger(refusal: Answer): void {
  const challenge = refusal.headers.get("www-authenticate")?.trim() ?? "";
  if (/^basic +realm="(.*)"$/i.exec(challenge)?.[1] !== "Kodi")
    throw notKodi("it asks for a login in another way than Kodi does");
}

function refuseLoginWanted(answer: Answer): void {
  if (answer.status !== 401) return;
  refuseStranger(answer);
  throw loginWanted();
}

function fileOf(answer: Answer): Uint8Array | null {
  refuseLoginWanted(answer);
  refuseRedirect(answer);
  return answer.status === 200 ? answer.body : null;
}

function resultOf(answer: Answer): unknown {
  refuseLoginWanted(answer);
  if (answer.status >= 300 && answer.status < 400)
    throw notKodi("it answered with a redirect, and none is ever followed");
  if (answer.status !== 200) throw notKodi("it answers no JSON-RPC");
  return resultIn(readJson(bodyText(answer)));
}

/** The result in an answer, or the failure that it tells of (7.1). */
export function resultIn(answer: unknown): unknown {
  if (!isJson(answer) || (!("result" in answer) && !isJson(answer["error"])))
    throw new ZapdError("device_error", "answered something that cannot be read");
  const error = answer["error"];
  if (!isJson(error)) return answer["result"];
  const cause = { code: Number(error["code"]), message: String(error["message"]).slice(0, 200) };
  if (cause.code === -32_601)
    throw new ZapdError("unsupported_operation", "has no such function", {
      hint: "Update Kodi there: zapd drives Kodi 19 and newer",
      cause,
    });
  if (cause.code === -32_602) throw new ZapdError("device_error", "did not know what was meant", { cause });
  if (cause.code === -32_100) throw new ZapdError("device_refused", "cannot do that now", { cause });
  throw new ZapdError("device_error", "answered with a failure of its own", { cause });
}

/** The code of Kodi's answer that a failure was made of. */
export function codeOf(error: unknown): number | null {
  const cause = error instanceof ZapdError ? error.cause : null;
  return isJson(cause) && typeof cause["code"] === "number" ? cause["code"] : null;
}
