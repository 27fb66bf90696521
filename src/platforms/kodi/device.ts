/** One Kodi: asked over HTTP or its WebSocket, proven to be the one that is meant, and followed by what it pushes. */
import { DeviceError, hasCode, hasReason, wrongDevice, ZapdError } from "../../api/errors.ts";
import { unlessSlept } from "../../system/clock.ts";
import { sleep } from "../../system/sleep.ts";
import { addressText } from "../../system/text.ts";
import { deadline } from "../../transport/http.ts";
import { asJson, isJson, type Json, text } from "../../transport/json.ts";
import { ReconnectingSession } from "../../transport/session.ts";
import { readMac } from "../../transport/wake-on-lan.ts";
import type { Emit, MdnsService, PlatformHost } from "../platform.ts";
import { type Ask, httpType, isUuid, macLabel, macOf, nameLabel, socketType, uuidOf, webPortOf } from "./announced.ts";
import { Field } from "./field.ts";
import type { KodiMemory, KodiTarget } from "./memory.ts";
import { PushedState } from "./pushed.ts";
import { HttpRpc, isLoginWanted, type Login, loginWanted, usualUser } from "./rpc.ts";
import { hasScreenshots } from "./screenshots.ts";
import { KodiSession } from "./session.ts";
import { hasTuner } from "./tuner.ts";

/** A Kodi without push is not asked for it with every call. */
const pushAgainAfter = 60_000;
/** One that has no socket is not asked for it with every new connection. */
const socketAgainAfter = 5_000;
/** It goes on answering for a moment after it said that it ends: what it says then is not news. */
const leavesWithin = 3_000;
/** What was heard right before a login went out holds for the proof that follows on the connection that it opened. */
const heardHolds = 1_000;
/** While it is silent, what needs no login goes over its socket, and does not wait for its announcement each time. */
const socketFirst = 30_000;
const usualSocket = 9_090;
const askedFor = 3_000;
/** A session is open when its Kodi has proven who it is, for which it may be asked for its announcement. */
const provenIn = 2_500;
const typingMethod = "Input.SendText";
/** Its user may give it a tuner, or a folder for screenshots: while it is used it is asked again after this. */
const abilitiesHold = 10 * 60_000;
/** It is busy with finding it out when it is asked for the first time, and now and then for long (7.2). */
const macAgainEvery = 100;
const macAgainRounds = 4;
const macEvery = 2_000;
const macRounds = 15;
/** By cable and by radio, and what it had before. */
const mostMacs = 4;

export class KodiDevice {
  readonly target: KodiTarget;
  readonly pushed = new PushedState();
  readonly #platformHost: PlatformHost;
  readonly #emit: Emit<KodiMemory>;
  /** What stands in the keyboard that is open. */
  readonly field = new Field();
  /** It said itself that its machine goes to sleep, or was sent there: a magic packet may wake it then. */
  asleep = false;
  readonly #http: HttpRpc | null;
  readonly #link: ReconnectingSession<KodiSession>;
  /** Its socket as it was set or announced; the usual one may be that of another Kodi on the same machine. */
  readonly #ownSocket: number | null;
  /** The session that was open when it was last seen who announces itself here. */
  #vouchedBy: KodiSession | undefined;
  /** When its announcement was last heard before a login, and when it was last asked for in vain. */
  #heardAt = Number.NEGATIVE_INFINITY;
  #silentAt = Number.NEGATIVE_INFINITY;
  #noSocketAt = Number.NEGATIVE_INFINITY;
  #noPushUntil = Number.NEGATIVE_INFINITY;
  #leavingUntil = Number.NEGATIVE_INFINITY;
  #askedMac = false;
  #abilitiesAt = Number.NEGATIVE_INFINITY;
  readonly #closed = new AbortController();

