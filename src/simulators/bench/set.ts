/** The base of every simulated set: its ports, its discovery, its power, and one queue for its steps. */
import { UdpPort } from "./datagrams.ts";
import { type Build, type Fault, Listener } from "./listeners.ts";

/** Something that is opened and closed. Doing so twice has no effect. */
export interface Part {
  open(): Promise<void>;
  close(): Promise<void>;
}

/** How a set is found: SSDP, mDNS, or both. */
export interface Discovery extends Part {
  /** Whether it answers searches now. */
  readonly on: boolean;
}

/** Something that happened at a set, such as `key`, `text` or `power`, with a text for people. */
interface SetEvent {
  readonly type: string;
  readonly text: string;
  /** The address of the media that it is to play. Nothing is requested from there: that is up to the owner of the set. */
  readonly url?: string;
}

/** What every simulator takes. */
export interface SetOptions {
  /** The name given by its owner. */
  name: string;
  /** The address to bind and to announce; by default the usual loopback address. */
  host?: string;
  /** The UDP port for magic packets; by default any free port. */
  wakePort?: number;
  onEvent?: (event: SetEvent) => void;
}

export type Emit = (type: string, text: string, url?: string) => void;

export function emitter({ onEvent }: Pick<SetOptions, "onEvent">): Emit {
  return (type, text, url) => onEvent?.({ type, text, ...(url !== undefined && { url }) });
}

/** The resolved options of a set, of which the base uses these. */
interface Basics extends Pick<SetOptions, "wakePort" | "onEvent"> {
  readonly host: string;
  /** The MAC address that a magic packet must carry. */
  readonly mac: string;
}

/**
 * A set on real sockets. Nothing is open before `start`. Its steps (`start`, `stop`, and those given to `enqueue`) never
 * overlap.
 */
export abstract class SimulatedSet {
  readonly host: string;
  /** The MAC address that wakes it. */
  readonly mac: string;
  protected readonly emit: Emit;
  readonly #listeners: Listener[] = [];
  readonly #parts: Part[] = [];
  #discovery: Discovery | null = null;
  readonly #waker: UdpPort;
  #pluggedIn = false;
  #stopping = 0;
  #endBoot = () => {};
  #lastStep: Promise<unknown> = Promise.resolve();

  constructor(basics: Basics) {
    this.host = basics.host;
    this.mac = basics.mac;
    this.emit = emitter(basics);
    // A magic packet is six bytes of 0xff and the address sixteen times, anywhere in the datagram.
    const magic = Buffer.from("ff".repeat(6) + this.mac.replaceAll(/[^0-9a-f]/gi, "").repeat(16), "hex");
    this.#waker = new UdpPort(this.host, basics.wakePort ?? 0, (datagram) => {
      if (!this.isAsleep || !datagram.includes(magic)) return;
      this.emit("wake", "woken by a magic packet");
      this.enqueueInBackground(() => this.powerOn());
    });
  }

  /** Whether its ports are open while it is plugged in. */
  protected abstract get isReachable(): boolean;
  /** Whether a magic packet turns it on. */
  protected abstract get isAsleep(): boolean;
  /** Turns the set on; does nothing if it is on. */
  protected abstract powerOn(): Promise<void>;
  /** Ends everything that is under way, before the set loses its power. */
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

  /** Does not wait for a boot that is under way. */
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

  /** Injects a fault on all ports; null ends it. */
  fault(kind: Fault | null): Promise<void> {
    return this.enqueue(async () => {
      for (const listener of this.#listeners) await listener.fault(kind);
    });
  }

  protected get wakePort(): number {
    return this.#waker.port;
  }

  /** Whether it answers searches now. */
  protected get isDiscoverable(): boolean {
    return this.#discovery?.on ?? false;
  }

  /** Adds a port. Ports are opened in the order in which they were added. */
  protected addPort(port: number, build: Build): Listener {
    const listener = new Listener(this.host, port, build);
    this.#listeners.push(listener);
    this.#parts.push(listener);
    return listener;
  }

  /** Adds something that is open while the ports are. */
  protected addPart(part: Part): void {
    this.#parts.push(part);
  }

  /** Repeats a step while the ports are open. */
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

  /** Waits for the set to boot; ends at once when it is stopped. */
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

  /** Opens all ports, then discovery; does nothing while it is not plugged in. */
  protected async goOnline(): Promise<void> {
    if (!this.#pluggedIn) return;
    for (const part of this.#parts) await part.open();
    await this.#discovery?.open();
    if (this.#discovery?.on === false) this.emit("discovery", "discovery is off: its port is taken");
  }

  /** Stops answering searches; the ports stay open. */
  protected async stopDiscovery(): Promise<void> {
    await this.#discovery?.close();
  }

  /** Stops discovery and closes every port. */
  protected async goOffline(): Promise<void> {
    await this.stopDiscovery();
    await Promise.all(this.#parts.map((part) => part.close()));
  }

  /** Runs a step after all earlier ones, even if they failed. */
  protected enqueue(step: () => Promise<void>): Promise<void> {
    const next = this.#lastStep.then(step);
    this.#lastStep = next.catch(() => {});
    return next;
  }

  /** Like `enqueue`, without waiting for the result. */
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

/** Splits a text into its words. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

/** Appends to a list and drops its oldest items beyond the limit. */
export function pushCapped<T>(list: T[], item: T, limit = 10_000): T {
  list.push(item);
  if (list.length > limit) list.shift();
  return item;
}
