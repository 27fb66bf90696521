/**
 * Pages in a real browser (SECURITY.md T1, T2, T3): what a page can do without asking, tried from a page that is not listed,
 * from one that is, and from a name that leads to this machine. What counts is what the set received.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Page } from "puppeteer-core";
import { answered, attacks } from "../security/pages.ts";
import { noBrowser, startBrowser } from "../support/browser.ts";
import { type DaemonWithRoku, startDaemonWithRoku } from "../support/daemon-with-roku.ts";
import { until } from "../support/http-device.ts";
import { startTap } from "../support/tap.ts";

const keyPath = "/v1/devices/set/remote/key";
const rebound = "<!doctype html><title>page</title>";
const pressed = '{"key":"info"}';

function servePage() {
  const html = () =>
    new Response("<!doctype html><title>page</title><body></body>", { headers: { "content-type": "text/html" } });
  return Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: html });
}

const skipped = noBrowser === null ? "" : ` (skipped: ${noBrowser})`;
describe.skipIf(noBrowser !== null)(`a page in a real browser${skipped}`, () => {
  let browser: Browser;
  const pages = [servePage(), servePage()] as const;
  const [listed, other] = pages.map(({ port }) => `http://127.0.0.1:${port}`) as [string, string];
  let off: DaemonWithRoku;
  let on: DaemonWithRoku;

  beforeAll(async () => {
    // Chromium's own protection of local addresses is off: other browsers have none.
    browser = await startBrowser(["LocalNetworkAccessChecks"], ["--host-resolver-rules=MAP *.test 127.0.0.1"]);
    const daemon = { cors_allowed_origins: [listed] };
    off = await startDaemonWithRoku({ config: { daemon } });
    on = await startDaemonWithRoku({ config: { daemon: { ...daemon, cors_enabled: true } } });
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await Promise.all([off?.dispose(), on?.dispose()]);
    for (const page of pages) await page.stop(true);
  });

  /** Runs something in a fresh page of an origin, or in one that came from elsewhere while its name still led there. */
  async function inPage(origin: string, run: (page: Page) => Promise<unknown>, html?: string): Promise<void> {
    const page = await browser.newPage();
    try {
      if (html !== undefined) {
        await page.setRequestInterception(true);
        page.on("request", (request) => {
          const first = request.isNavigationRequest();
          void (first ? request.respond({ contentType: "text/html", body: html }) : request.continue());
        });
      }
      await page.goto(origin);
      await run(page);
    } finally {
      await page.close();
    }
  }
  const base = ({ port }: { port: number }) => `http://127.0.0.1:${port}`;
  /** Tries every attack in turn; the statuses with which the daemon answered, by the attack's name. */
  async function everything(origin: string, tap: Awaited<ReturnType<typeof startTap>>): Promise<Map<string, number[]>> {
    const said = new Map<string, number[]>();
    for (const [name, attack] of Object.entries(attacks)) {
      const before = tap.statuses.length;
      await inPage(origin, async (page) => {
        await page.evaluate(attack, base(tap), keyPath, pressed);
        // What a page sends behind its back may be on its way still.
        const { length } = answered[name] ?? [];
        await until(`${name} is answered`, () => tap.statuses.length - before >= length);
      });
      said.set(name, tap.statuses.slice(before));
    }
    return said;
  }

  test.each([
    ["that is not listed moves nothing, with CORS off", other, () => off],
    ["that is not listed moves nothing, with CORS on", other, () => on],
    ["that is listed moves nothing while CORS is off", listed, () => off],
  ] as const)(
    "T1 T3 %s",
    async (_what, origin, at) => {
      const room = at();
      const tap = await startTap(room.daemon.port);
      const reached = await room.requestsDuring(async () => {
        const said = await everything(origin, tap);
        expect(Object.fromEntries(said)).toEqual(answered as Record<string, number[]>);
      });
      await tap.stop();
      expect(reached).toBe(0);
      expect(room.countOf("key")).toBe(0);
      expect((await room.daemon.api("GET", "/devices")).body.data[0].name).toBe("set");
    },
    60_000,
  );

  test("T3 that is listed may press keys, reads the answer, and must say that it sends JSON", async () => {
    const before = on.countOf("key");
    await inPage(listed, async (page) => {
      const read = await page.evaluate(
        async (url, body) => {
          const headers = { "content-type": "application/json" };
          const answer = await fetch(url, { method: "POST", headers, body });
          const plain = await fetch(url, { method: "POST", body });
          return [answer.status, (await answer.json()).ok, plain.status];
        },
        base(on.daemon) + keyPath,
        pressed,
      );
      expect(read).toEqual([200, true, 400]);
    });
    expect(on.countOf("key")).toBe(before + 1);
  }, 60_000);

  test("T3 T4 that is not listed reads nothing, by no way", async () => {
    for (const room of [off, on]) {
      await inPage(other, async (page) => {
        const read = await page.evaluate(
          async (url) => {
            const text = await fetch(url)
              .then((answer) => answer.text())
              .catch(() => "unreadable");
            const opaque = await fetch(url, { mode: "no-cors" }).then(
              (answer) => answer.type,
              () => "blocked",
            );
            return [text, opaque];
          },
          `${base(room.daemon)}/v1/devices`,
        );
        // `cross-origin-resource-policy` keeps even the opaque answer out of the page's process.
        expect(read).toEqual(["unreadable", "blocked"]);
      });
    }
  }, 60_000);

  test("T2 under a name that leads here is refused whole, to read as to write", async () => {
    for (const room of [off, on]) {
      const tap = await startTap(room.daemon.port);
      const origin = `http://rebound.test:${tap.port}`;
      const reached = await room.requestsDuring(async () => {
        await inPage(
          origin,
          async (page) => {
            // The page is of the same origin as what it calls: nothing but the name tells them apart.
            const tried = await page.evaluate(
              async (path, body) => {
                const headers = { "content-type": "application/json" };
                const read = await fetch("/v1/devices").then(
                  (answer) => answer.status,
                  () => 0,
                );
                const wrote = await fetch(path, { method: "POST", headers, body }).then(
                  (answer) => answer.status,
                  () => 0,
                );
                return [read, wrote];
              },
              keyPath,
              pressed,
            );
            expect(tried).toEqual([403, 403]);
          },
          rebound,
        );
        expect(tap.statuses.length).toBeGreaterThanOrEqual(2);
        expect(new Set(tap.statuses)).toEqual(new Set([403]));
      });
      await tap.stop();
      expect(reached).toBe(0);
    }
  }, 60_000);
});