  constructor(target: KodiTarget, platformHost: PlatformHost, emit: Emit<KodiMemory>) {
    this.target = target;
    this.#platformHost = platformHost;
    this.#emit = emit;
    const { host, port, ports } = target;
    // What was found at another port says nothing of this one.
    const overHttp = target.memory.socketOnly !== port;
    const prove = (ask: Ask) => this.#prove(ask);
    const login = () => this.#login();
    const vouch = (signal: AbortSignal) => this.vouch(signal);
    this.#http = overHttp ? new HttpRpc({ address: { host, port }, platformHost, login, vouch, prove }) : null;
    this.#ownSocket = overHttp ? (ports["websocket"] ?? null) : port;
    this.#link = new ReconnectingSession<KodiSession>({
      debug: (message) => platformHost.debug(`${host}: ${message}`),
      onEnd: () => {
        this.pushed.forget();
        this.field.forget();
        this.#unvouched();
        emit({ type: "disconnected", why: "hung_up" });
      },
      open: async (signal, _inBackground, ended) => {
        const address = { host, port: this.#socket ?? usualSocket };
        const session = await new KodiSession(address, platformHost).open(signal);
        try {
          const ask: Ask = async (method, params) => asJson(await session.call(method, params, signal));
          if (overHttp) await this.#refuseNeighbour(ask, signal);
          session.follow((method, data) => this.#told(session, method, data));
          session.onEnd(ended);
          await this.#prove(ask);
          // Whoever was there before, and said nothing, is not there any more.
          this.#unvouched();
          return session;
        } catch (error) {
          session.close();
          throw error;
        }
      },
    });
  }

