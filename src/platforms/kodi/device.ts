/** One Kodi: asked over HTTP or its WebSocket, proven to be the one that is meant, and followed by what it pushes. */
import { ZapdError } from "../../api/errors.ts";
import { rest } from "../../system/sleep.ts";
import { Elsewhere } from "../../transport/elsewhere.ts";
import { Ended } from "../../transport/ended.ts";
import { asJson, isJson, type Json, text } from "../../transport/json.ts";
import { Link } from "../../transport/session.ts";
import { isRefused } from "../../transport/socket.ts";
import { readMac } from "../../transport/wake-on-lan.ts";
import type { DeviceSurroundings, MdnsService, Target } from "../platform.ts";
import { httpType, isUuid, socketType, uuidOf, webPortOf } from "./announced.ts";
import { Field } from "./field.ts";
import { PushedState } from "./pushed.ts";
import { AsksLogin, HttpRpc, type Login, NotKodi } from "./rpc.ts";
import { KodiSession } from "./session.ts";

/** A Kodi without push is not asked for it with every call. */
const pushAgainAfter = 60_000;
/** It goes on answering for a moment after it said that it ends: what it says then is not news. */
const leavesWithin = 3_000;
/** Who announces nothing is not asked for its announcement with each new connection. */
const silenceHolds = 60_000;
const usualSocket = 9_090;
const nameLabel = "System.FriendlyName";
const macLabel = "Network.MacAddress";
/** It is busy with finding it out when it is asked for the first time, and now and then for long (7.2). */
const macEvery = 2_000;
const macRounds = 15;
/** By cable and by radio, and what it had before. */
const mostMacs = 4;

export class KodiDevice {
  readonly target: Target;
  readonly pushed = new PushedState();
  readonly #surroundings: DeviceSurroundings;
  /** What stands in the keyboard that is open. */
  readonly field = new Field();
  /** It said itself that its machine goes to sleep, or was sent there: a magic packet may wake it then. */
  asleep = false;
  readonly #http: HttpRpc | null;
  readonly #link: Link<KodiSession>;
  /** Its socket as it was set or announced; the usual one may be that of another Kodi on the same machine. */
  readonly #socket: number | null;
  /** The session that was open when it was last seen who announces itself here. */
  #vouchedBy: KodiSession | undefined;
  #silentUntil = Number.NEGATIVE_INFINITY;
  #noSocketUntil = Number.NEGATIVE_INFINITY;
  #noPushUntil = Number.NEGATIVE_INFINITY;
  #leavingUntil = Number.NEGATIVE_INFINITY;
  #askedMac = false;
  readonly #closed = new AbortController();

