/** What every simulated set stands on: its ports, how it is found, and its life from plug to plug. */
import { createSocket } from "node:dgram";
import { bind } from "./datagrams.ts";
import { type Build, type Fault, Listener } from "./listeners.ts";

/** What is opened and closed, and does nothing when it is so already. */
export interface Part {
  open(): Promise<void>;
  close(): Promise<void>;
}

/** How a set is found: by SSDP, by mDNS, by both. */
export interface Discovery extends Part {
  /** Whether searches are answered now. */
  readonly on: boolean;
}

export interface Place {
  /** Address to bind and to announce. */
  readonly host: string;
  /** The address that a magic packet has to carry. */
  readonly mac: string;
  /** UDP port for magic packets; 0 is a free one. */
  readonly wakePort: number;
  /** Whether its ports are open when it is plugged in. */
  isReachable(): boolean;
  /** A magic packet with its address came. */
  magicPacket(): void;
  /** Whatever is under way ends: the set is about to be unplugged. */
  unplug(): void;
}

/** Everything by which one set is reachable. Its steps, `start`, `stop` and those given to `inTurn`, never overlap. */
export class Bench {
  readonly #place: Place;
  readonly #listeners: Listener[] = [];
  readonly #parts: Part[] = [];
  #discovery: Discovery | null = null;
  #wakePort: number;
  #waker: { stop(): Promise<void> } | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(place: Place) {
    this.#place = place;
    this.#wakePort = place.wakePort;
  }

  get wakePort(): number {
    return this.#wakePort;
  }

  get isPluggedIn(): boolean {
    return this.#waker !== null;
  }

  /** Whether it can be found now. */
  get isDiscoverable(): boolean {
    return this.#discovery?.on ?? false;
  }

  /** One more port; they are opened in the order in which they were added. */
  listen(port: number, build: Build): Listener {
    const listener = new Listener(this.#place.host, port, build);
    this.#listeners.push(listener);
    this.#parts.push(listener);
    return listener;
  }

  /** What is open when the ports are, and is none of them. */
  add(part: Part): void {
    this.#parts.push(part);
  }

  discover(discovery: Discovery): void {
    this.#discovery = discovery;
  }

  /** What goes wrong on all its ports from now on; null is nothing. */
  async fault(kind: Fault | null): Promise<void> {
    await this.inTurn(async () => {
      for (const listener of this.#listeners) await listener.fault(kind);
    });
  }

  /** All ports open, and found last. */
  async appear(): Promise<void> {
    for (const part of this.#parts) await part.open();
    await this.#discovery?.open();
  }

  /** No longer found; the ports stay. */
  async hide(): Promise<void> {
    await this.#discovery?.close();
  }

  /** Not found, and every port closed. */
  async vanish(): Promise<void> {
    await this.hide();
    await Promise.all(this.#parts.map((part) => part.close()));
  }

  start(): Promise<void> {
    return this.inTurn(async () => {
      if (this.#waker !== null) return;
      const waker = await listenForWake(this.#place, this.#wakePort);
      this.#waker = waker;
      this.#wakePort = waker.port;
      try {
        if (this.#place.isReachable()) await this.appear();
      } catch (error) {
        await this.#stop();
        throw error;
      }
    });
  }

  stop(): Promise<void> {
    return this.inTurn(() => this.#stop());
  }

  async #stop(): Promise<void> {
    const waker = this.#waker;
    this.#waker = null;
    this.#place.unplug();
    await this.vanish();
    await waker?.stop();
  }

  /** Runs after every step before it, whether they failed or not. */
  inTurn(step: () => Promise<void>): Promise<void> {
    const next = this.#last.then(step);
    this.#last = next.catch(() => {});
    return next;
  }

  /** Like `inTurn`, for a step that nobody waits for. */
  later(step: () => Promise<void>): void {
    this.inTurn(step).catch(() => {});
  }
}

/** Hears magic packets: six bytes of 0xff and the address sixteen times, anywhere in the datagram. */
async function listenForWake({ host, mac, magicPacket }: Place, port: number) {
  const magic = Buffer.from("ff".repeat(6) + mac.replaceAll(/[^0-9a-f]/gi, "").repeat(16), "hex");
  const socket = createSocket("udp4");
  socket.on("message", (datagram: Uint8Array) => {
    if (Buffer.from(datagram).includes(magic)) magicPacket();
  });
  await bind(socket, port, host);
  return { port: socket.address().port, stop: () => new Promise<void>((stopped) => socket.close(() => stopped())) };
}

/** Adds to a list of what came in, of which only the last are kept. */
export function keep<T>(list: T[], one: T, most = 10_000): T {
  list.push(one);
  if (list.length > most) list.shift();
  return one;
}
