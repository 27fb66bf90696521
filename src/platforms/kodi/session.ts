/**
 * The WebSocket of a Kodi, for calls and notifications (players.md 7.1). It is closed without a close frame, which Kodi answers
 * with a text frame that holds it.
 */
import { neverAborted } from "../../system/never-aborted.ts";
import { deadline } from "../../transport/http.ts";
import { asJson, isJson, type Json } from "../../transport/json.ts";
import { WebSocketRpc } from "../../transport/rpc.ts";
import type { WebSocketOptions } from "../../transport/websocket.ts";
import type { Address, PlatformHost } from "../platform.ts";
import { resultIn } from "./rpc.ts";

type Listener = (method: string, data: Json) => void;

export class KodiSession extends WebSocketRpc<unknown> {
  #lastId = 0;
  #listener: Listener = () => {};

  constructor(
    address: Address,
    platformHost: Pick<PlatformHost, "isOwnListener" | "requestTimeoutMs">,
    options: Pick<WebSocketOptions, "handshakeTimeoutMs"> = {},
  ) {
    const timing = { heartbeatMs: 8_000, silenceTimeoutMs: 20_000, ...options };
    super({ address, path: "/jsonrpc", tls: false, platformHost, ...timing });
  }

  onNotification(listener: Listener): void {
    this.#listener = listener;
  }

  call(method: string, params: Json, signal: AbortSignal): Promise<unknown> {
    return this.ask({ jsonrpc: "2.0", id: ++this.#lastId, method, params }, deadline(this.timeoutMs, signal));
  }

  override close(): void {
    this.destroy();
  }

  protected override sendHeartbeat(): void {
    // Without an answer the connection falls silent, and is closed for that.
    this.call("JSONRPC.Ping", {}, neverAborted).catch(() => {});
  }

  protected received(message: Json): void {
    const { id, method, params } = message;
    if (typeof method === "string" && isJson(params)) return this.#listener(method, asJson(params["data"]));
    const request = this.pendingRequest(id);
    try {
      request?.resolve(resultIn(message));
    } catch (error) {
      request?.reject(error);
    }
  }
}
