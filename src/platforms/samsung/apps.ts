/**
 * Apps of a TV (smart-tvs.md 3.3): from its own list where it gives one, else those that are known, each asked for by its id.
 * What it has is remembered, since what is on the screen is told app by app.
 */
import { until } from "../../system/sleep.ts";
import type { Confirmed, DeepLink, Emit, PlatformApp } from "../platform.ts";
import type { SamsungMemory, SamsungTarget } from "./memory.ts";
import { type AppNow, appOf, type ListedApp, metaTagOf, readApps } from "./protocol.ts";
import { noSuchApp, type Rest } from "./rest.ts";
import { knownApps } from "./services.ts";
import type { RemoteSession } from "./session.ts";

/** TVs that list nothing do not answer at all (3.4). */
const listsWithin = 3_000;
const seenWithin = 5_000;
const goneWithin = 3_000;
/** Apps that are asked for at a time. */
const lanes = 4;

export class Apps {
  readonly #target: SamsungTarget;
  readonly #rest: Rest;
  readonly #emit: Emit<SamsungMemory>;
  /** What was on the screen last: it most likely still is. */
  #last: string | null = null;

  constructor(target: SamsungTarget, rest: Rest, emit: Emit<SamsungMemory>) {
    this.#target = target;
    this.#rest = rest;
    this.#emit = emit;
  }

  /** `session` is that of a TV that lets us in; without it those that are known are looked for. */
  async list(session: RemoteSession | null, signal: AbortSignal): Promise<PlatformApp[]> {
    const { lists } = this.#target.memory;
    const listed = session && lists !== false ? readApps(await session.apps(signal, listsWithin)) : null;
    const apps = listed ?? (await this.#probed(signal));
    this.#emit({ type: "facts", memory: { apps, ...(session && lists === undefined && { lists: listed !== null }) } });
    return apps.map(({ id, name }) => appOf(id, name));
  }

  /** The app on the screen; `null` for home, and for those that keep their state to themselves. */
  async current(signal: AbortSignal): Promise<PlatformApp | null> {
    const known = this.#target.memory.apps ?? (await this.#learn(signal));
    const ids = known.filter(({ native }) => !native).map(({ id }) => id);
    const last = this.#last;
    if (last !== null && (await this.#rest.app(last, signal))?.visible) return this.#app(last, known);
    const seen = await this.#each(
      ids.filter((id) => id !== last),
      signal,
      (now) => now.visible,
    );
    this.#last = seen[0]?.app.platformId ?? null;
    return seen[0] ? this.#app(seen[0].app.platformId, known) : null;
  }

  async launch(
    id: string,
    link: DeepLink,
    open: () => Promise<RemoteSession>,
    signal: AbortSignal,
  ): Promise<Confirmed> {
    const listed = this.#target.memory.apps?.find((app) => app.id === id);
    const isTold = !listed?.native && (await this.#rest.app(id, signal)) !== null;
    // The TV's own, whose ids have dots, keep their state to themselves, and may be there all the same.
    const native = listed?.native ?? (!isTold && id.includes("."));
    if (!isTold && !native) throw noSuchApp(id);
    const metaTag = metaTagOf(link);
    if (native || metaTag !== "") {
      const status = await (await open()).launch(id, native, metaTag, signal);
      if (status === 404) throw noSuchApp(id);
    } else await this.#rest.launch(id, signal);
    if (native) return null;
    const isShown = async () => (await this.#rest.app(id, signal))?.visible === true;
    const seen = await until(isShown, { timeoutMs: seenWithin, everyMs: 200, signal });
    if (seen) this.#last = id;
    return seen;
  }

  async stop(signal: AbortSignal): Promise<PlatformApp | null> {
    const app = await this.current(signal);
    if (app === null) return null;
    await this.#rest.stop(app.platformId, signal);
    const isGone = async () => !(await this.#rest.app(app.platformId, signal))?.visible;
    await until(isGone, { timeoutMs: goneWithin, everyMs: 200, signal });
    this.#last = null;
    return app;
  }

  #app(id: string, known: readonly ListedApp[]): PlatformApp {
    return appOf(id, known.find((app) => app.id === id)?.name ?? null);
  }

  async #learn(signal: AbortSignal): Promise<readonly ListedApp[]> {
    const apps = await this.#probed(signal);
    this.#emit({ type: "facts", memory: { apps } });
    return apps;
  }

  async #probed(signal: AbortSignal): Promise<ListedApp[]> {
    const had = this.#target.memory.apps?.map(({ id }) => id) ?? [];
    const ids = [...new Set([...knownApps.map(([id]) => id), ...had])];
    const found = await this.#each(ids, signal, () => true);
    return found.map(({ app: { platformId, name } }) => ({ id: platformId, name, native: false }));
  }

  /** Asks for each app, some at a time; those that the TV has, and of which something holds, in order. */
  async #each(ids: readonly string[], signal: AbortSignal, holds: (now: AppNow) => boolean): Promise<AppNow[]> {
    const found = new Map<string, AppNow>();
    const waiting = [...ids];
    const lane = async () => {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
        const now = await this.#rest.app(id, signal);
        if (now && holds(now)) found.set(id, now);
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    return ids.flatMap((id) => found.get(id) ?? []);
  }
}
