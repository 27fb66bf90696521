/** Ten tabs of one page: one stream, all of them live, whoever goes; and the daemon stopped and started under them. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "puppeteer-core";
import { type Looked, look, pressFirst, pressNamed, shows, until, write } from "../../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { type DaemonWithRoku, startDaemonWithRoku } from "../../support/daemon-with-roku.ts";
import { EventStream } from "../../support/event-stream.ts";
import { until as untilTrue } from "../../support/http-device.ts";
import { describeBrowser, describePage, listens, startDaemonThatKnows } from "./stage.ts";

const tabs = 10;

describeBrowser("many tabs", (browser) => {
  let room: DaemonWithRoku;
  let daemon: TestDaemon;
  const open: Looked[] = [];
  /** Who opened a stream, in order. */
  const streams: { readonly page: Page; readonly url: string; readonly at: number }[] = [];

  beforeAll(async () => {
    room = await startDaemonWithRoku();
    daemon = room.daemon;
  }, 60_000);
  afterAll(async () => {
    if (daemon !== room?.daemon) await daemon?.stop();
    await room?.dispose();
  });

  const allShow = (text: string) => Promise.all(open.map(({ page }) => shows(page, text)));
  /** Waits until a refusal with this text is shown in the view. */
  const refuses = (page: Page, text: string) =>
    until(
      page,
      `it is refused: ${text}`,
      (wanted) => document.querySelector(".refusal")?.textContent?.includes(wanted ?? "") ?? false,
      text,
    );
  const rename = async (name: string) =>
    expect((await daemon.api("PATCH", `/devices/${id}`, { name })).status).toBe(200);
  let id = "";

  test("one of them follows, and all are live", async () => {
    id = (await daemon.api("GET", "/devices/set")).body.data.id;
    for (let at = 0; at < tabs; at++) {
      const beside = open[0]?.page;
      const looked = await look(browser(), daemon.port, {
        ...(beside && { beside }),
        opened(page) {
          page.on("request", (request) => {
            const url = request.url();
            // What happened before is read once, and not followed.
            if (url.includes("/v1/events") && !url.includes("since=oldest"))
              streams.push({ page, url, at: performance.now() });
          });
        },
      });
      open.push(looked);
    }
    await allShow("set");
    await rename("Den");
    await allShow("Den");
    expect(streams.length).toBe(1);
  }, 60_000);

  test("the one that leads goes: within a second another goes on, and nothing is lost", async () => {
    const leader = open.findIndex(({ page }) => page === streams[0]?.page);
    const [gone] = open.splice(leader, 1);
    await gone?.page.close();
    const since = performance.now();
    await rename("Attic");
    // Not while all tabs are looked at, which takes its time.
    await untilTrue("another one follows", () => streams.length > 1);
    await allShow("Attic");
    const next = streams[1];
    expect(next?.url).toMatch(/since=[0-9a-f]+\.\d+$/);
    expect((next?.at ?? Number.POSITIVE_INFINITY) - since).toBeLessThan(1_000);
    await rename("Loft");
    await allShow("Loft");
    expect(streams.length).toBe(2);
  }, 60_000);

  test("one that has missed the first part of a snapshot asks the leader for the whole", async () => {
    const leader = open.find(({ page }) => page === streams[1]?.page)?.page;
    await leader?.evaluate(
      () =>
        new Promise<void>((resolve) => {
          const channel = new BroadcastChannel("zapd /v1/events");
          channel.onmessage = ({ data }) => data.say === "hello" && resolve();
          const event = { type: "snapshot", id: "0.0", part: 2, last: true, devices: [] };
          channel.postMessage({ say: "event", event });
        }),
    );
    await allShow("Loft");
  }, 60_000);

  test("the one that leads is frozen: another goes on, and it is live again once it is awake", async () => {
    const leader = open.find(({ page }) => page === streams[1]?.page);
    const session = await leader?.page.createCDPSession();
    await session?.send("Page.setWebLifecycleState", { state: "frozen" });
    await rename("Hall");
    await Promise.all(open.filter((one) => one !== leader).map(({ page }) => shows(page, "Hall")));
    await session?.send("Page.setWebLifecycleState", { state: "active" });
    await allShow("Hall");
    await rename("Loft");
    await allShow("Loft");
    expect(streams.length).toBe(3);
  }, 60_000);

  test("the daemon goes: the last picture stays, and says so; it comes back by itself", async () => {
    await daemon.stop();
    await allShow("zapd does not answer; trying again");
    await allShow("Loft");
    await open[0]?.page.bringToFront();
    expect(await open[0]?.axeEverywhere()).toEqual([]);
    const page = open[0]?.page as Page;
    await pressNamed(page, "Mute Loft");
    await refuses(page, "Start it with: zapd serve");
    await pressNamed(page, "Look again");
    await until(page, "both say so", () => document.querySelectorAll(".refusal").length === 2);
    daemon = await startTestDaemon({ folder: daemon.folder });
    await Promise.all(
      open.map(({ page }) =>
        page.waitForFunction(() => !document.body.innerText.includes("does not answer"), {
          timeout: 20_000,
          polling: 50,
        }),
      ),
    );
    await until(page, "nothing is refused any more", () => document.querySelector(".refusal") === null);
    await rename("Cellar");
    await allShow("Cellar");
  }, 60_000);

  test("the daemon is back: what could not be listed is there, and what waited for its start is said no longer", async () => {
    for (const one of open.splice(0)) await one.close();
    const remote = await look(browser(), daemon.port);
    const settings = await look(browser(), daemon.port, {
      at: "/settings",
      beside: remote.page,
      // In a container each daemon is the same process, and the one that is back may have run for longer.
      opened: (page) =>
        void page.evaluateOnNewDocument(() => {
          const ask = fetch;
          globalThis.fetch = (async (address: string, init: RequestInit) =>
            address.endsWith("/status")
              ? Response.json({ ok: true, data: { pid: 1, uptime_s: performance.now() } })
              : ask(address, init)) as typeof fetch;
        }),
    });
    open.push(remote, settings);
    await settings.page.bringToFront();
    await shows(settings.page, "daemon.log_level");
    await write(settings.page, "daemon.http_host", "localhost");
    await settings.page.keyboard.press("Enter");
    await shows(settings.page, "Takes effect when zapd restarts: daemon.http_host");
    await daemon.stop();
    await allShow("zapd does not answer; trying again");
    for (const name of ["Check", "Reload the file"]) await pressNamed(settings.page, name);
    await write(settings.page, "discovery.interval_s", "90");
    await settings.page.keyboard.press("Enter");
    await until(
      settings.page,
      "each says why",
      () => document.querySelectorAll("section > .refusal, .setting-problem").length === 3,
    );
    const go = (view: string) =>
      remote.page.evaluate((hash) => {
        location.hash = hash;
      }, `#/${view}/${id}`);
    await remote.page.bringToFront();
    await go("dev");
    await shows(remote.page, "resumes once zapd is back");
    await go("remote");
    await refuses(remote.page, "Start it with: zapd serve");
    await pressNamed(remote.page, "Inputs");
    await until(remote.page, "both say so", () => document.querySelectorAll(".remote-list .refusal").length === 2);
    daemon = await startTestDaemon({ folder: daemon.folder });
    await shows(remote.page, "Netflix");
    await shows(remote.page, "HDMI 2");
    expect(await remote.page.evaluate(() => document.body.innerText)).not.toContain("Start it with");
    await settings.page.bringToFront();
    await until(settings.page, "no start is needed", () => !document.body.innerText.includes("Takes effect when"));
    await until(settings.page, "nothing is wrong", () => !document.body.innerText.includes("does not answer"));
  }, 60_000);

  test("all streams are taken: every tab says so and claims nothing of the house; once one is free it is shown", async () => {
    for (const one of open.splice(0)) await one.close();
    // A daemon of its own: a stream of a closed tab may count for a moment.
    await daemon.stop();
    daemon = await startTestDaemon({ folder: daemon.folder });
    const taken: Response[] = [];
    for (let at = 0; at < 64; at++) taken.push(await fetch(`http://127.0.0.1:${daemon.port}/v1/events`));
    expect(new Set(taken.map(({ status }) => status))).toEqual(new Set([200]));
    const first = await look(browser(), daemon.port);
    open.push(first);
    await allShow("64 streams are already open; trying again");
    open.push(await look(browser(), daemon.port, { beside: first.page, at: "/settings" }));
    await allShow("64 streams are already open; trying again");
    for (const { page } of open) {
      const said = await page.evaluate(() => document.body.innerText);
      expect(said).not.toContain("No televisions");
      expect(said).not.toContain("does not answer");
    }
    // A tab behind another one may not be drawn.
    await first.page.bringToFront();
    expect(await first.axeEverywhere()).toEqual([]);
    for (const { body } of taken.splice(0)) await body?.cancel();
    await shows(first.page, "Cellar");
    await shows(open[1]?.page as Page, "daemon.log_level");
    for (const { page } of open)
      await until(page, "it is said no longer", () => document.querySelector(".lost p") === null);
  }, 60_000);
});

