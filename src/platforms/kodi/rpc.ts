/** JSON-RPC to one Kodi, over HTTP (players.md 7.1), or over its WebSocket where it has no web server. */
import { type DeviceError, hasCode, hasReason, pairingRequired, protocolError, ZapdError } from "../../api/errors.ts";
import { orAborted } from "../../system/sleep.ts";
import { type Answer, bodyText, DeviceHttp, type Read, refuseRedirect } from "../../transport/http.ts";
import { asJson, isJson, type Json, number, readJson, text } from "../../transport/json.ts";
import type { Address, PlatformHost } from "../platform.ts";
import type { Ask } from "./announced.ts";

const maxAnswerBytes = 4 * 1024 * 1024;

export const passwordHint =
  "In Kodi: Settings > Services > Control > Username and Password; then run zapd pair {device} --user kodi";

export function loginWanted(problem = "requires a user name and a password"): DeviceError {
  return pairingRequired(problem, passwordHint);
}

/** Whether a failure is that Kodi asks for a login, or refused the one that it was given. */
export function isLoginWanted(error: unknown): error is DeviceError {
  return hasReason(error, "denied") && error.code === "pairing_required";
}

function notKodi(problem: string): DeviceError {
  return protocolError(`is not a Kodi: ${problem}`);
}

interface HttpRpcOptions {
  readonly address: Address;
  readonly platformHost: Pick<PlatformHost, "requestTimeoutMs" | "isOwnListener">;
  /**
   * The login for a Kodi that asks for one; throws where no secret may be sent to it. It is sent only on a connection that is
   * opened right after Kodi's own 401 came from the address, and not twice in a second to one that refused it.
   */
  login?(): Login;
  /** Called before a login is sent on a new connection; throws when another device may be at the address. */
  verify?(signal: AbortSignal): Promise<void>;
  /** Throws when another Kodi answers; its `ask` goes over the connection that is proven. */
  prove?(ask: Ask): Promise<void>;
}

export const usualUser = "kodi";

export interface Login {
  readonly user: string;
  readonly password: string;
}

const loginRefused = "refused this user name and password";
/** Several calls at the same time send a login that is refused only once. */
const refusalHoldsMs = 1_000;

export class HttpRpc {
  readonly #options: HttpRpcOptions;
  /** Never sends a login. */
  readonly #plainHttp: DeviceHttp;
  readonly #loginHttp: DeviceHttp;
  #wantsLogin = false;
  #loginToSend: Login | undefined;
  #refused: { readonly login: Login; readonly at: number } | undefined;
  /** Calls with a login take turns on one connection, so that the login is sent once and not with each of them. */
  #lastTurn: Promise<void> = Promise.resolve();
  #failedTurn: { readonly at: number; readonly error: ZapdError } | undefined;
  #lastId = 0;

