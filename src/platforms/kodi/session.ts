/**
 * The WebSocket of a Kodi, which pushes what happens, and over which it can be asked (players.md 7.1). It is never sent a
 * ping, and left without a goodbye: Kodi answers a close frame with a text frame that holds it.
 */
import { ZapdError } from "../../errors.ts";
import { deadline } from "../http.ts";
import type { Ending, Session } from "../link.ts";
import type { Address, Surroundings } from "../platform.ts";
import { openWebSocket, type WebSocketLine } from "../websocket.ts";
import { isJson, type Json } from "./protocol.ts";
import { parsed, resultIn } from "./rpc.ts";

const askEvery = 8_000;
const silentAfter = 20_000;

export class KodiSession implements Session {
  readonly #line: WebSocketLine;
  readonly #surroundings: Pick<Surroundings, "requestTimeout">;
  readonly #waiting = new Map<number, { resolve(result: unknown): void; reject(error: unknown): void }>();
  readonly #pulse: ReturnType<typeof setInterval>;
  #last = 0;
  #told: (method: string, data: Json) => void = () => {};
  #ended: (ending: Ending) => void = () => {};
  /** It said that it ends or sleeps: its silence is no accident. */
  leaving = false;

  private constructor(line: WebSocketLine, surroundings: Pick<Surroundings, "requestTimeout">) {
    this.#line = line;
    this.#surroundings = surroundings;
    this.#pulse = setInterval(() => {
      if (performance.now() - line.heardAt > silentAfter) line.destroy();
      else this.call("JSONRPC.Ping", {}, never).catch(() => {});
    }, askEvery);
    this.#pulse.unref?.();
  }

  static async open(
    address: Address,
    surroundings: Pick<Surroundings, "isOwnDoor" | "requestTimeout">,
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
    return this.#waiting.size;
  }

  follow(told: (method: string, data: Json) => void, ended: (ending: Ending) => void): void {
    this.#told = told;
    this.#ended = ended;
  }

  call(method: string, params: Json, signal: AbortSignal): Promise<unknown> {
    const within = deadline(this.#surroundings.requestTimeout(), signal);
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      if (within.aborted) return reject(within.reason);
      if (!this.alive) return reject(new ZapdError("device_unreachable", "hung up"));
      const settle = (act: () => void) => {
        this.#waiting.delete(id);
        within.removeEventListener("abort", aborted);
        act();
      };
      const aborted = () => settle(() => reject(within.reason));
      within.addEventListener("abort", aborted, { once: true });
      this.#waiting.set(id, {
        resolve: (result) => settle(() => resolve(result)),
        reject: (error) => settle(() => reject(error)),
      });
      this.#line.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
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
    if (typeof method === "string" && isJson(params))
      return this.#told(method, isJson(params["data"]) ? params["data"] : {});
    const waiting = typeof id === "number" ? this.#waiting.get(id) : undefined;
    try {
      waiting?.resolve(resultIn(said));
    } catch (error) {
      waiting?.reject(error);
    }
  }

  over(): void {
    clearInterval(this.#pulse);
    const gone = new ZapdError("device_error", "hung up before it answered");
    for (const { reject } of [...this.#waiting.values()]) reject(gone);
    this.#ended({ again: !this.leaving });
  }
}

const never = new AbortController().signal;