describeBrowser("a tab whose daemon ends before it has sent the script", (browser) => {
  test("says so, and how it goes on; once it is reloaded it is the page", async () => {
    await using daemon = await startDaemonThatKnows(1);
    const page = await browser().newPage();
    let isGone = true;
    await page.setRequestInterception(true);
    page.on("request", (request) => {
      if (isGone && request.url().endsWith("app.js")) void request.abort();
      else void request.continue();
    });
    await page.goto(`http://127.0.0.1:${daemon.port}/#/settings`);
    await until(page, "it is seen", () => {
      const said = document.querySelector<HTMLElement>("#app p");
      return said?.innerText.includes("Is zapd running?") === true && getComputedStyle(said).opacity === "1";
    });
    isGone = false;
    await pressNamed(page, "reload the page");
    await shows(page, "TV 0");
    expect(await page.evaluate(() => document.body.innerText)).not.toContain("Is zapd running?");
    // Before its daemon.
    await page.close();
  }, 60_000);
});

describePage("a tab that opens while none leads", (visit) => {
  for (const next of ["another", "it"])
    test(`${next} leads next: it shows the whole house`, async () => {
      await using daemon = await startDaemonThatKnows(2);
      const { page: first } = await visit(daemon.port);
      await shows(first, "TV 1");
      const holder = await first.browserContext().newPage();
      await holder.goto(`${daemon.url}/health`);
      const isHeld = holder.evaluate(
        () =>
          new Promise<void>((resolve) => {
            void navigator.locks.request("zapd /v1/events", () => {
              resolve();
              return new Promise(() => {});
            });
          }),
      );
      await holder.evaluate(() => navigator.locks.query());
      const { page: other } = await visit(daemon.port, { beside: holder });
      await shows(other, "TV 1");
      await first.close();
      await isHeld;
      const { page } = await visit(daemon.port, { beside: holder });
      if (next === "it") await other.close();
      // The last words of one that leads, and goes before it answers.
      const follower = new EventStream({ to: daemon.port });
      const { id: lastId } = await follower.until(({ type }) => type === "snapshot");
      follower.close();
      await holder.evaluate(
        (id) => new BroadcastChannel("zapd /v1/events").postMessage({ say: "at", lastId: id }),
        lastId,
      );
      await holder.close();
      await shows(page, "TV 1");
      // Before its daemon.
      for (const one of [page, other]) if (!one.isClosed()) await one.close();
    }, 60_000);
});

