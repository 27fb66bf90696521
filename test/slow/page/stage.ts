/** What tests of the page share: one browser for a file, every page that they open, and the demo with its sets. */
import { afterAll, afterEach, beforeAll, describe, expect } from "bun:test";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "puppeteer-core";
import { type Looked, type Looking, look, noBrowser, startBrowser } from "../../support/browser.ts";
import { freePort, startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { type Demo, startDemo } from "../../support/demo.ts";
import { until } from "../../support/http-device.ts";
import { devicesOf } from "../bench/registry.ts";

/** Opens the page of the daemon at a port. It is closed after the test, once nothing was wrong with it; a test may close it before. */
export type Visit = (port: number, looking?: Looking) => Promise<Looked>;

/** Waits until what is shown listens to the keyboard and to drops as well: from the frame after it is shown. */
export async function listens(page: Page): Promise<void> {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
}

/** A daemon that knows so many devices, none of which exists. */
export async function startDaemonThatKnows(count: number): Promise<TestDaemon> {
  const folder = mkdtempSync(join(tmpdir(), "zapd-many-"));
  mkdirSync(join(folder, "state"), { mode: 0o700 });
  writeFileSync(join(folder, "state", "devices.json"), JSON.stringify({ version: 1, devices: devicesOf(count) }));
  const config = `[daemon]\nhttp_port = ${await freePort()}\n[discovery]\non_start = false\ninterval_s = 0\ninterfaces = ["none"]\n`;
  writeFileSync(join(folder, "config.toml"), config, { mode: 0o600 });
  return startTestDaemon({ folder, speed: 1 });
}

/** Tests in a real browser; skipped, and saying so, where there is none. */
export function describeBrowser(title: string, tests: (browser: () => Browser) => void): void {
  describe.skipIf(noBrowser !== null)(`${title}${noBrowser === null ? "" : ` (skipped: ${noBrowser})`}`, () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await startBrowser();
    }, 60_000);
    afterAll(() => browser?.close());
    tests(() => browser);
  });
}

/** The same, where each test opens pages of its own. */
export function describePage(title: string, tests: (visit: Visit) => void): void {
  describeBrowser(title, (browser) => {
    const open: Looked[] = [];
    afterEach(async () => {
      const left = open.splice(0).filter(({ page }) => !page.isClosed());
      try {
        expect((await Promise.all(left.map((one) => one.problems()))).flat()).toEqual([]);
      } finally {
        // A tab that was opened beside another one goes before it.
        for (const one of left.reverse()) await one.close();
      }
    });
    tests(async (port, looking) => {
      const looked = await look(browser(), port, looking);
      open.push(looked);
      return looked;
    });
  });
}

/** The demo, for the tests of this block; its Kodi has its login, unless it is to be asked for. */
export function demoFor({ loggedIn = true } = {}) {
  let demo: Demo;
  const ids = new Map<string, string>();
  // biome-ignore lint/suspicious/noExplicitAny: as in daemon.ts
  async function api(method: string, path: string, body?: unknown): Promise<any> {
    const init = { method, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const answer = await fetch(`http://127.0.0.1:${demo.port}/v1${path}`, init);
    return ((await answer.json()) as { data?: unknown }).data;
  }
  beforeAll(async () => {
    demo = await startDemo();
    for (const { id, name } of await api("GET", "/devices")) ids.set(name, id);
    if (loggedIn) await demo.logIn();
  }, 120_000);
  afterAll(() => demo?.stop());
  return {
    /** What the API answers, out of its envelope. */
    api,
    port: () => demo.port,
    idOf: (name: string) => ids.get(name) ?? name,
    /** What it has said of its sets so far. */
    said: () => demo.printed(),
    /** Waits until it has said so of its sets. */
    async says(what: RegExp): Promise<void> {
      await until(`the demo says ${what}`, () => what.test(demo.printed()));
    },
  };
}
