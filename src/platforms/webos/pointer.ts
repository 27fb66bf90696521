/** The second socket of a TV, for buttons: lines of text that are never answered (smart-tvs.md 2.4). */
import { closedBeforeSending, ZapdError } from "../../api/errors.ts";
import { unlessSlept } from "../../system/clock.ts";
import { sleep } from "../../system/sleep.ts";
import { hostOf } from "../../system/url.ts";
import { hungUp } from "../../transport/http-connection.ts";
import { text } from "../../transport/json.ts";
import { openWebSocket, type WebSocketConnection } from "../../transport/websocket.ts";
import type { PlatformHost } from "../platform.ts";
import { uris } from "./protocol.ts";
import type { WebosSession } from "./session.ts";

/** A TV that has answered a ping before gets more time. */
const pingTimeoutMs = 700;
const lostAfterMs = 2_000;

export class Pointer {
  readonly #session: WebosSession;
  readonly #platformHost: PlatformHost;
  #line: WebSocketConnection | undefined;
  #opening: Promise<WebSocketConnection> | undefined;
  /** Whether the TV answers pings; `null` before the first. */
  #answersPings: boolean | null = null;

  constructor(session: WebosSession, platformHost: PlatformHost) {
    this.#session = session;
    this.#platformHost = platformHost;
  }

  /**
   * Presses a button. The TV acknowledges none, not even an unknown name; an answered ping shows that the button was
   * read.
   */
  async press(button: string, signal: AbortSignal): Promise<void> {
    const line = this.#line?.open ? this.#line : await unlessSlept(this.#open(signal));
    line.send(`type:button\nname:${button}\n\n`);
    const known = this.#answersPings;
    // zapd does not wait again for a TV that answers no ping.
    if (known === false) return;
    const reading = line.isRead(lostAfterMs).then((isRead) => {
      if (isRead) this.#answersPings = true;
      return isRead;
    });
    // An answer that comes later shows all the same that the TV answers pings.
    const soon = known ? [] : [sleep(pingTimeoutMs).then(() => false)];
    if (await Promise.race([reading, ...soon])) return;
    // One that has hung up has shown nothing.
    if (line.open) this.#answersPings ??= false;
    // It has answered before: what it does not answer now, it has not read.
    if (known) line.destroy();
    if (!line.open) throw hungUp("closed the connection, or stopped answering, before it confirmed the key");
  }

  close(): void {
    this.#line?.destroy();
  }

  #open(signal: AbortSignal): Promise<WebSocketConnection> {
    this.#opening ??= this.#connect(signal).finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #connect(signal: AbortSignal): Promise<WebSocketConnection> {
    const answer = await this.#session.request(uris.pointer, {}, signal).catch((error: unknown) => {
      // No key was sent yet, so the TV may be woken and asked again.
      throw this.#session.alive || signal.aborted
        ? error
        : closedBeforeSending("closed the connection before it received the key", error);
    });
    const path = text(answer["socketPath"]) ?? "";
    const url = URL.canParse(path) ? new URL(path) : null;
    const { host } = this.#session.endpoint;
    // Never connect to a third host, whatever address the TV gives (SECURITY.md T6).
    if (!url || !/^wss?:$/.test(url.protocol) || hostOf(url) !== host)
      throw new ZapdError("device_error", "gave the address of another device for its buttons");
    const tls = url.protocol === "wss:";
    const port = url.port === "" ? (tls ? 443 : 80) : Number(url.port);
    const line = await openWebSocket(
      {
        address: { host, port },
        path: url.pathname + url.search,
        tls,
        // Who knows the path can press buttons.
        ...(tls && { certificate: this.#session.fingerprint }),
        platformHost: this.#platformHost,
        onText() {},
        onEnd() {},
      },
      signal,
    );
    if (!this.#session.alive) {
      line.destroy();
      throw closedBeforeSending();
    }
    this.#line = line;
    return line;
  }
}
