/** Apps of a Roku: launched, stopped and reloaded, each with its effect read back (protocols/roku.md 1.4, 1.5, 1.8). */
import { hasCode, ZapdError } from "../../api/errors.ts";
import { inParts, unlessSlept } from "../../system/clock.ts";
import { sleep, until } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { type Confirmed, type DeepLink, noEffect, type PlatformApp, type PlatformHost } from "../platform.ts";
import { accessHint, type Ecp, paths } from "./ecp.ts";
import { readActiveApp, readApps } from "./protocol.ts";

/** Most apps are shown 1 to 2 s after their launch (1.9). */
const launchTimeoutMs = 3_000;
const homeTimeoutMs = 4_000;
const exitTimeoutMs = 1_500;
const reloadCheckDelayMs = 1_000;
/** Heavy apps are shown 7 s after their launch (1.9): what remains after `launchTimeoutMs`, and a little more. */
const heavyAppMs = 6_000;

/** zapd's names of deep link parameters, and Roku's. */
const linkNames: ReadonlyMap<string, string> = new Map([
  ["content_id", "contentId"],
  ["media_type", "mediaType"],
]);

export class RokuApps {
  readonly #ecp: Ecp;
  readonly #platformHost: PlatformHost;
  /** `exit-app` needs developer mode (1.8). */
  readonly #mayExit: () => boolean;

  constructor(ecp: Ecp, platformHost: PlatformHost, mayExit: () => boolean) {
    this.#ecp = ecp;
    this.#platformHost = platformHost;
    this.#mayExit = mayExit;
  }

  async list(signal: AbortSignal): Promise<PlatformApp[]> {
    // Twice the time of other answers: ten seconds by default (SECURITY.md 4).
    const timeoutMs = 2 * this.#platformHost.requestTimeoutMs();
    const text = await this.#ecp.document(paths.apps, "list its apps", signal, { timeoutMs });
    if (text === null) throw new ZapdError("unsupported_operation", "has no list of apps");
    return readApps(text);
  }

  /** The app that is shown, `null` for the home screen, `undefined` where the set does not report it. */
  async active(signal: AbortSignal): Promise<PlatformApp | null | undefined> {
    const text = await this.#ecp.document(paths.activeApp, "report which app is shown", signal);
    if (text === null) return undefined;
    return readActiveApp(text).app;
  }

  async launch(id: string, params: DeepLink, signal: AbortSignal): Promise<Confirmed> {
    const query = Object.fromEntries(
      Object.entries(params).map(([name, value]) => [linkNames.get(name) ?? name, value]),
    );
    const status = await this.#ecp.command(paths.launch(id, query), "launch the app", signal, this.#ecp.mustBeOn);
    if (status >= 400) {
      throw new ZapdError("app_not_found", `has no app "${id}" installed`, {
        hint: this.#ecp.listsApps
          ? "See what is installed: zapd refresh -d {device}, then zapd apps -d {device}"
          : `It lists its apps only with this setting. ${accessHint}`,
      });
    }
    return this.#isShown((app) => app?.platformId === id, launchTimeoutMs, signal);
  }

  /** Leaves the app that is shown, by `exit-app` where that is allowed, else by Home, and waits for the home screen. */
  async stop(signal: AbortSignal): Promise<PlatformApp | null> {
    const app = await unlessSlept(this.active(signal));
    // A set in standby shows nothing, whatever it answers, and a key may turn it on.
    if (app === null || this.#ecp.inStandby) return null;
    await inParts(async (next) => {
      if (app && app.type !== "input" && app.type !== "tuner") {
        await this.#exit(app.platformId, next, signal);
        next();
      }
      await this.#home(signal);
    });
    return app ?? null;
  }

  /** Restarts the sideloaded app, as the developer tools do (2.1). */
  async reload(params: DeepLink, signal: AbortSignal): Promise<PlatformApp> {
    const dev = await unlessSlept(this.sideloaded(signal));
    this.#ecp.mustBeOn();
    const isRunning = (await unlessSlept(this.active(signal)))?.type === "dev";
    await inParts(async (next) => {
      if (isRunning) {
        await this.#exit(dev.platformId, next, signal);
        next();
        await this.#home(signal);
        next();
      }
      await this.start(params, signal);
    });
    await this.#isShown((app) => app?.type === "dev", heavyAppMs, signal);
    await sleep(reloadCheckDelayMs, signal);
    const shown = await this.active(signal);
    if (shown !== undefined && shown?.type !== "dev") {
      const hint = "Check whether it crashed when it started: zapd logs -d {device}";
      throw noEffect(`accepted the launch of "${dev.name}", but does not show it`, hint);
    }
    return dev;
  }

  /** The sideloaded app; fails with `dev_package_missing` where there is none. */
  async sideloaded(signal: AbortSignal): Promise<PlatformApp> {
    const dev = (await this.list(signal)).find((app) => app.type === "dev");
    if (dev) return dev;
    throw new ZapdError("dev_package_missing", "has no sideloaded package", {
      hint: "Install one: zapd install ./my-app -d {device}",
    });
  }

  /** Launches the sideloaded app with a unique parameter, without which an app that runs or is suspended is not restarted (1.8). */
  async start(params: DeepLink, signal: AbortSignal): Promise<void> {
    await this.launch("dev", { ...params, zapd: String(Date.now()) }, signal);
  }

  /** The first call suspends an app with Instant Resume, the second ends it (1.8). A failure is ignored, as Home comes next. */
  async #exit(id: string, next: () => void, signal: AbortSignal): Promise<void> {
    if (!this.#mayExit()) return;
    try {
      if ((await this.#ecp.command(paths.exit(id), "leave the app", signal)) >= 400) return;
      if (await this.#isShown((app) => app?.platformId !== id, exitTimeoutMs, signal)) {
        next();
        await this.#ecp.command(paths.exit(id), "leave the app", signal);
      }
    } catch (error) {
      if (!hasCode(error, "device_refused", "device_error")) throw error;
    }
  }

  async #home(signal: AbortSignal): Promise<void> {
    if ((await unlessSlept(this.active(signal))) === null) return;
    if ((await this.#ecp.command(paths.key("Home"), "go home", signal)) >= 400)
      throw new ZapdError("device_error", "refused the home key");
    if ((await this.#isShown((app) => app === null, homeTimeoutMs, signal)) === false) {
      throw noEffect("accepted the home key, but still shows the app");
    }
  }

  /** Polls which app is shown; `null` where the set does not report it, or not in time. */
  async #isShown(isWanted: (app: PlatformApp | null) => boolean, ms: number, signal: AbortSignal): Promise<Confirmed> {
    const timeout = deadline(ms, signal);
    let shown: Confirmed = null;
    const isDone = async () => {
      const app = await this.active(timeout);
      shown = app === undefined ? null : isWanted(app);
      return shown !== false;
    };
    try {
      await until(isDone, { timeoutMs: ms, signal: timeout });
      return shown;
    } catch (error) {
      if (signal.aborted) throw error;
      return timeout.aborted ? shown : null;
    }
  }
}