  get #socket(): number | null {
    return this.#ownSocket ?? this.target.memory.socket ?? null;
  }

  /** Whether what happens is pushed to us now. */
  get isFollowed(): boolean {
    return this.#link.current !== undefined;
  }

  /** A question that is answered by an object. */
  async read(method: string, params: Json, signal: AbortSignal): Promise<Json> {
    return asJson(await this.#call("read", method, params, signal));
  }

  /**
   * The players that are active; after a stop one still answers zeros, so this is asked first (7.2). One that shows pictures
   * has no position to tell, and is among `all` alone.
   */
  async players(signal: AbortSignal, all = false): Promise<number[]> {
    const result = await this.#call("read", "Player.GetActivePlayers", {}, signal);
    const players = Array.isArray(result) ? result.filter(isJson) : [];
    return players.flatMap(({ playerid, type }) =>
      typeof playerid === "number" && (all || type !== "picture") ? [playerid] : [],
    );
  }

  /** A command, after which nothing is true any more that was said before. */
  async command(method: string, params: Json, signal: AbortSignal): Promise<unknown> {
    // Typed text is as secret as a login, of one that is let in with a login.
    const isSecret = method === typingMethod && this.target.secret.readAnyway() !== null;
    if (isSecret) await this.vouch(signal);
    this.pushed.commanded();
    try {
      return await this.#call("command", method, params, signal, isSecret);
    } finally {
      this.pushed.commanded();
    }
  }

  /** What its web server has at a path; `null` where it has nothing there, or keeps it back. Its socket gives no files. */
  async file(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null> {
    const http = this.#http;
    if (!http)
      throw new ZapdError("unsupported_operation", "gives no pictures without its web server", {
        hint: "In Kodi: Settings > Services > Control > Allow remote control via HTTP; then zapd discover",
      });
    this.#refuseLeaving();
    try {
      return await this.#noting(() => http.file(path, maxBytes, signal));
    } catch (error) {
      throw this.toldOf(error);
    }
  }

  /** Has what happens pushed from now on, where that can be; nobody waits for it. */
  follow(): void {
    if (this.isFollowed || performance.now() < this.#noPushUntil || !this.#http) return;
    this.#noPushUntil = performance.now() + 1_000;
    this.#link.use(AbortSignal.timeout(10_000)).catch((error: unknown) => {
      this.#noPushUntil = performance.now() + pushAgainAfter;
      this.#platformHost.debug(
        `${this.target.host}: nothing is pushed: ${error instanceof Error ? error.message : ""}`,
      );
    });
  }

  /** It goes off, and is left alone. */
  leave(asleep: boolean): void {
    this.asleep = asleep;
    this.#leavingUntil = performance.now() + leavesWithin;
    this.pushed.forget();
    this.#emit({ type: "disconnected", why: "going_off" });
    this.#link.drop();
  }

  close(): void {
    this.#closed.abort();
    this.#http?.close();
    this.#link.close();
  }

  async #call(
    how: "read" | "command",
    method: string,
    params: Json,
    signal: AbortSignal,
    isSecret = false,
  ): Promise<unknown> {
    const http = this.#http;
    const overSocket = async () => (await this.#session(signal, how === "command")).call(method, params, signal);
    return http ? this.#orOverSocket(() => http[how](method, params, signal), overSocket, isSecret) : overSocket();
  }

  async #session(signal: AbortSignal, eager: boolean): Promise<KodiSession> {
    const within = deadline(Math.max(this.#platformHost.requestTimeoutMs(), provenIn), signal);
    try {
      const opening = this.#link.use(within, { eager });
      return await (eager ? unlessSlept(opening) : opening);
    } catch (error) {
      throw this.toldOf(error);
    }
  }

  /**
   * The socket asks for no login: it serves a Kodi that must not be sent one now, or whose web server is off or only
   * starting. Typed text is as secret as a login.
   */
  async #orOverSocket<T>(overHttp: () => Promise<T>, overSocket: () => Promise<T>, isSecret: boolean): Promise<T> {
    this.#refuseLeaving();
    const since = performance.now();
    const isSilent = since - this.#silentAt < socketFirst;
    if (isSilent && this.isFollowed && !isSecret) return overSocket();
    try {
      return await this.#noting(overHttp);
    } catch (error) {
      const isUnproven = hasCode(error, "device_unproven");
      const mayHave = isUnproven || (hasReason(error, "refused") && (this.isFollowed || this.#socket !== null));
      const hasNone = !this.isFollowed && this.#noSocketAt > since;
      if (!mayHave || hasNone || (isSecret && !this.#isVouched)) throw this.toldOf(error);
      return overSocket().catch((other: unknown) => {
        if (hasReason(other, "wrong_device")) throw other;
        throw this.toldOf(error);
      });
    }
  }

  #told(session: KodiSession, method: string, data: Json): void {
    if (method === "System.OnQuit" || method === "System.OnSleep" || method === "System.OnRestart") {
      session.leaving = true;
      // Exit code 64 turns the machine off, 0 ends the program alone.
      return this.leave(method === "System.OnSleep" || data["exitcode"] === 64);
    }
    if (method === "Input.OnInputRequested" || method === "Input.OnInputFinished") this.field.forget();
    this.#emit({ type: "state", patch: { power: "on", ...this.pushed.take(method, data) } });
    // What it only hints at has to be read by who wants to know.
    if (!this.pushed.isKnown) this.#emit({ type: "hint" });
  }

  /** One that said that it goes is not asked anything for a while. */
  #refuseLeaving(): void {
    if (performance.now() >= this.#leavingUntil) return;
    if (!this.asleep) throw this.#ended("has just ended, as it said");
    const hint = this.#awakeHint;
    throw new DeviceError("device_unreachable", "is on its way off", { phase: "connect", reason: "closed", hint });
  }

  /** What a refusal or a login says of the access goes into the registry. */
  async #noting<T>(work: () => Promise<T>): Promise<T> {
    const since = performance.now();
    try {
      const result = await work();
      // An answer to what was asked before it said that it goes says nothing of now.
      if (since >= this.#leavingUntil) this.asleep = false;
      if (this.target.facts.access !== "full") this.#emit({ type: "facts", facts: { access: "full" } });
      return result;
    } catch (error) {
      if (isLoginWanted(error) && this.target.facts.access !== "unpaired")
        this.#emit({ type: "facts", facts: { access: "unpaired" } });
      const isUnproven = hasCode(error, "device_unproven");
      if (!(isLoginWanted(error) || isUnproven)) this.#unvouched();
      throw error;
    }
  }

  /** Who is there may be another by now. */
  #unvouched(): void {
    this.#vouchedBy = undefined;
    this.#heardAt = Number.NEGATIVE_INFINITY;
    this.#silentAt = Number.NEGATIVE_INFINITY;
    this.#noSocketAt = Number.NEGATIVE_INFINITY;
  }

  /** A failure in words that are true of this one: what it can be woken by, and whether it has ended. */
  toldOf(error: unknown): unknown {
    if (hasReason(error, "refused")) {
      this.pushed.forget();
      this.#emit({ type: "disconnected", why: "going_off" });
      return this.#ended(`does not run: its machine refuses the connection to ${addressText(this.target)}`);
    }
    if (!(error instanceof ZapdError) || hasReason(error, "wrong_device")) return error;
    if (error.code !== "device_unreachable" && error.code !== "device_timeout") return error;
    return error.reworded(error.message, { hint: this.#awakeHint });
  }

  /** It does not run, though its machine answers. */
  #ended(problem: string): DeviceError {
    const hint =
      "Start Kodi there, with Settings > Services > Control > Allow remote control via HTTP turned on; or look where it has gone: zapd discover";
    return new DeviceError("device_unreachable", problem, { phase: "connect", reason: "refused", hint });
  }

  get #awakeHint(): string {
    const { host } = this.target;
    return `It may be asleep: {wake}, or check that ${host} is still its address with zapd discover`;
  }

  /** What it is sent when it asks for a login. */
  #login(): Login {
    const { user = usualUser, password } = this.target.secret.read() ?? {};
    if (!password) throw loginWanted();
    return { user, password };
  }

  /**
   * Before a login goes out: who is there, as far as that can be seen without one (SECURITY.md 2.4): by its socket, which
   * asks for none, and by the id that it announces. Fails when that is another Kodi, and with `device_unproven` when one
   * that is known by its announcement is not heard, though it was asked several times.
   */
  async vouch(signal: AbortSignal): Promise<void> {
    const { target } = this;
    if (!isUuid(target.identity)) return void (await this.#withoutLogin(signal));
    if (await this.#isStillVouched(signal)) return;
    const announced = this.#announced(signal).then((isAnnounced) => {
      signal.throwIfAborted();
      if (isAnnounced === false) throw wrongDevice(target.host);
      if (isAnnounced === true) {
        this.#heardAt = performance.now();
        return;
      }
      this.#silentAt = performance.now();
      throw unproven(
        "has announced itself before, and what is at its address now does not: it gets no password and no typed text",
      );
    });
    const [session] = await Promise.all([this.#withoutLogin(signal), announced]);
    this.#vouchedBy = session;
  }

  /** Whether the session that is open is the one over which it was last seen who is there. */
  get #isVouched(): boolean {
    const { current } = this.#link;
    return current !== undefined && current === this.#vouchedBy;
  }

  /** One that was unplugged does not hang up: who has its address now answers nothing over the session. */
  async #isStillVouched(signal: AbortSignal): Promise<boolean> {
    const { current } = this.#link;
    if (current === undefined || !this.#isVouched) return false;
    await current.call("JSONRPC.Ping", {}, signal);
    return this.#isVouched;
  }

  /** Its socket, where it has one: who is there is proven by what it says. */
  async #withoutLogin(signal: AbortSignal): Promise<KodiSession | undefined> {
    const { current } = this.#link;
    if (current || performance.now() - this.#noSocketAt < socketAgainAfter) return current;
    return this.#link.use(signal).catch((error: unknown) => {
      if (hasReason(error, "wrong_device") || signal.aborted) throw error;
      this.#noSocketAt = performance.now();
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
    const isOff = web === null;
    // One whose web server is off may be it: its announcement tells, where it has ever announced itself.
    if (web !== undefined && !(isOff && isUuid(identity))) throw neighbour();
    if (!isOff && this.#socket !== null) return;
    const here = this.#socket ?? usualSocket;
    const isHere = (service: MdnsService) => service.port === here;
    const service = await this.#platformHost.announced(socketType, host, isHere, signal);
    const uuid = service && uuidOf(service.txt);
    if (isOff ? uuid !== identity : uuid && uuid !== identity && isUuid(identity)) throw neighbour();
  }

  /**
   * A Kodi does not tell its own id to those who ask. It is the one that is meant by its name and its hardware's address,
   * as far as it knows that; where they do not agree, by the id that it announces over mDNS, or it is taken for another.
   */
  async #prove(ask: Ask): Promise<void> {
    const { target } = this;
    const said = await ask("XBMC.GetInfoLabels", { labels: [nameLabel, macLabel] }).catch((error: unknown) => {
      throw hasReason(error, "protocol") ? wrongDevice(target.host) : error;
    });
    const name = text(said[nameLabel]);
    const told = readMac(said[macLabel]);
    const isKnown = told !== null && target.facts.macs.includes(told);
    // It may take its time with either: one of them is enough.
    const announcing =
      isUuid(target.identity) && !isKnown
        ? performance.now() - this.#heardAt < heardHolds
          ? Promise.resolve(true)
          : this.#announced(AbortSignal.timeout(askedFor))
        : Promise.resolve(false);
    let isHeard = false;
    announcing.then(
      (is) => {
        isHeard = is === true;
      },
      () => {},
    );
    const isWanted = told === null && (target.facts.macs.length > 0 || !this.#askedMac);
    const mac = isWanted ? await this.#macAgain(ask, () => isHeard) : told;
    const isOwnMac = mac !== null && target.facts.macs.length > 0 ? target.facts.macs.includes(mac) : null;
    const isOwnName = name === target.facts.name || target.facts.name === null;
    // Many are simply called Kodi: without its hardware's address a name proves nothing of one that announces its id.
    if (isOwnMac !== true && (isUuid(target.identity) || isOwnMac === false || !isOwnName)) {
      const isAnnounced = await announcing;
      if (isAnnounced === null && isOwnMac === null && isOwnName)
        throw unproven(
          "cannot be told from another of its name: it announces nothing now, and does not tell its hardware's address",
        );
      if (isAnnounced !== true) throw wrongDevice(target.host);
    }
    // From then on it is told from others of its name, whether it announces itself or not.
    if (mac !== null && isOwnMac !== true)
      this.#emit({ type: "facts", facts: { macs: [mac, ...target.facts.macs].slice(0, mostMacs) } });
    if (name !== null && name !== target.facts.name) this.#emit({ type: "facts", facts: { name } });
    if (performance.now() - this.#abilitiesAt > abilitiesHold) {
      this.#abilitiesAt = performance.now();
      this.#learnAbilities().catch(() => {});
    }
    if (mac !== null || target.facts.macs.length > 0 || this.#askedMac) return;
    this.#askedMac = true;
    this.#learnMac().catch(() => {});
  }

  async #macAgain(ask: Ask, isOver: () => boolean): Promise<string | null> {
    for (let round = 0; round < macAgainRounds && !isOver(); round++) {
      await sleep(macAgainEvery, this.#closed.signal);
      const mac = await macOf(ask);
      if (mac !== null) return mac;
    }
    return null;
  }

  /** Whether there are channels, and pictures of the screen; nobody waits for it. */
  async #learnAbilities(): Promise<void> {
    const { signal } = this.#closed;
    // Behind what somebody waits for.
    await sleep(macEvery, signal);
    this.learn({ tuner: await hasTuner(this, signal) });
    if (this.#http) this.learn({ screenshots: await hasScreenshots(this, signal) });
  }

  /** Remembers what it can do, where that is news. */
  learn(memory: Pick<KodiMemory, "tuner" | "screenshots">): void {
    const known = this.target.memory;
    const names = ["tuner", "screenshots"] as const;
    if (names.some((name) => memory[name] !== undefined && memory[name] !== (known[name] ?? false)))
      this.#emit({ type: "facts", memory });
  }

  /** The address to wake it by; nobody waits for it. */
  async #learnMac(): Promise<void> {
    for (let round = 0; round < macRounds; round++) {
      await sleep(macEvery, this.#closed.signal);
      const mac = await macOf((method, params) => this.read(method, params, this.#closed.signal));
      if (mac !== null) return this.#emit({ type: "facts", facts: { macs: [mac] } });
    }
  }

  /** Whether the one that announces itself here is the one that is meant; `null` where none does. */
  async #announced(signal: AbortSignal): Promise<boolean | null> {
    const { host, port, identity } = this.target;
    const [type, here] = this.#http ? [httpType, port] : [socketType, port];
    const isHere = (service: MdnsService) => service.port === here && uuidOf(service.txt) !== null;
    const service = await this.#platformHost.announced(type, host, isHere, signal);
    if (service === null) return null;
    if (uuidOf(service.txt) !== identity) return false;
    this.#silentAt = Number.NEGATIVE_INFINITY;
    return true;
  }
}

/** It announces nothing now, and what is at its address may be another. */
function unproven(problem: string): ZapdError {
  return new ZapdError("device_unproven", problem, {
    hint: "In Kodi: Settings > Services > General > Announce services to other systems. If it is not to announce itself any more, forget it and add it anew: zapd forget {device}, then zapd add {address}",
  });
}

/** No silence, and nothing that another look would mend: its own socket is closed, or not known. */
function neighbour(): ZapdError {
  return new ZapdError("device_error", "has its socket elsewhere: that of another Kodi answers at the usual port");
}