  constructor(options: HttpRpcOptions) {
    const { address, platformHost, prove } = options;
    this.#options = options;
    const proof = prove && {
      prove: (read: Read) =>
        prove(async (method, params) => asJson(resultOf(await read("/jsonrpc", this.#message(method, params))))),
    };
    this.#plainHttp = new DeviceHttp({ address, platformHost, ...proof });
    this.#loginHttp = new DeviceHttp({ address, platformHost, ...proof, login: (answer) => this.#authorize(answer) });
  }

  /** A question; repeated once when the connection ended without an answer. */
  async read(method: string, params: Json, signal: AbortSignal): Promise<unknown> {
    // The device must have proven who it is: what it answers decides what is done to it.
    const send = (http: DeviceHttp) =>
      http.read("/jsonrpc", signal, { ...this.#message(method, params), maxBytes: maxAnswerBytes, proven: true });
    return this.#call(signal, send, resultOf);
  }

  /** A command; sent at most once, after the device has proven who it is. */
  async command(method: string, params: Json, signal: AbortSignal): Promise<unknown> {
    const send = (http: DeviceHttp) => http.command("/jsonrpc", signal, this.#message(method, params));
    return this.#call(signal, send, resultOf);
  }

  /** A file of the web server, which requires the same login; `null` where there is none, or Kodi does not give it. */
  async file(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null> {
    const send = async (http: DeviceHttp) => {
      const answer = await http.read(path, signal, { maxBytes, proven: true });
      // Kodi answers 401 without a challenge for a file that it never serves (Kodi 20.1, ran).
      const isForbidden = answer.status === 401 && !answer.headers.has("www-authenticate");
      return isForbidden ? { ...answer, status: 403 } : answer;
    };
    return this.#call(signal, send, fileOf);
  }

  close(): void {
    this.#plainHttp.close();
    this.#loginHttp.close();
  }

  async #call<T>(
    signal: AbortSignal,
    send: (http: DeviceHttp) => Promise<Answer>,
    read: (answer: Answer) => T,
  ): Promise<T> {
    if (!this.#wantsLogin) {
      try {
        return read(await send(this.#plainHttp));
      } catch (error) {
        if (!isLoginWanted(error)) throw error;
        this.#wantsLogin = true;
      }
    }
    return this.#inTurn(signal, async () => read(await this.#sendWithLogin(send, signal)));
  }

  async #sendWithLogin(send: (http: DeviceHttp) => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
    const { login: getLogin, verify } = this.#options;
    if (!getLogin) throw loginWanted();
    // Where there is no login to send, the next call asks without one again, as it may have been turned off in Kodi by then.
    this.#wantsLogin = false;
    const login = getLogin();
    this.#wantsLogin = true;
    const refused = this.#refused;
    if (refused && isSameLogin(refused.login, login) && performance.now() - refused.at < refusalHoldsMs)
      throw loginWanted(loginRefused);
    // A kept connection may have ended by now, or its device requires the login again.
    const kept = this.#loginHttp.isLoggedIn ? await unlessLoginWanted(send(this.#loginHttp)) : null;
    if (kept) return kept;
    // The 401 must come now, and from Kodi: a device that is gone, or is no Kodi, gets no login.
    const unauthorized = await unlessLoginWanted(send(this.#plainHttp));
    if (unauthorized) {
      this.#wantsLogin = false;
      return unauthorized;
    }
    await verify?.(signal);
    this.#loginToSend = login;
    try {
      const answer = await send(this.#loginHttp);
      throwIfLoginWanted(answer);
      return answer;
    } catch (error) {
      if (!isLoginWanted(error)) throw error;
      this.#refused = { login, at: performance.now() };
      throw loginWanted(loginRefused);
    } finally {
      this.#loginToSend = undefined;
    }
  }

  /** Runs one call after the other. When one times out, those that have waited for it fail as well. */
  async #inTurn<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    const queuedAt = performance.now();
    const previous = this.#lastTurn;
    const turn = Promise.withResolvers<void>();
    this.#lastTurn = turn.promise;
    try {
      await orAborted(previous, signal);
      if (this.#failedTurn && this.#failedTurn.at > queuedAt) throw this.#failedTurn.error;
      return await call();
    } catch (error) {
      if (hasCode(error, "device_timeout", "device_unproven")) this.#failedTurn = { at: performance.now(), error };
      throw error;
    } finally {
      previous.then(turn.resolve);
    }
  }

  /** The headers that answer a 401. */
  #authorize(answer: Answer): Readonly<Record<string, string>> {
    refuseForeignChallenge(answer);
    if (!this.#loginToSend) throw loginWanted();
    const { user, password } = this.#loginToSend;
    return { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` };
  }

  #message(method: string, params: Json): { headers: Record<string, string>; body: string } {
    const headers = { "Content-Type": "application/json" };
    return { headers, body: JSON.stringify({ jsonrpc: "2.0", id: ++this.#lastId, method, params }) };
  }
}

async function unlessLoginWanted(request: Promise<Answer>): Promise<Answer | null> {
  try {
    const answer = await request;
    return answer.status === 401 ? null : answer;
  } catch (error) {
    if (isLoginWanted(error)) return null;
    throw error;
  }
}

const realms: ReadonlySet<string> = new Set(['"Kodi"', '"XBMC"', "XBMC"]);

function isSameLogin(one: Login, other: Login): boolean {
  return one.user === other.user && one.password === other.password;
}

/**
 * Kodi asks with `Basic realm="Kodi"`, and nothing beside it (players.md 7.1; bytes of Kodi 20.1, ran). Before it had the name of
 * the application there the realm was `XBMC`, once without quotes (17.6: xbmc/Kore#591).
 */
function refuseForeignChallenge({ headers }: Answer): void {
  const challenge = headers.get("www-authenticate")?.trim() ?? "";
  if (!/^basic +realm=/i.test(challenge) || !realms.has(challenge.slice(challenge.indexOf("=") + 1)))
    throw notKodi("it does not ask for a login as Kodi does");
}

function throwIfLoginWanted(answer: Answer): void {
  if (answer.status !== 401) return;
  refuseForeignChallenge(answer);
  throw loginWanted();
}

function fileOf(answer: Answer): Uint8Array | null {
  throwIfLoginWanted(answer);
  refuseRedirect(answer);
  return answer.status === 200 ? answer.body : null;
}

function resultOf(answer: Answer): unknown {
  throwIfLoginWanted(answer);
  refuseRedirect(answer);
  if (answer.status !== 200) throw notKodi("it does not answer JSON-RPC");
  return resultIn(readJson(bodyText(answer)));
}

/** The result in an answer. Throws the failure that it holds, with Kodi's own code in the cause (7.1). */
export function resultIn(answer: unknown): unknown {
  if (!isJson(answer) || (!("result" in answer) && !isJson(answer["error"])))
    throw new ZapdError("device_error", "sent an answer that is not valid JSON-RPC");
  const error = answer["error"];
  if (!isJson(error)) return answer["result"];
  const cause = { code: number(error["code"]), message: text(error["message"])?.slice(0, 200) };
  if (cause.code === -32_601)
    throw new ZapdError("unsupported_operation", "does not support that", {
      hint: "Update Kodi: zapd requires Kodi 19 or newer",
      cause,
    });
  if (cause.code === -32_602) throw new ZapdError("device_error", "refused the parameters of a call", { cause });
  if (cause.code === -32_100) throw new ZapdError("device_refused", "cannot do that now", { cause });
  throw new ZapdError("device_error", "reported an internal error", { cause });
}

/** Kodi's own code of a failure that `resultIn` threw. */
export function codeOf(error: unknown): number | null {
  const cause = error instanceof ZapdError ? error.cause : null;
  return isJson(cause) && typeof cause["code"] === "number" ? cause["code"] : null;
}
