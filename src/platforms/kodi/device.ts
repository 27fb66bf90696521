/** One Kodi: asked over HTTP or its WebSocket, proven to be the one that is meant, and followed by what it pushes. */
import { ZapdError } from "../../errors.ts";
import { rest } from "../../rest.ts";
import { Elsewhere } from "../elsewhere.ts";
import { asJson, isJson, type Json, text } from "../json.ts";
import { Link } from "../link.ts";
import type { DeviceSurroundings, MdnsService, Target } from "../platform.ts";
import { readMac } from "../wake.ts";
import { PushedState } from "./pushed.ts";
import { HttpRpc } from "./rpc.ts";
import { KodiSession } from "./session.ts";

export const httpType = "_xbmc-jsonrpc-h._tcp";
/** A Kodi without push is not asked for it with every call. */
const pushAgainAfter = 60_000;
/** It goes on answering for a moment after it said that it ends: what it says then is not news. */
const leavesWithin = 3_000;
const endsWithin = 30_000;
const macLabel = "Network.MacAddress";
/** It is busy with finding it out when it is asked for the first time, and now and then for long (7.2). */
const macEvery = 2_000;
const macRounds = 15;

export class KodiDevice {
  readonly target: Target;
  readonly pushed = new PushedState();
  readonly #surroundings: DeviceSurroundings;
  readonly #http: HttpRpc | null;
  readonly #link: Link<KodiSession>;
  #noPushUntil = Number.NEGATIVE_INFINITY;
  #leavingUntil = Number.NEGATIVE_INFINITY;
  #hungUpAt = Number.NEGATIVE_INFINITY;
  #askedMac = false;
  readonly #closed = new AbortController();

