/** What can be asked of a device, one function per action of the API. Each answers once the device took it. */

import { ZapdError } from "../api/errors.ts";
import type { App } from "../api/operations.ts";
import { sequenceLimits } from "../api/routes.ts";
import type { Archive, Confirmed, ConsoleLines, InstallResult } from "../platforms/platform.ts";
import type { Task } from "./attempts.ts";
import { appNotFound, type Catalog, describeApp, findApp, findService, type Refreshed } from "./catalog.ts";
import type { Control } from "./control.ts";
import type { Entry } from "./entry.ts";
import { method, named } from "./failures.ts";
import {
  atOff,
  checkPress,
  doing,
  type Press,
  patience,
  perform,
  powerAfter,
  readPress,
  runSequence,
} from "./press.ts";

/** Milliseconds for actions that are more than one answer (SECURITY.md 4). */
const limits = {
  list: 10_000,
  launch: 15_000,
  stop: 15_000,
  reload: 25_000,
  install: 180_000,
  logs: 12_000,
} as const;

export class Actions {
  readonly #control: Control;
  readonly #catalog: Catalog;

  constructor(control: Control, catalog: Catalog) {
    this.#control = control;
    this.#catalog = catalog;
  }

  /** The catalog from its cache; a cold cache is filled from the device first. */
  async apps(entry: Entry, signal: AbortSignal): Promise<App[]> {
    return this.#catalog.apps(entry.id) ?? (await this.refresh(entry, false, signal)).apps;
  }

  async refresh(entry: Entry, clear: boolean, signal: AbortSignal): Promise<Refreshed> {
    return this.#control.shared(entry, clear ? "apps anew" : "apps", this.#listing(entry, clear), signal);
  }

