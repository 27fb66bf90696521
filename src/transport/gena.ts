/**
 * UPnP eventing (Device Architecture 1.1, section 4): a device calls back when its state changes. The content of a call is not
 * read: the call is a hint that the state is to be read. The listener accepts calls from this device only, at a path that cannot
 * be guessed, with the id of one of our subscriptions.
 */
import { protocolError } from "../api/errors.ts";
import { sleptSince } from "../system/clock.ts";
import { orAborted, sleep } from "../system/sleep.ts";
import { type DeviceHttp, deadline } from "./http.ts";
import type { Answer } from "./http-connection.ts";
import { addressFacing, listenToPeer, type PeerAnswer, type PeerListener, type PeerRequest } from "./peer-listener.ts";
import type { Session } from "./session.ts";

interface SubscribeOptions {
  readonly http: Pick<DeviceHttp, "exchangeOnce">;
  /** The device's IP address. */
  readonly peer: string;
  /** The event paths of its services. */
  readonly paths: readonly string[];
  /** The state of the device has changed. */
  onEvent(): void;
  /** A subscription could not be renewed, and all have ended. */
  onEnd(): void;
}

/** The requested duration; the device may give another. */
const requestedSeconds = 300;
const timeout = { TIMEOUT: `Second-${requestedSeconds}` } as const;
const callTimeoutMs = 3_000;
/** Renewed within this at the latest, so that a device that has lost the subscription is noticed. */
const maxRenewalMs = 900_000;
const minRenewalMs = 10_000;
/** How often it is checked whether this machine has slept. */
const sleepCheckMs = 1_000;
const maxEventBytes = 256 * 1024;
const wanted = { wanted: "head", maxBytes: 16 * 1024 } as const;

/** Ids of calls that came before the answer with the id (players.md 8). */
const maxEarlyIds = 16;

/** Subscribes to every service. On a failure all subscriptions are ended. */
export async function subscribe(options: SubscribeOptions, signal: AbortSignal): Promise<Subscriptions> {
  const subscriptions = new Subscriptions(options);
  try {
    await subscriptions.open(signal);
  } catch (error) {
    subscriptions.close();
    throw error;
  }
  return subscriptions;
}

/** The subscriptions to a device, one for each of its services. */
export class Subscriptions implements Session {
  readonly pending = 0;
  readonly #options: SubscribeOptions;
  /** The path of each subscription, by its id. */
  readonly #paths = new Map<string, string>();
  /** The ids that the device has called with. */
  readonly #confirmed = new Set<string>();
  readonly #closed = new AbortController();
  #listener: PeerListener | undefined;
  /** The device may call with an id before it has answered with that id. */
  #isOpening = true;

  constructor(options: SubscribeOptions) {
    this.#options = options;
  }

  get alive(): boolean {
    return !this.#closed.signal.aborted;
  }

  /**
   * Whether the device has called back for each subscription, as it must right after it has accepted one (4.2.1). Where it has
   * not, as behind a firewall, no later change will be reported.
   */
  get isConfirmed(): boolean {
    return [...this.#paths.keys()].every((sid) => this.#confirmed.has(sid));
  }

  async open(signal: AbortSignal): Promise<void> {
    const { peer, paths } = this.#options;
    const answer = (request: PeerRequest) => ({ headers: { "content-length": "0" }, ...this.#handle(request) });
    this.#listener = await listenToPeer({ peer, methods: ["NOTIFY"], maxBodyBytes: maxEventBytes, answer });
    const callback = `<${this.#listener.url}>`;
    for (const path of paths) {
      // An aborted call continues, as only its answer holds the id to unsubscribe.
      await orAborted(this.#subscribe(path, callback), signal);
    }
    this.#isOpening = false;
  }

  async #subscribe(path: string, callback: string): Promise<void> {
    const request = { CALLBACK: callback, NT: "upnp:event", ...timeout };
    const { headers } = await this.#call(path, request, AbortSignal.timeout(callTimeoutMs));
    const sid = headers.get("sid") ?? "";
    if (sid === "" || sid.length > 256) throw protocolError("sent no subscription id");
    if (!this.alive) return this.#unsubscribe(sid, path);
    this.#paths.set(sid, path);
    void this.#renew(sid, path, headers);
  }

  /** Ends at once, and unsubscribes without waiting for the device. */
  close(): void {
    if (!this.alive) return;
    this.#closed.abort(new Error("closed"));
    void this.#listener?.close();
    for (const [sid, path] of this.#paths) this.#unsubscribe(sid, path);
  }

  #unsubscribe(sid: string, path: string): void {
    const exchange = { method: "UNSUBSCRIBE", path, headers: { SID: sid }, ...wanted } as const;
    this.#options.http.exchangeOnce(exchange, AbortSignal.timeout(callTimeoutMs)).catch(() => {});
  }

  #handle({ headers }: PeerRequest): PeerAnswer {
    if (headers["nt"] !== "upnp:event" || headers["nts"] !== "upnp:propchange") return { status: 412 };
    const sid = headers["sid"] ?? "";
    const isOurs = this.#paths.has(sid);
    // The first call of a subscription may come before the answer with its id (players.md 8).
    if (!isOurs && !this.#isOpening) return { status: 412 };
    if (isOurs || this.#confirmed.size < maxEarlyIds) this.#confirmed.add(sid);
    if (isOurs) this.#options.onEvent();
    return { status: 200 };
  }

  async #renew(sid: string, path: string, first: Answer["headers"]): Promise<void> {
    const { signal } = this.#closed;
    const hasSlept = sleptSince();
    let headers = first;
    try {
      for (;;) {
        const seconds = Number(/^second-(\d{1,9})$/i.exec(headers.get("timeout") ?? "")?.[1] ?? requestedSeconds);
        const renewInMs = Math.min(maxRenewalMs, Math.max(minRenewalMs, seconds * 500));
        for (let leftMs = renewInMs; leftMs > 0; leftMs -= sleepCheckMs) {
          await sleep(Math.min(leftMs, sleepCheckMs), signal);
          // Events of that time were lost, and this timer stood still.
          if (hasSlept()) throw protocolError("may have sent events while this machine slept");
        }
        // The device calls the address of the first subscription, which this machine may no longer have.
        if ((await addressFacing(this.#options.peer)) !== this.#listener?.address)
          throw protocolError("sends events to an address that this machine no longer has");
        ({ headers } = await this.#call(path, { SID: sid, ...timeout }, deadline(callTimeoutMs, signal)));
      }
    } catch {
      if (!this.alive) return;
      this.close();
      this.#options.onEnd();
    }
  }

  async #call(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Answer> {
    const answer = await this.#options.http.exchangeOnce({ method: "SUBSCRIBE", path, headers, ...wanted }, signal);
    if (answer.status !== 200) throw protocolError(`refused the event subscription: it answered ${answer.status}`);
    return answer;
  }
}