describePage("a daemon of another version that comes back", (visit) => {
  test("is shown by its own page", async () => {
    await using daemon = await startDaemonThatKnows(1);
    const { page } = await visit(daemon.port, {
      opened: (page) =>
        void page.evaluateOnNewDocument(() => {
          const ask = fetch;
          globalThis.fetch = (async (address: string, init: RequestInit) => {
            if (!address.endsWith("/health")) return ask(address, init);
            Object.assign(globalThis, { hasAsked: true });
            return Response.json({ ok: true, data: { version: sessionStorage.getItem("version") ?? "1.0.0" } });
          }) as typeof fetch;
        }),
    });
    await shows(page, "TV 0");
    await until(page, "it knows the version", () => "hasAsked" in globalThis);
    await daemon.stop();
    await shows(page, "zapd does not answer");
    await page.evaluate(() => {
      sessionStorage.setItem("version", "1.0.1");
      Object.assign(globalThis, { isOld: true });
    });
    await using _again = await startTestDaemon({ folder: daemon.folder, speed: 1 });
    await until(page, "it is loaded anew", () => !("isOld" in globalThis));
    await shows(page, "TV 0");
    // Before its daemon.
    await page.close();
  }, 60_000);
});

describePage("a browser's six connections", (visit) => {
  /** The page of eight TVs; what it sends waits for an answer of this test. */
  const visitHeld = async (daemon: TestDaemon) => {
    const { page } = await visit(daemon.port, {
      opened: (page) =>
        void page.evaluateOnNewDocument(() => {
          const ask = fetch;
          const sent: ((answer: unknown) => void)[] = [];
          globalThis.fetch = ((address: string, init: RequestInit) => {
            if (init.method !== "POST") return ask(address, init);
            return new Promise((resolve) => sent.push((answer) => resolve(Response.json(answer))));
          }) as typeof fetch;
          Object.assign(globalThis, { sent });
        }),
    });
    /** How many were sent, once there are as many as there should be. */
    const count = async (least: number) => {
      const isSent = (least?: string) => (globalThis as unknown as { sent: unknown[] }).sent.length >= Number(least);
      await until(page, `${least} are sent`, isSent, String(least));
      await listens(page);
      return page.evaluate(() => (globalThis as unknown as { sent: unknown[] }).sent.length);
    };
    const answer = (at: number, given: unknown = { ok: true, data: {} }) =>
      page.evaluate(
        (at, given) => (globalThis as unknown as { sent: ((_: unknown) => void)[] }).sent[at]?.(given),
        at,
        given,
      );
    return { page, count, answer };
  };

  test("devices that are being turned on take three of them, and the next one is turned on once one of these is, but not after a sleep", async () => {
    await using daemon = await startDaemonThatKnows(8);
    const { page, count, answer } = await visitHeld(daemon);
    for (let n = 0; n < 5; n++) await pressNamed(page, `Turn on TV ${n}`);
    expect(await count(3)).toBe(3);
    await answer(1);
    expect(await count(4)).toBe(4);
    await page.evaluate(() => {
      const now = Date.now() + 61_000;
      Date.now = () => now;
    });
    await answer(0);
    await shows(page, "It was not sent");
    expect(await count(4)).toBe(4);
    // Before its daemon.
    await page.close();
  }, 60_000);

  test("a device takes one of them, however often it is pressed; with a press that it does not answer those behind it end", async () => {
    await using daemon = await startDaemonThatKnows(8);
    const { page, count, answer } = await visitHeld(daemon);
    await pressFirst(page, ".set-name");
    await shows(page, "Keyboard on");
    await listens(page);
    for (let n = 0; n < 5; n++) await page.keyboard.press("ArrowDown");
    expect(await count(1)).toBe(1);
    await answer(0);
    expect(await count(2)).toBe(2);
    await answer(1, { ok: false, error: { code: "device_timeout", message: "It did not answer" } });
    await shows(page, "It did not answer");
    expect(await count(2)).toBe(2);
    await page.keyboard.press("ArrowDown");
    expect(await count(3)).toBe(3);
    await page.close();
  }, 60_000);
});

