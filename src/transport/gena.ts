/**
 * UPnP eventing (Device Architecture 1.1, section 4): a device calls back when something of it changes. What it says in its
 * call is dropped unread: that it called is a hint, and whoever wants to know asks, so that nothing of what comes in unasked is
 * ever believed. The listener takes calls of this device alone, under a path that nobody can guess, with the id of a
 * subscription of ours.
 */
import { DeviceError } from "../api/errors.ts";
import { orAborted, sleep } from "../system/sleep.ts";
import { type DeviceHttp, deadline } from "./http.ts";
import type { Answer } from "./http-connection.ts";
import { addressFacing, listenToPeer, type PeerAnswer, type PeerListener, type PeerRequest } from "./peer-listener.ts";
import type { Session } from "./session.ts";

export interface SubscribeOptions {
  readonly http: Pick<DeviceHttp, "exchangeOnce">;
  /** The device's address: who else calls is hung up on. */
  readonly peer: string;
  /** Where each of its services takes subscriptions: paths on the device. */
  readonly paths: readonly string[];
  /** The device called: something of it is other than before. */
  onEvent(): void;
  /** A subscription could not be kept: nothing is told any more. */
  onEnd(): void;
}

/** What is asked for; the device says what it gives. */
const wantedSeconds = 300;
const callMs = 3_000;
/** However long it gives: one that forgets us is noticed. */
const longestMs = 900_000;
const shortestMs = 10_000;
/** The values of a service together; they are not read. */
const mostBytes = 256 * 1024;
const answerBytes = 16 * 1024;

/** So many ids are remembered of calls that came before the answers that tell them. */
const mostEarly = 16;

/** The subscriptions to a device, one for each of its services. */
export interface Subscribed extends Session {
  /**
   * Whether the device has called for each of them. It does so right after it took one (4.2.1), to say how everything stands:
   * where that never comes, as behind a firewall, nothing that changes later will.
   */
  readonly isHeard: boolean;
}

/** Subscribes to every service, or fails and leaves nothing behind. */
export async function subscribe(options: SubscribeOptions, signal: AbortSignal): Promise<Subscribed> {
  const subscriptions = new Subscriptions(options);
  try {
    await subscriptions.open(signal);
  } catch (error) {
    subscriptions.close();
    throw error;
  }
  return subscriptions;
}

class Subscriptions implements Subscribed {
  readonly pending = 0;
  readonly #options: SubscribeOptions;
  /** By its id, where a subscription is. */
  readonly #paths = new Map<string, string>();
  /** The ids that it has called with. */
  readonly #heard = new Set<string>();
  readonly #over = new AbortController();
  #listener: PeerListener | undefined;
  /** Whether the device may call before it has told an id. */
  #isOpening = true;

  constructor(options: SubscribeOptions) {
    this.#options = options;
  }

  get alive(): boolean {
    return !this.#over.signal.aborted;
  }

  get isHeard(): boolean {
    return [...this.#paths.keys()].every((sid) => this.#heard.has(sid));
  }

  async open(signal: AbortSignal): Promise<void> {
    const { peer, paths } = this.#options;
    const answer = (request: PeerRequest) => ({ headers: { "content-length": "0" }, ...this.#take(request) });
    this.#listener = await listenToPeer({ peer, methods: ["NOTIFY"], maxBodyBytes: mostBytes, answer });
    const callback = `<${this.#listener.url}>`;
    for (const path of paths) {
      // A call under way goes on when nobody wants the events any more: only its answer tells what is to be given back.
      await orAborted(this.#subscribe(path, callback), signal);
    }
    this.#isOpening = false;
  }

  async #subscribe(path: string, callback: string): Promise<void> {
    const asked = { CALLBACK: callback, NT: "upnp:event", ...timeout };
    const { headers } = await this.#call(path, asked, AbortSignal.timeout(callMs));
    const sid = headers.get("sid") ?? "";
    if (sid === "" || sid.length > 256) throw unsubscribed("gave no id for its events");
    if (!this.alive) return this.#giveBack(sid, path);
    this.#paths.set(sid, path);
    void this.#renew(sid, path, headers);
  }

  /** Ends at once; the device is told, once, and need not answer. */
  close(): void {
    if (!this.alive) return;
    this.#over.abort(new Error("closed"));
    void this.#listener?.close();
    for (const [sid, path] of this.#paths) this.#giveBack(sid, path);
  }

  #giveBack(sid: string, path: string): void {
    const exchange = {
      method: "UNSUBSCRIBE",
      path,
      headers: { SID: sid },
      wanted: "head",
      maxBytes: answerBytes,
    } as const;
    this.#options.http.exchangeOnce(exchange, AbortSignal.timeout(callMs)).catch(() => {});
  }

  #take({ headers }: PeerRequest): PeerAnswer {
    if (headers["nt"] !== "upnp:event" || headers["nts"] !== "upnp:propchange") return { status: 412 };
    const sid = headers["sid"] ?? "";
    const isKnown = this.#paths.has(sid);
    // The first call of a subscription may come before the answer that tells its id (players.md 8); it says nothing new.
    if (!isKnown && !this.#isOpening) return { status: 412 };
    if (isKnown || this.#heard.size < mostEarly) this.#heard.add(sid);
    if (isKnown) this.#options.onEvent();
    return { status: 200 };
  }

  async #renew(sid: string, path: string, first: Answer["headers"]): Promise<void> {
    const { signal } = this.#over;
    let headers = first;
    try {
      for (;;) {
        const seconds = Number(/^second-(\d{1,9})$/i.exec(headers.get("timeout") ?? "")?.[1] ?? wantedSeconds);
        await sleep(Math.min(longestMs, Math.max(shortestMs, seconds * 500)), signal);
        // A device goes on calling the address that was told it, which may not be this machine's any more.
        if ((await addressFacing(this.#options.peer)) !== this.#listener?.address)
          throw unsubscribed("calls an address that this machine does not have now");
        ({ headers } = await this.#call(path, { SID: sid, ...timeout }, deadline(callMs, signal)));
      }
    } catch {
      if (!this.alive) return;
      this.close();
      this.#options.onEnd();
    }
  }

  async #call(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Answer> {
    const exchange = { method: "SUBSCRIBE", path, headers, wanted: "head", maxBytes: answerBytes } as const;
    const answer = await this.#options.http.exchangeOnce(exchange, signal);
    if (answer.status !== 200) throw unsubscribed(`tells nothing by itself: it answered ${answer.status}`);
    return answer;
  }
}

const timeout = { TIMEOUT: `Second-${wantedSeconds}` } as const;

function unsubscribed(message: string): DeviceError {
  return new DeviceError("device_error", message, { phase: "answered", reason: "protocol" });
}
