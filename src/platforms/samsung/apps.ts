/**
 * Apps (smart-tvs.md 3.3): from the TV's own list where it gives one, else those that are known, each requested by its
 * id. The apps it has are remembered, since the app on the screen is found by asking app by app.
 */
import { unlessSlept } from "../../system/clock.ts";
import { until } from "../../system/sleep.ts";
import { type Confirmed, type DeepLink, type Emit, noEffect, type PlatformApp } from "../platform.ts";
import type { SamsungMemory, SamsungTarget } from "./memory.ts";
import { type AppStatus, appOf, type ListedApp, metaTagOf, readApps } from "./protocol.ts";
import { falseIfSilent, noSuchApp, type Rest, refused } from "./rest.ts";
import { knownApps } from "./services.ts";
import type { RemoteSession, WithRemote } from "./session.ts";

/** TVs that list no apps do not answer at all (3.4). One that did not answer before gets less time. */
const listTimeoutMs = 3_000;
const askAgainTimeoutMs = 1_000;
const shownTimeoutMs = 5_000;
const closedTimeoutMs = 3_000;
const parallelRequests = 4;

export class Apps {
  readonly #target: SamsungTarget;
  readonly #rest: Rest;
  readonly #emit: Emit<SamsungMemory>;
  /** The app that was on the screen last: it most likely still is. */
  #last: string | null = null;
  /** It was asked for its list, and did not answer: it is not asked again before the next connection. */
  #isSilent = false;

  constructor(target: SamsungTarget, rest: Rest, emit: Emit<SamsungMemory>) {
    this.#target = target;
    this.#rest = rest;
    this.#emit = emit;
  }

  /** Without a `session`, looks for the known apps. */
  async list(session: RemoteSession | null, signal: AbortSignal): Promise<PlatformApp[]> {
    const { lists } = this.#target.memory;
    const asked = this.#isSilent ? null : session;
    const timeoutMs = lists === false ? askAgainTimeoutMs : listTimeoutMs;
    const listed = asked && readApps(await asked.apps(signal, timeoutMs));
    // At once: a slow TV leaves too little time for its apps after the wait for a list, and must not be asked for one again.
    if (asked && lists !== true) {
      this.#isSilent = listed === null;
      this.#emit({ type: "facts", memory: { lists: listed !== null } });
    }
    const apps = listed ?? (await this.#probe(signal));
    this.#emit({ type: "facts", memory: { apps } });
    return apps.map(({ id, name }) => appOf(id, name));
  }

  /** The app on the screen; `null` for the home screen, and for apps that have no status. */
  async current(signal: AbortSignal): Promise<PlatformApp | null> {
    const known = this.#target.memory.apps ?? (await this.#probe(signal));
    if (!this.#target.memory.apps) this.#emit({ type: "facts", memory: { apps: known } });
    const ids = known.filter(({ native }) => !native).map(({ id }) => id);
    const last = this.#last;
    if (last !== null && (await this.#rest.app(last, signal))?.visible) return this.#app(last, known);
    const others = ids.filter((id) => id !== last);
    const [shown] = await this.#query(others, signal, (status) => status.visible);
    this.#last = shown?.app.platformId ?? null;
    return this.#last === null ? null : this.#app(this.#last, known);
  }

  async launch(id: string, link: DeepLink, withRemote: WithRemote, signal: AbortSignal): Promise<Confirmed> {
    const listed = this.#target.memory.apps?.find((app) => app.id === id);
    const status = listed?.native ? null : await unlessSlept(this.#rest.app(id, signal));
    // The TV's own apps, whose ids have dots, have no status, and may be installed all the same.
    const native = listed?.native ?? (!status && id.includes("."));
    if (status === null && !native) throw noSuchApp(id);
    const metaTag = metaTagOf(link);
    if (native || metaTag !== "") {
      const answered = await withRemote(signal, (session) => session.launch(id, native, metaTag, signal));
      if (answered === 404) throw noSuchApp(id);
      if (answered !== null && answered >= 400) throw refused();
    } else await this.#rest.launch(id, signal);
    if (native) return null;
    const confirmed = await until(() => this.#isShown(id, signal), { timeoutMs: shownTimeoutMs, everyMs: 200, signal });
    if (confirmed) this.#last = id;
    return confirmed;
  }

  async stop(signal: AbortSignal): Promise<PlatformApp | null> {
    const app = await unlessSlept(this.current(signal));
    if (app === null) return null;
    await this.#rest.stop(app.platformId, signal);
    const isClosed = async () => !(await this.#isShown(app.platformId, signal));
    if (!(await until(isClosed, { timeoutMs: closedTimeoutMs, everyMs: 200, signal })))
      throw noEffect("accepted the command, but still shows the app");
    return app;
  }

  /** Whether the TV shows an app after a command. */
  #isShown(id: string, signal: AbortSignal): Promise<boolean> {
    return this.#rest.app(id, signal).then((status) => status?.visible === true, falseIfSilent(signal));
  }

  #app(id: string, known: readonly ListedApp[]): PlatformApp {
    return appOf(id, known.find((app) => app.id === id)?.name ?? null);
  }

  async #probe(signal: AbortSignal): Promise<ListedApp[]> {
    const remembered = this.#target.memory.apps ?? [];
    const native = remembered.filter((app) => app.native);
    const others = remembered.filter((app) => !app.native).map(({ id }) => id);
    const ids = [...new Set([...knownApps.map(([id]) => id), ...others])];
    const installed = await this.#query(ids, signal, () => true);
    // The TV's own apps have no status.
    return [...installed.map(({ app: { platformId, name } }) => ({ id: platformId, name, native: false })), ...native];
  }

  /** Requests each app, a few at a time; returns those that are installed and match, in order. */
  async #query(
    ids: readonly string[],
    signal: AbortSignal,
    matches: (status: AppStatus) => boolean,
  ): Promise<AppStatus[]> {
    const found = new Map<string, AppStatus>();
    const remaining = [...ids];
    const worker = async () => {
      for (let id = remaining.shift(); id !== undefined; id = remaining.shift()) {
        const status = await this.#rest.app(id, signal);
        if (status && matches(status)) found.set(id, status);
      }
    };
    await Promise.all(Array.from({ length: parallelRequests }, worker));
    return ids.flatMap((id) => found.get(id) ?? []);
  }
}
