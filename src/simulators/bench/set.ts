/** What every simulated set stands on: its ports, how it is found, and its life from plug to plug. */
import { UdpPort } from "./datagrams.ts";
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

export interface SetOptions {
  /** Address to bind and to announce. */
  readonly host: string;
  /** The address that a magic packet has to carry. */
  readonly wakeMac: string;
  /** UDP port for magic packets; 0, the default, is a free one. */
  readonly wakePort: number | undefined;
  emit(type: "wake" | "discovery", text: string): void;
}

/**
 * A set on real sockets, of which nothing is open before `start`. Its steps, `start`, `stop` and those given to `inTurn`,
 * never overlap.
 */
export abstract class SimulatedSet {
  readonly host: string;
  readonly #options: SetOptions;
  readonly #listeners: Listener[] = [];
  readonly #parts: Part[] = [];
  #discovery: Discovery | null = null;
  readonly #waker: UdpPort;
  #pluggedIn = false;
  #stopping = 0;
  #endBoot = () => {};
  #lastStep: Promise<unknown> = Promise.resolve();

  constructor(place: SetOptions) {
    this.host = place.host;
    this.#options = place;
    // A magic packet is six bytes of 0xff and the address sixteen times, anywhere in the datagram.
    const magic = Buffer.from("ff".repeat(6) + place.wakeMac.replaceAll(/[^0-9a-f]/gi, "").repeat(16), "hex");
    this.#waker = new UdpPort(place.host, place.wakePort ?? 0, (datagram) => {
      if (!this.isAsleep || !datagram.includes(magic)) return;
      place.emit("wake", "woken by a magic packet");
      this.enqueueInBackground(() => this.powerOn());
    });
  }

  /** Whether its ports are open when it is plugged in. */
  protected abstract get isReachable(): boolean;
  /** Whether a magic packet does something. */
  protected abstract get isAsleep(): boolean;
  /** From any sleep to where it works; nothing when it works already. */
  protected abstract powerOn(): Promise<void>;
  /** Whatever is under way ends: the set is about to lose its power. */
  protected abstract unplug(): void;

  start(): Promise<void> {
    return this.enqueue(async () => {
      if (this.#pluggedIn) return;
      await this.#waker.open();
      this.#pluggedIn = true;
      try {
        if (this.isReachable) await this.goOnline();
      } catch (error) {
        await this.#stop();
        throw error;
      }
    });
  }

  /** Does not wait for a set that is about to work. */
  stop(): Promise<void> {
    this.#stopping += 1;
    this.#endBoot();
    return this.enqueue(() => this.#stop()).finally(() => {
      this.#stopping -= 1;
    });
  }

  wake(): Promise<void> {
    return this.enqueue(() => this.powerOn());
  }

  /** What goes wrong on all its ports from now on; null is nothing. */
  fault(kind: Fault | null): Promise<void> {
    return this.enqueue(async () => {
      for (const listener of this.#listeners) await listener.fault(kind);
    });
  }

  protected get wakePort(): number {
    return this.#waker.port;
  }

  protected get isPluggedIn(): boolean {
    return this.#pluggedIn;
  }

  /** Whether it can be found now. */
  protected get isDiscoverable(): boolean {
    return this.#discovery?.on ?? false;
  }

  /** One more port; they are opened in the order in which they were added. */
  protected addPort(port: number, build: Build): Listener {
    const listener = new Listener(this.host, port, build);
    this.#listeners.push(listener);
    this.#parts.push(listener);
    return listener;
  }

  /** What is open when the ports are, and is none of them. */
  protected addPart(part: Part): void {
    this.#parts.push(part);
  }

  /** Does something every so often while its ports are open. */
  protected addInterval(ms: number, step: () => void): void {
    let timer: ReturnType<typeof setInterval> | undefined;
    this.addPart({
      async open() {
        clearInterval(timer);
        timer = setInterval(step, ms);
        timer.unref?.();
      },
      async close() {
        clearInterval(timer);
      },
    });
  }

  /** From a magic packet until it works again; ends at once when it is to stop. */
  protected waitForBoot(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#stopping > 0 ? 0 : ms);
      this.#endBoot = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  protected setDiscovery(discovery: Discovery): void {
    this.#discovery = discovery;
  }

  /** All ports open, and found last. */
  protected async goOnline(): Promise<void> {
    for (const part of this.#parts) await part.open();
    await this.#discovery?.open();
    if (this.#discovery?.on === false) this.#options.emit("discovery", "discovery is off: its port is taken");
  }

  /** No longer found; the ports stay. */
  protected async stopDiscovery(): Promise<void> {
    await this.#discovery?.close();
  }

  /** Not found, and every port closed. */
  protected async goOffline(): Promise<void> {
    await this.stopDiscovery();
    await Promise.all(this.#parts.map((part) => part.close()));
  }

  /** Runs after every step before it, whether they failed or not. */
  protected enqueue(step: () => Promise<void>): Promise<void> {
    const next = this.#lastStep.then(step);
    this.#lastStep = next.catch(() => {});
    return next;
  }

  /** Like `inTurn`, for a step that nobody waits for. */
  protected enqueueInBackground(step: () => Promise<void>): void {
    this.enqueue(step).catch(() => {});
  }

  async #stop(): Promise<void> {
    this.#pluggedIn = false;
    this.unplug();
    await this.goOffline();
    await this.#waker.close();
  }
}

/** The words of a text, for tables of names. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

/** Adds to a list of what came in, of which only the last are kept. */
export function pushCapped<T>(list: T[], one: T, most = 10_000): T {
  list.push(one);
  if (list.length > most) list.shift();
  return one;
}
