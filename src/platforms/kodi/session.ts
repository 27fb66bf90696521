/**
 * The WebSocket of a Kodi, which pushes what happens, and over which it can be asked (players.md 7.1). It is never sent a
 * ping, and left without a goodbye: Kodi answers a close frame with a text frame that holds it.
 */
import { deadline } from "../../transport/http.ts";
import { asJson, isJson, type Json } from "../../transport/json.ts";
import { Questions } from "../../transport/rpc.ts";
import type { Ending, Session } from "../../transport/session.ts";
import { openWebSocket, type WebSocketLine } from "../../transport/websocket.ts";
import type { Address, Surroundings } from "../platform.ts";
import { parsed, resultIn } from "./rpc.ts";

const askEvery = 8_000;
const silentAfter = 20_000;

export class KodiSession implements Session {
  readonly #line: WebSocketLine;
  readonly #surroundings: Pick<Surroundings, "requestTimeout">;
  readonly #questions: Questions<unknown>;
  readonly #pulse: ReturnType<typeof setInterval>;
  #last = 0;
  #told: (method: string, data: Json) => void = () => {};
  #ended: (ending: Ending) => void = () => {};
  /** It said that it ends or sleeps: its silence is no accident. */
  leaving = false;

  private constructor(line: WebSocketLine, surroundings: Pick<Surroundings, "requestTimeout">) {
    this.#line = line;
    this.#questions = new Questions(line);
    this.#surroundings = surroundings;
    this.#pulse = setInterval(() => {
      if (performance.now() - line.heardAt > silentAfter) line.destroy();
      else this.call("JSONRPC.Ping", {}, never).catch(() => {});
    }, askEvery);
    this.#pulse.unref?.();
  }

  static async open(
    address: Address,
    surroundings: Pick<Surroundings, "isOwnListener" | "requestTimeout">,
    signal: AbortSignal,
  ): Promise<KodiSession> {
    let session: KodiSession | undefined;
    const line = await openWebSocket(
      {
        ...{ address, path: "/jsonrpc", tls: false, surroundings },
        onText: (message) => session?.received(message),
        onEnd: () => session?.over(),
      },
      signal,
    );
    session = new KodiSession(line, surroundings);
    return session;
  }

  get alive(): boolean {
    return this.#line.open;
  }

  get pending(): number {
    return this.#questions.pending;
  }

  follow(told: (method: string, data: Json) => void, ended: (ending: Ending) => void): void {
    this.#told = told;
    this.#ended = ended;
  }

  call(method: string, params: Json, signal: AbortSignal): Promise<unknown> {
    const within = deadline(this.#surroundings.requestTimeout(), signal);
    return this.#questions.ask({ jsonrpc: "2.0", id: ++this.#last, method, params }, within);
  }

  close(): void {
    clearInterval(this.#pulse);
    this.#line.destroy();
  }

  received(message: string): void {
    let said: unknown;
    try {
      said = parsed(message);
    } catch {
      return;
    }
    if (!isJson(said)) return;
    const { id, method, params } = said;
    if (typeof method === "string" && isJson(params)) return this.#told(method, asJson(params["data"]));
    const waiting = this.#questions.under(id);
    try {
      waiting?.resolve(resultIn(said));
    } catch (error) {
      waiting?.reject(error);
    }
  }

  over(): void {
    clearInterval(this.#pulse);
    this.#questions.end();
    this.#ended({ again: !this.leaving });
  }
}

const never = new AbortController().signal;
