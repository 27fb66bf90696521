/** The resources, and the subscriptions to their changes. */
import type { Client, Followed } from "../api/client.ts";
import { type Device, KeyName } from "../api/schemas.ts";
import { sleep } from "../system/sleep.ts";
import { guide } from "./guide.ts";

const devicesUri = "zapd://devices";
const json = "application/json";

/** In an order that never changes. */
export const fixedResources = [
  {
    uri: devicesUri,
    name: "devices",
    title: "Devices",
    description: "All known devices, as in GET /v1/devices",
    mimeType: json,
  },
  {
    uri: "zapd://keys",
    name: "keys",
    title: "Keys",
    description: "The names of all keys; each device lists those that it has",
    mimeType: json,
  },
  {
    uri: "zapd://guide.md",
    name: "guide",
    title: "Guide",
    description: "How an agent uses the tools",
    mimeType: "text/markdown",
  },
];

export const templates = [
  {
    uriTemplate: "zapd://devices/{id}/state",
    name: "state",
    title: "State of a device",
    description: "The current state of a device, read from it; {id} is its id or its name",
    mimeType: json,
  },
];

/** A resource for each device. */
export function stateResources(devices: readonly Device[]) {
  return devices.map(({ id, name }) => ({
    uri: stateUri(id),
    name: `state of ${name}`,
    title: `State of ${name}`,
    mimeType: json,
  }));
}

function stateUri(id: string): string {
  return `zapd://devices/${encodeURIComponent(id)}/state`;
}

/** Reads a resource; `null` where the URI is unknown. Fails as the API does. */
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

/** Whether a URI can be that of a resource. */
export function isResource(uri: string): boolean {
  return fixedResources.some((one) => one.uri === uri) || deviceOf(uri) !== null;
}

/** The name or id in the URI of a state. */
function deviceOf(uri: string): string | null {
  const [, word = ""] = /^zapd:\/\/devices\/([^/]{1,3072})\/state$/.exec(uri) ?? [];
  try {
    return decodeURIComponent(word) || null;
  } catch {
    return null;
  }
}

/** Follows the events, and reconnects by itself. */
export type Follow = (signal: AbortSignal) => AsyncIterable<Followed>;

/** How long a subscription waits for the first events. Without a daemon they begin once one runs. */
const firstEventsMs = 2_000;

/** Reports changed resources to its listeners. Without a listener no events are followed. */
export class ResourceChanges {
  readonly #follow: Follow;
  readonly #listeners = new Set<(uri: string) => void>();
  #following: AbortController | undefined;
  /** Resolves after the first snapshot: later changes are reported. */
  #begun = Promise.withResolvers<void>();
  #isClosed = false;

  constructor(follow: Follow) {
    this.#follow = follow;
  }

  /** Calls `listener` with changed URIs until the returned function is called. */
  subscribe(listener: (uri: string) => void): () => void {
    this.#listeners.add(listener);
    if (!this.#following && !this.#isClosed) {
      this.#following = new AbortController();
      this.#begun = Promise.withResolvers();
      void this.#run(this.#following.signal);
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#end();
    };
  }

  /** The same, but resolves once changes are no longer missed. Earlier changes may be reported too. */
  async subscribed(listener: (uri: string) => void): Promise<() => void> {
    const end = this.subscribe(listener);
    const late = new AbortController();
    await Promise.race([this.#begun.promise, sleep(firstEventsMs, late.signal).catch(() => {})]);
    late.abort();
    return end;
  }

  /** Removes all listeners for good. */
  close(): void {
    this.#isClosed = true;
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
      // Reading a resource reports the cause.
    } finally {
      begun();
      if (this.#following?.signal === signal) this.#following = undefined;
    }
  }

  #tell(uri: string): void {
    for (const listener of [...this.#listeners]) listener(uri);
  }
}

/** The changes for one session, followed only while it has an open stream to send them over. */
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

  /** As in `ResourceChanges`, for one listener at a time. */
  async subscribed(listener: (uri: string) => void): Promise<() => void> {
    this.#listener = listener;
    await this.#follow();
    return () => {
      if (this.#listener !== listener) return;
      this.#listener = undefined;
      this.#leave();
    };
  }

  /** Its stream was opened. Resolves once changes are no longer missed. */
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

/** The URIs of the resources that an event changes. */
function changedBy(event: Followed, known: Map<string, Device>): string[] {
  if (event.type === "snapshot") {
    for (const { device } of event.devices) known.set(device.id, device);
    // After a gap anything may have changed.
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
  const { device } = event;
  const before = known.get(device.id);
  known.set(device.id, device);
  // From now on another device is read under one of these.
  const isOther = before && (before.name !== device.name || before.is_default !== device.is_default);
  return [devicesUri, ...(isOther ? new Set([before, device].flatMap(statesOf)) : [])];
}

function statesOf({ id, name, is_default }: Device): string[] {
  const uris = [id, name, ...(is_default ? ["default"] : [])].map(stateUri);
  // A client that expands the template encodes these as well (RFC 6570, 3.2.2).
  const byTemplate = stateUri(name).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  return [...new Set([...uris, byTemplate])];
}