describePage("what a browser refuses, or does not have yet", (visit) => {
  for (const [what, change] of Object.entries({
    "the lock, where cookies are blocked": () => {
      navigator.locks.request = () => Promise.reject(new DOMException("The request was denied.", "SecurityError"));
    },
    "the channel, where cookies are blocked in Firefox": () => {
      globalThis.BroadcastChannel = class {
        constructor() {
          throw new DOMException("The operation is insecure.", "SecurityError");
        }
      } as unknown as typeof BroadcastChannel;
    },
    "what Safari 17.0 and Firefox 115 lack": () => {
      Object.assign(AbortSignal, { any: undefined });
      Object.assign(Object, { groupBy: undefined });
    },
  }))
    test(`${what}: the house is shown, and so are the settings`, async () => {
      await using daemon = await startDaemonThatKnows(1);
      const { page } = await visit(daemon.port, { opened: (page) => void page.evaluateOnNewDocument(change) });
      await pressNamed(page, "More for TV 0");
      await pressNamed(page, "Settings");
      await shows(page, "discovery.on_start");
      // Before its daemon.
      await page.close();
    }, 60_000);

  test("with cookies blocked a tab has a stream of its own while it is shown, and misses nothing", async () => {
    await using daemon = await startDaemonThatKnows(1);
    const streams: string[] = [];
    let ended = 0;
    const { page } = await visit(daemon.port, {
      opened(page) {
        const follows = (url: string) => url.includes("/v1/events") && !url.includes("since=oldest");
        page.on("request", (request) => void (follows(request.url()) && streams.push(request.url())));
        page.on("requestfailed", (request) => void (follows(request.url()) && ended++));
        void page.evaluateOnNewDocument(() => {
          navigator.locks.request = () => Promise.reject(new DOMException("The request was denied.", "SecurityError"));
        });
      },
    });
    await shows(page, "TV 0");
    const turn = (hidden: boolean) =>
      page.evaluate((isHidden) => {
        Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
    await turn(true);
    await untilTrue("its stream has ended", () => ended === 1);
    const [one] = (await daemon.api("GET", "/devices")).body.data;
    await daemon.api("PATCH", `/devices/${one.id}`, { name: "Attic" });
    await turn(false);
    await shows(page, "Attic");
    expect(streams).toEqual([expect.any(String), expect.stringMatching(/since=[0-9a-f]+\.\d+$/)]);
    await page.close();
  }, 60_000);
});