  constructor(target: Target, surroundings: DeviceSurroundings) {
    this.target = target;
    this.#surroundings = surroundings;
    const { host, port, ports, traits } = target;
    // What was found at another port says nothing of this one.
    const overHttp = traits["transport"] !== `websocket:${port}`;
    const prove = (ask: Ask) => this.#prove(ask);
    const login = () => this.#login();
    const vouch = (signal: AbortSignal) => this.vouch(signal);
    this.#http = overHttp ? new HttpRpc({ address: { host, port }, surroundings, login, vouch, prove }) : null;
    const announced = Number(traits["socket"]);
    this.#socket = overHttp ? (ports["websocket"] ?? (announced > 0 ? announced : null)) : port;
    this.#link = new Link<KodiSession>({
      debug: (message) => surroundings.debug(`${host}: ${message}`),
      onEnd: () => {
        this.pushed.forget();
        this.field.forget();
        this.#unvouched();
        surroundings.fellSilent();
      },
      open: async (signal, _unasked, ended) => {
        const session = await KodiSession.open({ host, port: this.#socket ?? usualSocket }, surroundings, signal);
        try {
          const ask: Ask = async (method, params) => asJson(await session.call(method, params, signal));
          if (overHttp) await this.#refuseNeighbour(ask, signal);
          session.follow((method, data) => this.#told(session, method, data), ended);
          await this.#prove(ask);
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
      if (!http) return await (await this.#session(signal, true)).call(method, params, signal);
      return await this.#orOverSocket(
        () => http.command(method, params, signal),
        async () => (await this.#session(signal, true)).call(method, params, signal),
      );
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
  leave(asleep: boolean): void {
    this.asleep = asleep;
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
    const overSocket = async () => (await this.#session(signal)).call(method, params, signal);
    return http ? this.#orOverSocket(() => http.read(method, params, signal), overSocket) : overSocket();
  }

  async #session(signal: AbortSignal, eager = false): Promise<KodiSession> {
    try {
      return await this.#link.use(signal, { eager });
    } catch (error) {
      throw this.toldOf(error);
    }
  }

  /** The socket asks for no login: it serves a Kodi that must not be sent one now, or whose web server was switched off. */
  async #orOverSocket<T>(overHttp: () => Promise<T>, overSocket: () => Promise<T>): Promise<T> {
    try {
      return await this.#noting(overHttp);
    } catch (error) {
      if (error instanceof ZapdError && error.code === "device_unproven")
        return overSocket().catch((other: unknown) => {
          throw other instanceof Elsewhere ? other : error;
        });
      if (isRefused(error) && this.isFollowed) return overSocket();
      throw this.toldOf(error);
    }
  }

  #told(session: KodiSession, method: string, data: Json): void {
    if (method === "System.OnQuit" || method === "System.OnSleep" || method === "System.OnRestart") {
      session.leaving = true;
      // Exit code 64 turns the machine off, 0 ends the program alone.
      return this.leave(method === "System.OnSleep" || data["exitcode"] === 64);
    }
    if (method === "Input.OnInputRequested" || method === "Input.OnInputFinished") this.field.forget();
    this.#surroundings.heard("on");
    this.pushed.take(method, data);
  }

  /** What a refusal or a login says of the access goes into the registry. */
  async #noting<T>(work: () => Promise<T>): Promise<T> {
    if (performance.now() < this.#leavingUntil) {
      if (!this.asleep) throw this.#ended("has just ended, as it said");
      throw new ZapdError("device_unreachable", "is on its way off", { hint: this.#awakeHint });
    }
    try {
      const result = await work();
      this.asleep = false;
      if (this.target.access !== "full") this.#surroundings.learned({ access: "full" });
      return result;
    } catch (error) {
      if (error instanceof AsksLogin && this.target.access !== "unpaired")
        this.#surroundings.learned({ access: "unpaired" });
      if (!(error instanceof AsksLogin)) this.#unvouched();
      throw error;
    }
  }

  /** Who is there may be another by now. */
  #unvouched(): void {
    this.#vouchedBy = undefined;
    this.#silentUntil = Number.NEGATIVE_INFINITY;
  }

  /** A failure in words that are true of this one: what it can be woken by, and whether it has ended. */
  toldOf(error: unknown): unknown {
    if (isRefused(error)) {
      this.pushed.forget();
      this.#surroundings.heard("off");
      const { host, port } = this.target;
      return this.#ended(`does not run: its machine refuses the connection to ${host}:${port}`);
    }
    if (!(error instanceof ZapdError) || error instanceof Elsewhere || error instanceof Ended) return error;
    if (error.code !== "device_unreachable" && error.code !== "device_timeout") return error;
    return new ZapdError(error.code, error.message, { hint: this.#awakeHint, cause: error.cause });
  }

  /** It does not run, though its machine answers. */
  #ended(problem: string): Ended {
    const hint =
      "Start Kodi there, with Settings > Services > Control > Allow remote control via HTTP turned on; or look where it has gone: zapd discover";
    return new Ended(problem, hint);
  }

  get #awakeHint(): string {
    const { host } = this.target;
    return `It may be asleep: {wake}, or check that ${host} is still its address with zapd discover`;
  }

  /** What it is sent when it asks for a login. */
  #login(): Login {
    const { user = "kodi", password } = this.#surroundings.credentials.read() ?? {};
    if (!password) throw new AsksLogin();
    return { user, password };
  }

  /**
   * Before a login goes out: who is there, as far as that can be seen without one (SECURITY.md 2.4): by its socket, which
   * asks for none, and by the id that it announces. Fails when that is another Kodi.
   */
  async vouch(signal: AbortSignal): Promise<void> {
    const { target } = this;
    const session = await this.#withoutLogin(signal);
    if (!isUuid(target.identity) || (session && session === this.#vouchedBy)) return;
    if (performance.now() < this.#silentUntil) return;
    const isHere = ({ port }: MdnsService) => port === target.port;
    const service = await this.#surroundings.announced(httpType, target.host, isHere, signal);
    if (service && (uuidOf(service.txt) ?? target.identity) !== target.identity) throw new Elsewhere(target.host);
    if (!service) this.#silentUntil = performance.now() + silenceHolds;
    this.#vouchedBy = session;
  }

  /** Its socket, where it has one: who is there is proven by what it says. */
  async #withoutLogin(signal: AbortSignal): Promise<KodiSession | undefined> {
    const { current } = this.#link;
    if (current || performance.now() < this.#noSocketUntil) return current;
    return this.#link.use(signal).catch((error: unknown) => {
      if (error instanceof Elsewhere || signal.aborted) throw error;
      this.#noSocketUntil = performance.now() + pushAgainAfter;
      return undefined;
    });
  }

  /**
   * A socket that is not known to be its own may be that of another Kodi on the same machine, with the same hardware and
   * often the same name. Who owns it tells the port of its web server, or is known by what it announces.
   */
  async #refuseNeighbour(ask: Ask, signal: AbortSignal): Promise<void> {
    const { host, port, ports, identity } = this.target;
    if (ports["websocket"] !== undefined) return;
    const web = await webPortOf(ask);
    if (web === port) return;
    if (web !== undefined) throw neighbour();
    if (this.#socket !== null) return;
    const isUsual = (service: MdnsService) => service.port === usualSocket;
    const service = await this.#surroundings.announced(socketType, host, isUsual, signal);
    const uuid = service && uuidOf(service.txt);
    if (uuid && uuid !== identity && isUuid(identity)) throw neighbour();
  }

  /**
   * A Kodi does not tell its own id to those who ask. It is the one that is meant by its name and its hardware's address,
   * as far as it knows that; where they do not agree, by the id that it announces over mDNS, or it is taken for another.
   */
  async #prove(ask: Ask): Promise<void> {
    const { target } = this;
    const said = await ask("XBMC.GetInfoLabels", { labels: [nameLabel, macLabel] }).catch((error: unknown) => {
      throw error instanceof NotKodi ? new Elsewhere(target.host) : error;
    });
    const name = text(said[nameLabel]);
    const mac = readMac(said[macLabel]);
    const isOwnMac = mac !== null && target.macs.length > 0 ? target.macs.includes(mac) : null;
    const isOwnName = name === target.name || target.name === null;
    if (!isOwnName && isOwnMac !== true && (isOwnMac === false || !(await this.#announced())))
      throw new Elsewhere(target.host);
    // Many are simply called Kodi.
    if (isOwnName && isOwnMac === false && (!isUuid(target.identity) || (await this.#announced()) === false))
      throw new Elsewhere(target.host);
    if (mac !== null && isOwnMac === false)
      this.#surroundings.learned({ macs: [mac, ...target.macs].slice(0, mostMacs) });
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

  /** Whether the one that announces itself here is the one that is meant; `null` where none does. */
  async #announced(): Promise<boolean | null> {
    const { host, port, identity } = this.target;
    const [type, here] = this.#http ? [httpType, port] : [socketType, port];
    const isHere = (service: MdnsService) => service.port === here;
    const service = await this.#surroundings.announced(type, host, isHere, AbortSignal.timeout(3_000));
    const uuid = service && uuidOf(service.txt);
    return uuid ? uuid === identity : null;
  }
}

type Ask = (method: string, params: Json) => Promise<Json>;

/** No silence, and nothing that another look would mend: its own socket is closed, or not known. */
function neighbour(): ZapdError {
  return new ZapdError("device_error", "has its socket elsewhere: that of another Kodi answers at the usual port");
}
