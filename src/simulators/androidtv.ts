/**
 * A simulated Android TV: the remote service, version 2, over TLS, announced over mDNS. As on hardware (players.md 4) an
 * unpaired client is disconnected before the first message, and a client must complete the handshake before its keys count.
 */
import type { TLSSocket } from "node:tls";
import { type AndroidTvOptions, type AndroidTvSimulatorOptions, APPS, resolve } from "./androidtv/options.ts";
import { PairingService } from "./androidtv/pairing.ts";
import { derOf } from "./bench/certificate.ts";
import { digest } from "./bench/identity.ts";
import { createTlsServer, type Listener } from "./bench/listeners.ts";
import { createAnnouncer } from "./bench/mdns.ts";
import {
  encodeWithLength,
  type Fields,
  type MessageFields,
  messageIn,
  numberIn,
  readFrames,
  readVarint,
  textIn,
} from "./bench/protobuf.ts";
import { pushCapped, SimulatedSet } from "./bench/set.ts";

export type { AndroidTvSimulatorOptions } from "./androidtv/options.ts";

const IME = 4;
const VOLUME = 64;
const POWER = 32;
const HOME = "com.google.android.apps.tv.launcherx";
/** The delay between messages, so that they arrive separately. */
const messageGapMs = 1;
/** The delay after the last message before the ports close. */
const FLUSH_MS = 50;

const KEYS = { home: 3, up: 24, down: 25, power: 26, mute: 164, sleep: 223, wake: 224 } as const;

interface Client {
  readonly socket: TLSSocket;
  /** The features that both sides support; null before the client has sent its own. */
  features: number | null;
  isActive: boolean;
  /** The number of unanswered pings. */
  missed: number;
  /** Resolves when all queued messages were sent. */
  pendingSends: Promise<void>;
}

/** Whether a client has completed the handshake and supports the feature. */
function isSubscribed({ isActive, features }: Client, feature: number): boolean {
  return isActive && ((features ?? 0) & feature) !== 0;
}

/** A received key; direction 1 is down, 2 is up, 3 is both. */
export interface ReceivedKey {
  readonly code: number;
  readonly direction: number;
}

export class AndroidTvSimulator extends SimulatedSet {
  /** The Bluetooth address in its certificate. */
  readonly bluetooth: string;
  /** SHA-256 of its certificate, in lower-case hex. */
  readonly fingerprint: string;
  /** The keys that had an effect. */
  readonly keys: readonly ReceivedKey[] = [];
  /** The links that it was asked to open, known or not. */
  readonly links: readonly string[] = [];
  readonly #options: AndroidTvOptions;
  readonly #remote: Listener;
  readonly #pairing: Listener;
  readonly #service: PairingService;
  readonly #clients = new Set<Client>();
  readonly #paired = new Map<string, Uint8Array>();
  #name: string;
  #power: "on" | "standby" | "off" = "on";
  #front = HOME;
  #level: number;
  #muted = false;
  #typed = "";
  #focus = false;
  #counters = { ime: 0, field: 0 };
  #silent = false;
  #rejected = 0;
  #accepted = 0;

