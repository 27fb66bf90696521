/** The resources, and who is told when one changes. */
import type { Client, Followed } from "../api/client.ts";
import { type Device, KeyName } from "../api/schemas.ts";
import { sleep } from "../system/sleep.ts";
import { guide } from "./guide.ts";

const devicesUri = "zapd://devices";
const json = "application/json";

/** In their order, which never changes. */
export const fixedResources = [
  {
    uri: devicesUri,
    name: "devices",
    title: "Devices",
    description: "Every known device, as GET /v1/devices has it",
    mimeType: json,
  },
  {
    uri: "zapd://keys",
    name: "keys",
    title: "Keys",
    description: "Every key by its name; a device lists its own",
    mimeType: json,
  },
  {
    uri: "zapd://guide.md",
    name: "guide",
    title: "Guide",
    description: "How to drive a house, for agents",
    mimeType: "text/markdown",
  },
];

export const templates = [
  {
    uriTemplate: "zapd://devices/{id}/state",
    name: "state",
    title: "State of a device",
    description: "What a device does now, read from it; {id} is its id or its name",
    mimeType: json,
  },
];

/** A resource for each device. */
export function stateResources(devices: readonly Device[]) {
  return devices.map(({ id, name }) => ({
    uri: stateUri(id),
    name: `state of ${name}`,
    title: `What ${name} does`,
    mimeType: json,
  }));
}

function stateUri(id: string): string {
  return `zapd://devices/${encodeURIComponent(id)}/state`;
}

/** The text of a resource, and its type; `null` where there is none of that address. Fails as the API does. */
export async function readResource(
  uri: string,
  api: Client,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly mimeType: string } | null> {
  const asJson = (value: unknown) => ({ text: JSON.stringify(value), mimeType: json });
  if (uri === devicesUri) return asJson(await api.listDevices({ signal }));
  if (uri === "zapd://keys") return asJson(KeyName.options);
  if (uri === "zapd://guide.md") return { text: guide, mimeType: "text/markdown" };
  const id = deviceOf(uri);
  return id === null ? null : asJson(await api.getState({ id, signal }));
}

/** Whether there may be a resource of that address. */
export function isResource(uri: string): boolean {
  return fixedResources.some((one) => one.uri === uri) || deviceOf(uri) !== null;
}

/** The device whose state is meant, by its name or id. */
function deviceOf(uri: string): string | null {
  const [, word = ""] = /^zapd:\/\/devices\/([^/]{1,3072})\/state$/.exec(uri) ?? [];
  try {
    return decodeURIComponent(word) || null;
  } catch {
    return null;
  }
}

/** Follows what happens; comes back by itself when it breaks off. */
export type Follow = (signal: AbortSignal) => AsyncIterable<Followed>;

/** How long a subscription waits until the events are followed: without a daemon that begins when one runs. */
const beginsWithinMs = 2_000;

/** Tells its listeners which resources have changed. Without a listener nothing is followed. */
export class ResourceChanges {
  readonly #follow: Follow;
  readonly #listeners = new Set<(uri: string) => void>();
  #following: AbortController | undefined;
  /** Resolves after the first snapshot: what changes from then on is told. */
  #begun = Promise.withResolvers<void>();
  #isOver = false;

  constructor(follow: Follow) {
    this.#follow = follow;
  }

  /** Tells `listener` until the returned function is called. */
  subscribe(listener: (uri: string) => void): () => void {
    this.#listeners.add(listener);
    if (!this.#following && !this.#isOver) {
      this.#following = new AbortController();
      this.#begun = Promise.withResolvers();
      void this.#run(this.#following.signal);
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#end();
    };
  }

  /** The same, done once no change is missed any more. What changes meanwhile is told as well. */
  async subscribed(listener: (uri: string) => void): Promise<() => void> {
    const end = this.subscribe(listener);
    const late = new AbortController();
    await Promise.race([this.#begun.promise, sleep(beginsWithinMs, late.signal).catch(() => {})]);
    late.abort();
    return end;
  }

  /** Removes all listeners, for good. */
  close(): void {
    this.#isOver = true;
    this.#listeners.clear();
    this.#end();
  }

  #end(): void {
    this.#following?.abort();
    this.#following = undefined;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const known = new Map<string, Device>();
    const { resolve: begun } = this.#begun;
    try {
      for await (const event of this.#follow(signal)) {
        for (const uri of changedBy(event, known)) this.#tell(uri);
        if (event.type === "snapshot" && event.last) begun();
      }
    } catch {
      // Without events no change is told: who reads a resource finds out why.
    } finally {
      begun();
      if (this.#following?.signal === signal) this.#following = undefined;
    }
  }

  #tell(uri: string): void {
    for (const listener of [...this.#listeners]) listener(uri);
  }
}

/** The changes for one session: followed only while a stream of it is open, since otherwise nobody hears of them. */
export class SessionChanges {
  readonly #changes: ResourceChanges;
  #listener: ((uri: string) => void) | undefined;
  #following: Promise<() => void> | undefined;
  #isOpen = false;

  constructor(changes: ResourceChanges) {
    this.#changes = changes;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** As of `ResourceChanges`, for one listener at a time. */
  async subscribed(listener: (uri: string) => void): Promise<() => void> {
    this.#listener = listener;
    await this.#follow();
    return () => {
      this.#listener = undefined;
      this.#leave();
    };
  }

  /** Its stream has been opened; resolves once no change is missed any more. */
  async open(): Promise<void> {
    this.#isOpen = true;
    await this.#follow();
  }

  /** Its stream has ended. */
  close(): void {
    this.#isOpen = false;
    this.#leave();
  }

  async #follow(): Promise<void> {
    if (!this.#isOpen || !this.#listener) return;
    this.#following ??= this.#changes.subscribed(this.#listener);
    await this.#following;
  }

  #leave(): void {
    void this.#following?.then((end) => end());
    this.#following = undefined;
  }
}

/** The resources that an event changes, by each of their addresses. */
function changedBy(event: Followed, known: Map<string, Device>): string[] {
  if (event.type === "snapshot") {
    for (const { device } of event.devices) known.set(device.id, device);
    // The first snapshot changes nothing; after a gap, everything may have changed.
    return event.reason === "start" ? [] : [devicesUri, ...event.devices.flatMap(({ device }) => statesOf(device))];
  }
  if (event.type === "state.changed") {
    const device = known.get(event.device_id);
    return device ? statesOf(device) : [stateUri(event.device_id)];
  }
  if (event.type === "device.removed") {
    known.delete(event.device_id);
    return [devicesUri, ...statesOf(event.device)];
  }
  if (event.type !== "device.added" && event.type !== "device.changed") return [];
  known.set(event.device_id, event.device);
  return [devicesUri];
}

function statesOf({ id, name, is_default }: Device): string[] {
  return [id, name, ...(is_default ? ["default"] : [])].map(stateUri);
}