  #listing(entry: Entry, clear: boolean): Task<Refreshed> {
    return {
      ...{ doing: "listing its apps", within: limits.list },
      work: async (connection, within) => {
        const listed = await method(connection.apps, "apps")(within);
        return this.#catalog.refresh(entry.id, entry.platform, listed, clear);
      },
    };
  }

  async launch(
    entry: Entry,
    wanted: string,
    params: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<{ app: App; confirmed: Confirmed }> {
    const app = await this.#resolve(entry, wanted, signal);
    const confirmed = await this.#command(entry, signal, {
      ...{ doing: `launching ${app.name}`, within: limits.launch },
      given: [wanted, ...Object.keys(params), ...Object.values(params)],
      work: (connection, within) => method(connection.launch, "launch")(app.platform_id, params, within),
    });
    return { app: { ...app, installed: true }, confirmed };
  }

  async stop(entry: Entry, signal: AbortSignal): Promise<App | null> {
    const app = await this.#command(entry, signal, {
      ...{ doing: "leaving the app", within: limits.stop, whenOff: { wake: false, result: null } },
      work: (connection, within) => method(connection.stop, "stop")(within),
    });
    return app && describeApp(app, this.#catalog.apps(entry.id));
  }

  async key(entry: Entry, wanted: string, signal: AbortSignal): Promise<void> {
    const press = readPress(wanted);
    const connection = this.#control.connection(entry);
    checkPress(entry, connection, press);
    this.#checkTyped(entry, press);
    await this.#command(entry, signal, {
      ...{
        doing: doing(press),
        within: patience(press, connection, this.#control.timeout),
        given: [wanted, ...("text" in press ? [press.text] : [])],
      },
      ...atOff(press),
      work: async (current, within) => {
        this.#checkTyped(entry, press);
        await perform(current, press, within);
      },
    });
    const power = powerAfter(press);
    if (power !== undefined) this.#control.said(entry, power);
  }

  /** Every key is checked before the first is sent; one sequence at a time, in order of arrival; a caller who hangs up stops it. */
  async sequence(
    entry: Entry,
    wanted: readonly string[],
    delayMs: number,
    signal: AbortSignal,
  ): Promise<{ sent: number; duration_ms: number }> {
    const total = delayMs * (wanted.length - 1);
    if (total > sequenceLimits.totalMs) {
      throw new ZapdError(
        "invalid_payload",
        `The delays of this sequence add up to ${Math.round(total / 1000)} s; at most ${sequenceLimits.totalMs / 1000} s are allowed`,
      );
    }
    const presses = wanted.map(readPress);
    const connection = this.#control.connection(entry);
    for (const press of presses) checkPress(entry, connection, press);
    for (const press of presses) this.#checkTyped(entry, press);
    const within = total + presses.reduce((sum, press) => sum + patience(press, connection, this.#control.timeout), 0);
    const progress = { sent: 0 };
    const task: Task<{ sent: number; duration_ms: number }> = {
      ...{ doing: "running a sequence", within, begun: () => progress.sent > 0 },
      given: presses.flatMap((press) => ("text" in press ? [press.text] : [])),
      work: (current, deadline) => {
        const checked = (press: Press) => this.#checkTyped(entry, press);
        return runSequence(current, presses, delayMs, { progress, checked }, deadline);
      },
    };
    const ran = await this.#control.command(entry, task, {
      ...{ takes: total + presses.length * 50, atLeast: total, patient: true, signal },
    });
    const power = presses.map(powerAfter).findLast((one) => one !== undefined);
    if (power !== undefined) this.#control.said(entry, power);
    return ran;
  }

  async install(entry: Entry, archive: Archive, password: string, signal: AbortSignal): Promise<InstallResult> {
    const result = await this.#command(entry, signal, {
      ...{ doing: "installing the package", within: limits.install },
      work: async (connection, within) => {
        this.#control.checkTrusted(entry, "installing the package");
        return method(connection.dev, "dev").install(archive, password, within);
      },
    });
    // The catalog should show the new package; a set that will not list its apps now has taken it all the same.
    await this.refresh(entry, false, signal).catch(() => {});
    return result;
  }

  async reload(entry: Entry, signal: AbortSignal): Promise<App> {
    const app = await this.#command(entry, signal, {
      ...{ doing: "reloading the package", within: limits.reload },
      work: (connection, within) => method(connection.dev, "dev").reload(within),
    });
    return describeApp(app, this.#catalog.apps(entry.id));
  }

  /** Lines of the developer console. A read: it does not wait behind commands. */
  logs(entry: Entry, cursor: string | null, signal: AbortSignal): Promise<ConsoleLines> {
    return this.#control.shared(
      entry,
      `logs ${cursor ?? ""}`,
      {
        ...{ doing: "reading its console", within: limits.logs, given: cursor === null ? [] : [cursor] },
        work: (connection, within) => method(connection.dev, "dev").console.read(cursor, within),
      },
      signal,
    );
  }

  /** What is typed may be a password: on probation nothing is (SECURITY.md 2.4). */
  #checkTyped(entry: Entry, press: Press): void {
    if ("text" in press) this.#control.checkTrusted(entry, doing(press));
  }

  #command<T>(entry: Entry, signal: AbortSignal, task: Task<T>): Promise<T> {
    return this.#control.command(entry, task, { signal });
  }

  /** Finds the app in the cache, and once more in a fresh list when it is not there. */
  async #resolve(entry: Entry, wanted: string, signal: AbortSignal): Promise<App> {
    method(this.#control.connection(entry).launch, "launch");
    const platform = this.#control.platform(entry);
    const cached = this.#catalog.apps(entry.id);
    const found = findApp(wanted, cached ?? [], platform);
    if (found && (cached || platform.isAppId(wanted))) return found;
    // Part of a command: a device that is asleep is woken for it.
    const list = await this.#command(entry, signal, this.#listing(entry, false)).catch((error: unknown) => {
      // One that keeps its list to itself may still launch what everybody knows.
      const known = isRefused(error) ? findService(wanted, platform) : null;
      if (known) return known;
      throw error;
    });
    if (!("apps" in list)) return list;
    const { apps: listed } = list;
    const app = findApp(wanted, listed, platform);
    if (app) return app;
    throw named(appNotFound(wanted, listed), entry, "launching an app");
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof ZapdError && error.code === "device_refused";
}