  constructor(options: AndroidTvSimulatorOptions) {
    const resolved = resolve(options);
    super(resolved);
    this.#options = resolved;
    this.bluetooth = resolved.bluetooth;
    this.#name = resolved.name;
    this.#level = resolved.volume?.level ?? 0;
    for (const certificate of resolved.paired) this.#paired.set(digest(certificate), certificate);
    const raw = derOf(resolved.certificate);
    this.fingerprint = digest(raw);
    this.#service = new PairingService({
      certificate: raw,
      name: resolved.name,
      paired: (client) => {
        this.#paired.set(digest(client), client);
        this.emit("pairing", "is paired");
      },
      log: (text) => this.emit("pairing", text),
    });
    this.#remote = this.#port(resolved.remotePort, (socket) => this.#serve(socket));
    this.#pairing = this.#port(resolved.pairingPort, (socket) => this.#service.serve(socket));
    this.addInterval(resolved.pingMs, () => this.#sendPings());
    if (resolved.mdns)
      this.setDiscovery(
        createAnnouncer({
          host: resolved.host,
          hostName: resolved.hostName,
          services: () => [
            {
              type: "_androidtvremote2._tcp",
              name: this.#name,
              port: this.#remote.port,
              txt: { bt: resolved.bluetooth.toUpperCase() },
            },
          ],
        }),
      );
  }

  #port(port: number, serve: (socket: TLSSocket) => void): Listener {
    const options = { ...this.#options.certificate, requestCert: true, rejectUnauthorized: false };
    return this.addPort(port, (track) =>
      createTlsServer(options, serve, (socket) => {
        this.#accepted += 1;
        track(socket);
      }),
    );
  }

  /** 0 before the first start if any free ports were asked for. */
  get ports() {
    return { remote: this.#remote.port, pairing: this.#pairing.port, wake: this.wakePort };
  }

  /** The certificates of paired clients, in DER. */
  get paired(): readonly Uint8Array[] {
    return [...this.#paired.values()];
  }

  /** A snapshot of the state. */
  get state() {
    return {
      name: this.#name,
      power: this.#power,
      front: this.#front === HOME ? null : this.#front,
      level: this.#level,
      muted: this.#muted,
      text: this.#typed,
      /** The pairing code on the screen, or null. */
      code: this.#service.code,
      wrongSecrets: this.#service.wrongSecrets,
      /** How many paired clients are connected. */
      clients: this.#clients.size,
      /** How many clients were disconnected because they are unpaired. */
      rejected: this.#rejected,
      /** How many TCP connections were accepted so far, on both ports. */
      accepted: this.#accepted,
      paired: this.#paired.size,
    };
  }

  setName(name: string): void {
    this.#name = name;
  }

  /** Somebody closes the pairing code on the screen. */
  dismiss(): void {
    this.#service.dismiss();
  }

  /** A text field is opened or closed. */
  focus(isOpen: boolean): void {
    this.#focus = isOpen;
    if (!isOpen) return;
    this.#counters = { ime: this.#counters.ime + 3, field: this.#counters.field + 1 };
    this.#sendCounters();
  }

  /** The original remote turns it on or off. */
  turn(isOn: boolean): void {
    if (isOn === (this.#power === "on")) return;
    if (isOn) this.enqueueInBackground(() => this.powerOn());
    else this.#sleep(this.#options.standby);
  }

  /** Turns it off, to standby or to deep sleep. */
  powerOff(how: "standby" | "off" = this.#options.standby): Promise<void> {
    return this.enqueue(async () => {
      if (this.#power === "on") this.#fallAsleep(how);
      this.#power = how;
      if (how === "off") await this.#closeAfterFlush();
    });
  }

  /** Its connections stay open, but it neither answers nor sends. */
  fallSilent(silent = true): void {
    this.#silent = silent;
  }

  /** Brings an app to the front; null for home. */
  show(front: string | null): void {
    this.#show(front ?? HOME);
  }

  /** The volume is changed by something else, such as Cast. */
  setVolume(level: number, muted = this.#muted): void {
    this.#level = level;
    this.#muted = muted;
    for (const client of this.#clients) this.#sendVolume(client);
  }

  protected get isReachable(): boolean {
    return this.#power !== "off";
  }

  protected get isAsleep(): boolean {
    return this.#power !== "on";
  }

  protected async powerOn(): Promise<void> {
    if (this.#power === "on") return;
    this.#power = "on";
    this.emit("power", "turns on");
    await this.goOnline();
    this.#sendPower();
  }

  protected unplug(): void {
    this.#service.dismiss();
  }

  #sendPings(): void {
    for (const client of this.#clients) {
      if (client.missed >= 3) client.socket.destroy();
      else if (client.isActive) {
        client.missed += 1;
        this.#send(client, { 8: { 1: client.missed + 40, 2: 1 } });
      }
    }
  }

  #serve(socket: TLSSocket): void {
    socket.on("error", () => socket.destroy());
    const { raw } = socket.getPeerCertificate() as { raw?: Uint8Array };
    const { acceptsAnyClient } = this.#options;
    if (acceptsAnyClient && raw) this.emit("client", `is shown ${Buffer.from(raw).toString("base64")}`);
    const isKnown = acceptsAnyClient || (raw !== undefined && this.#paired.has(digest(raw)));
    if (!isKnown) {
      this.#rejected += 1;
      // What the client sends is read too, else its end is never seen.
      return void socket.resume().end();
    }
    const client: Client = { socket, features: null, isActive: false, missed: 0, pendingSends: Promise.resolve() };
    this.#clients.add(client);
    socket.on("close", () => this.#clients.delete(client));
    const read = readFrames(readVarint, (message) => {
      client.missed = 0;
      if (!this.#silent) this.#handleMessage(client, message);
    });
    socket.on("data", (bytes: Buffer) => {
      if (!read(bytes)) socket.destroy();
    });
    const { features, model, vendor } = this.#options;
    this.#send(client, {
      1: {
        1: features,
        2: { 1: model, 2: vendor, 3: 1, 4: "12", 5: "com.google.android.tv.remote.service", 6: "6.2" },
      },
    });
  }

  #handleMessage(client: Client, message: Fields): void {
    if (message.has(1)) {
      client.features = numberIn(messageIn(message, 1), 1) & this.#options.features;
      return this.#send(client, { 2: {} });
    }
    if (message.has(2) && client.features !== null && !client.isActive) {
      client.isActive = true;
      this.#sendPower([client]);
      this.#sendVolume(client);
      this.#sendApp(client);
      if (this.#focus) this.#sendCounters();
      return;
    }
    // Other messages count only after the handshake.
    if (!client.isActive) return;
    const { refuses } = this.#options;
    if (refuses && !message.has(9)) {
      this.#send(client, { 3: { 1: 1, 2: Object.fromEntries(message) } });
      return void client.pendingSends.then(() => refuses === "stays" || client.socket.end());
    }
    if (message.has(10)) {
      const key = messageIn(message, 10);
      this.#receiveKey(numberIn(key, 1), numberIn(key, 2));
    } else if (message.has(21)) this.#edit(messageIn(message, 21));
    else if (message.has(90)) this.#open(textIn(messageIn(message, 90), 1));
  }

  #receiveKey(code: number, direction: number): void {
    if (direction < 1 || direction > 3) return;
    if (this.#power !== "on" && code !== KEYS.power && code !== KEYS.wake) return;
    pushCapped(this.keys as ReceivedKey[], { code, direction });
    const how = { 1: " is down", 2: " is up", 3: "" }[direction] ?? "";
    this.emit("key", `key ${code}${how}`);
    if (direction !== 2) this.#applyKey(code);
  }

  #applyKey(code: number): void {
    const { knowsWake, standby, volume } = this.#options;
    if (code === KEYS.power) return this.turn(this.#power !== "on");
    if (code === KEYS.wake) return knowsWake ? this.turn(true) : undefined;
    if (code === KEYS.sleep) return knowsWake && this.#power === "on" ? this.#sleep(standby) : undefined;
    if (code === KEYS.home) return this.#show(HOME);
    if (volume === null) return;
    if (code === KEYS.mute) this.#muted = !this.#muted;
    else if (code === KEYS.up) this.#level = Math.min(volume.max, this.#level + 1);
    else if (code === KEYS.down) this.#level = Math.max(0, this.#level - 1);
    else return;
    this.emit("volume", `volume ${this.#muted ? "muted" : this.#level}`);
    for (const client of this.#clients) this.#sendVolume(client);
  }

  #sleep(how: "standby" | "off"): void {
    this.enqueueInBackground(async () => {
      if (this.#power !== "on") return;
      this.#fallAsleep(how);
      if (how === "off") await this.#closeAfterFlush();
    });
  }

  /** Closes the ports after the queued messages were sent. */
  async #closeAfterFlush(): Promise<void> {
    await Promise.all([...this.#clients].map(({ pendingSends }) => pendingSends));
    await new Promise((resolve) => setTimeout(resolve, FLUSH_MS));
    await this.goOffline();
  }

  #fallAsleep(how: "standby" | "off"): void {
    this.#power = how;
    this.emit("power", "turns off");
    this.#sendPower();
  }

  /** Inserts text at the cursor if the counters match the open field. */
  #edit(batch: Fields): void {
    const info = messageIn(batch, 3);
    const object = messageIn(info, 2);
    const value = textIn(object, 3);
    const isIts = numberIn(batch, 1) === this.#counters.ime && numberIn(batch, 2) === this.#counters.field;
    const isWhole = numberIn(object, 1) === value.length - 1 && numberIn(object, 2) === value.length - 1;
    if (!this.#focus || !isIts || !isWhole || numberIn(info, 1) !== 1) return;
    this.#typed += value;
    this.emit("text", `typed: ${value}`);
    this.#counters = { ...this.#counters, field: this.#counters.field + 1 };
    this.#sendCounters();
  }

  #open(link: string): void {
    pushCapped(this.links as string[], link);
    const app = APPS.find((one) => one.links.some((start) => link.startsWith(start)));
    // The client is not told whether an app can open the link.
    this.emit("link", app ? `opens ${link}` : `cannot open ${link}`);
    if (app && this.#power === "on") this.#show(app.package);
  }

  #show(front: string): void {
    if (this.#front === front) return;
    this.#front = front;
    for (const client of this.#clients) this.#sendApp(client);
  }

  #sendPower(clients: Iterable<Client> = this.#clients): void {
    for (const client of clients)
      if (isSubscribed(client, POWER)) this.#send(client, { 40: { 1: this.#power === "on" ? 1 : 0 } });
  }

  #sendVolume(client: Client): void {
    const { volume, model } = this.#options;
    if (!isSubscribed(client, VOLUME) || volume === null) return;
    this.#send(client, { 50: { 3: model, 6: volume.max, 7: this.#level, 8: this.#muted ? 1 : 0 } });
  }

  #sendApp(client: Client): void {
    if (isSubscribed(client, IME)) this.#send(client, { 20: { 1: { 1: 7, 12: this.#front } } });
  }

  #sendCounters(): void {
    const { ime, field } = this.#counters;
    for (const client of this.#clients) if (isSubscribed(client, IME)) this.#send(client, { 21: { 1: ime, 2: field } });
  }

  #send(client: Client, message: MessageFields): void {
    const bytes = encodeWithLength(message);
    client.pendingSends = client.pendingSends.then(
      () =>
        new Promise((resolve) => {
          if (!this.#silent && client.socket.writable) client.socket.write(bytes);
          setTimeout(resolve, messageGapMs);
        }),
    );
  }
}

export function createAndroidTvSimulator(options: AndroidTvSimulatorOptions): AndroidTvSimulator {
  return new AndroidTvSimulator(options);
}