  constructor(target: Target, surroundings: DeviceSurroundings) {
    this.target = target;
    this.#surroundings = surroundings;
    const { credentials } = surroundings;
    const { host, port, ports, traits } = target;
    // What was found at another port says nothing of this one.
    const overHttp = traits["transport"] !== `websocket:${port}`;
    const prove = (ask: (method: string, params: Json) => Promise<Json>) => this.#prove(ask);
    this.#http = overHttp ? new HttpRpc({ address: { host, port }, surroundings, credentials, prove }) : null;
    const at = { host, port: overHttp ? (ports["websocket"] ?? 9_090) : port };
    this.#link = new Link<KodiSession>({
      debug: (message) => surroundings.debug(`${host}: ${message}`),
      onEnd: () => {
        this.pushed.forget();
        surroundings.fellSilent();
        this.#hungUpAt = performance.now();
      },
      open: async (signal, _unasked, ended) => {
        const session = await KodiSession.open(at, surroundings, signal);
        try {
          session.follow((method, data) => this.#told(session, method, data), ended);
          await this.#prove(async (method, params) => asJson(await session.call(method, params, signal)));
          return session;
        } catch (error) {
          session.close();
          throw error;
        }
      },
    });
  }

  /** Whether what happens is pushed to us now. */
  get isFollowed(): boolean {
    return this.#link.current !== undefined;
  }

  /** A question that is answered by an object. */
  async read(method: string, params: Json, signal: AbortSignal): Promise<Json> {
    return asJson(await this.#ask(method, params, signal));
  }

  /** The players that are active; after a stop one still answers zeros, so this is asked first (7.2). */
  async players(signal: AbortSignal): Promise<number[]> {
    const result = await this.#ask("Player.GetActivePlayers", {}, signal);
    const players = Array.isArray(result) ? result.filter(isJson) : [];
    return players.flatMap(({ playerid, type }) =>
      typeof playerid === "number" && type !== "picture" ? [playerid] : [],
    );
  }

  /** A command, after which nothing is true any more that was said before. */
  async command(method: string, params: Json, signal: AbortSignal): Promise<unknown> {
    this.pushed.commanded();
    try {
      const http = this.#http;
      if (http) return await this.#noting(() => http.command(method, params, signal));
      return await (await this.#link.use(signal, { eager: true })).call(method, params, signal);
    } finally {
      this.pushed.commanded();
    }
  }

  /** Has what happens pushed from now on, where that can be; nobody waits for it. */
  follow(): void {
    if (this.isFollowed || performance.now() < this.#noPushUntil || !this.#http) return;
    this.#noPushUntil = performance.now() + 1_000;
    this.#link.use(AbortSignal.timeout(10_000)).catch((error: unknown) => {
      this.#noPushUntil = performance.now() + pushAgainAfter;
      this.#surroundings.debug(
        `${this.target.host}: nothing is pushed: ${error instanceof Error ? error.message : ""}`,
      );
    });
  }

  /** It goes off, and is left alone. */
  leave(): void {
    this.#leavingUntil = performance.now() + leavesWithin;
    this.pushed.forget();
    this.#surroundings.heard("off");
    this.#link.drop();
  }

  close(): void {
    this.#closed.abort();
    this.#http?.close();
    this.#link.close();
  }

  async #ask(method: string, params: Json, signal: AbortSignal): Promise<unknown> {
    const http = this.#http;
    if (http) return this.#noting(() => http.read(method, params, signal));
    return (await this.#link.use(signal)).call(method, params, signal);
  }

  #told(session: KodiSession, method: string, data: Json): void {
    if (method === "System.OnQuit" || method === "System.OnSleep" || method === "System.OnRestart") {
      session.leaving = true;
      return this.leave();
    }
    this.#surroundings.heard("on");
    this.pushed.take(method, data);
  }

  /** What a refusal or a login says of the access goes into the registry. */
  async #noting<T>(work: () => Promise<T>): Promise<T> {
    if (performance.now() < this.#leavingUntil) throw new ZapdError("device_unreachable", "is on its way off");
    try {
      const result = await work();
      if (this.target.access !== "full") this.#surroundings.learned({ access: "full" });
      return result;
    } catch (error) {
      if (error instanceof ZapdError && error.code === "pairing_required" && this.target.access !== "unpaired")
        this.#surroundings.learned({ access: "unpaired" });
      // It hung up without a word, as it does now and then when it ends, and nothing listens there any more.
      const hungUp = performance.now() - this.#hungUpAt < endsWithin;
      if (hungUp && error instanceof ZapdError && /refused/.test(error.message)) this.#surroundings.heard("off");
      throw error;
    }
  }

  /**
   * A Kodi does not tell its own id to those who ask. It is the one that is meant by its name; one of another name, by its
   * hardware's address, or by the id that it announces over mDNS, or it is taken for another.
   */
  async #prove(ask: (method: string, params: Json) => Promise<Json>): Promise<void> {
    const { target } = this;
    const name = text((await ask("XBMC.GetInfoLabels", { labels: ["System.FriendlyName"] }))["System.FriendlyName"]);
    // Not asked beside the name: Kodi may take seconds to find it out (7.2).
    const macOf = async () => readMac((await ask("XBMC.GetInfoLabels", { labels: [macLabel] }))[macLabel]);
    if (name !== target.name && target.name !== null) {
      const mac = await macOf();
      const known = mac !== null && target.macs.length > 0 ? target.macs.includes(mac) : null;
      if (!(known ?? (await this.#announcesItself(target)))) throw new Elsewhere(target.host);
    }
    if (name !== null && name !== target.name) this.#surroundings.learned({ name });
    if (target.macs.length > 0 || this.#askedMac) return;
    this.#askedMac = true;
    this.#learnMac().catch(() => {});
  }

  /** The address to wake it by; nobody waits for it. */
  async #learnMac(): Promise<void> {
    for (let round = 0; round < macRounds; round++) {
      await rest(macEvery, this.#closed.signal);
      const mac = readMac(
        (await this.read("XBMC.GetInfoLabels", { labels: [macLabel] }, this.#closed.signal))[macLabel],
      );
      if (mac !== null) return this.#surroundings.learned({ macs: [mac] });
    }
  }

  async #announcesItself({ host, identity }: Target): Promise<boolean> {
    const signal = AbortSignal.timeout(3_000);
    const isIt = ({ txt }: MdnsService) => txt["uuid"]?.toLowerCase() === identity;
    return (await this.#surroundings.announced(httpType, host, isIt, signal)) !== null;
  }
}
