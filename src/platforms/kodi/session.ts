/**
 * The WebSocket of a Kodi, which pushes what happens, and over which it can be asked (players.md 7.1). It is never sent a
 * ping, and left without a goodbye: Kodi answers a close frame with a text frame that holds it.
 */
import { neverAborted } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { asJson, isJson, type Json } from "../../transport/json.ts";
import { WebSocketRpc } from "../../transport/rpc.ts";
import type { Address, PlatformHost } from "../platform.ts";
import { resultIn } from "./rpc.ts";

export class KodiSession extends WebSocketRpc<unknown> {
  #last = 0;
  #told: (method: string, data: Json) => void = () => {};

  constructor(address: Address, platformHost: Pick<PlatformHost, "isOwnListener" | "requestTimeoutMs">) {
    super({ address, path: "/jsonrpc", tls: false, platformHost, heartbeatMs: 8_000, silenceTimeoutMs: 20_000 });
  }

  /** Has what Kodi says by itself told. */
  follow(told: (method: string, data: Json) => void): void {
    this.#told = told;
  }

  call(method: string, params: Json, signal: AbortSignal): Promise<unknown> {
    return this.ask({ jsonrpc: "2.0", id: ++this.#last, method, params }, deadline(this.timeoutMs, signal));
  }

  override close(): void {
    this.destroy();
  }

  protected sendHeartbeat(): void {
    this.call("JSONRPC.Ping", {}, neverAborted).catch(() => {});
  }

  protected received(said: Json): void {
    const { id, method, params } = said;
    if (typeof method === "string" && isJson(params)) return this.#told(method, asJson(params["data"]));
    const waiting = this.pendingRequest(id);
    try {
      waiting?.resolve(resultIn(said));
    } catch (error) {
      waiting?.reject(error);
    }
  }
}
