/** A key that is held on the page: it goes on, and stops with its release, with the window, with the tab, and with the daemon. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { HTTPRequest } from "puppeteer-core";
import { type Looked, look, shows, still, until } from "../../support/browser.ts";
import { startTestDaemon } from "../../support/daemon.ts";
import { type DaemonWithRoku, startDaemonWithRoku } from "../../support/daemon-with-roku.ts";
import { until as eventually } from "../../support/http-device.ts";
import { describeBrowser } from "./stage.ts";

describeBrowser("a held key", (browser) => {
  let room: DaemonWithRoku;
  let looked: Looked;

  /** Holds `down` by the mouse on the remote of the set, until it has been pressed some times. */
  beforeEach(async () => {
    // Time is measured here.
    room = await startDaemonWithRoku({ speed: 1 });
    const { id } = (await room.daemon.api("GET", "/devices/set")).body.data;
    looked = await look(browser(), room.daemon.port, { at: `/remote/${id}` });
    await mouseDown();
    await pressed(4);
  }, 60_000);
  afterEach(async () => {
    await looked?.close();
    await room?.dispose();
  });

  /** The button is found each time: it may have moved since the last press. */
  const mouseDown = async () => {
    await (await still(looked.page, '[aria-label="Down"]')).hover();
    await looked.page.mouse.down();
  };
  const pressed = (count: number) => eventually(`${count} presses`, () => room.countOf("key") >= count);
  /** From `afterMs` on no press comes any more, for as long as several repeats take: those on their way may come still, and 2 s without a renewal would end it, too. */
  const stopped = async (afterMs = 1_000) => {
    await Bun.sleep(afterMs);
    const then = room.countOf("key");
    await Bun.sleep(700);
    expect(room.countOf("key")).toBe(then);
  };

  test("it is released", async () => {
    await looked.page.mouse.up();
    await stopped();
    expect(await looked.problems()).toEqual([]);
  }, 60_000);

  test("it is released when what is known of the set has changed meanwhile", async () => {
    await room.daemon.api("PATCH", "/devices/set", { name: "Lounge" });
    await shows(looked.page, "Lounge");
    await looked.page.mouse.up();
    await stopped();
    expect(await looked.problems()).toEqual([]);
  }, 60_000);

  test("the window is left, by the keyboard as by the mouse", async () => {
    const leave = () => looked.page.evaluate(() => void dispatchEvent(new Event("blur")));
    await leave();
    await stopped();
    await looked.page.mouse.up();
    await looked.page.keyboard.down("ArrowDown");
    await pressed(room.countOf("key") + 4);
    await leave();
    await stopped();
    await looked.page.keyboard.up("ArrowDown");
    expect(await looked.problems()).toEqual([]);
  }, 60_000);

  test("the machine has slept: it is not held on", async () => {
    await looked.page.evaluate(() => {
      const { now } = Date;
      Date.now = () => now() + 15_000;
    });
    // As the daemon did not sleep, it waits for the renewal that does not come.
    await stopped(3_000);
    await looked.page.mouse.up();
    expect(await looked.problems()).toEqual([]);
  }, 60_000);

  test("the machine has slept during the first press: the hold does not begin", async () => {
    const { page } = looked;
    await page.mouse.up();
    await stopped();
    const held: HTTPRequest[] = [];
    await page.setRequestInterception(true);
    page.on("request", (request) => {
      // Not what ends the hold before.
      const isPress = request.url().endsWith("/remote/key") && !request.postData()?.includes('"phase"');
      if (held.length === 0 && isPress) held.push(request);
      else void request.continue();
    });
    await mouseDown();
    await eventually("it is pressed", () => held.length === 1);
    // Past the time after which a press is a hold.
    await Bun.sleep(800);
    await page.evaluate(() => {
      const { now } = Date;
      Date.now = () => now() + 15_000;
    });
    const then = room.countOf("key");
    await held[0]?.continue();
    await pressed(then + 1);
    await stopped();
    expect(room.countOf("key")).toBe(then + 1);
    await page.mouse.up();
  }, 60_000);

  test("the tab is closed", async () => {
    await looked.close();
    await stopped();
  }, 60_000);

  test("the daemon is killed by -9: it stops, and the daemon that comes back is not told to go on", async () => {
    await room.daemon.stop("SIGKILL");
    await until(looked.page, "it says so", () => document.body.innerText.includes("zapd does not answer"));
    // With those that were on their way to the set.
    const then = room.countOf("key");
    await using _again = await startTestDaemon({ folder: room.daemon.folder, speed: 1 });
    await until(looked.page, "it is live", () => !document.body.innerText.includes("zapd does not answer"));
    await Bun.sleep(1_500);
    expect(room.countOf("key")).toBe(then);
    await looked.page.mouse.up();
  }, 60_000);

  test.each<[string, (room: DaemonWithRoku) => Promise<unknown>, (room: DaemonWithRoku) => Promise<unknown>]>([
    ["the set is unplugged", ({ set }) => set.stop(), ({ set }) => set.start()],
    ["the set's cable is pulled", ({ set }) => set.fault("hang"), ({ set }) => set.fault(null)],
  ])(
    "%s: it stops, and the set that comes back scrolls on no more",
    async (_what, unplug, plugIn) => {
      await unplug(room);
      await stopped(2_000);
      expect(await looked.page.evaluate(() => document.body.innerText)).not.toContain("An error in the page");
      await Bun.sleep(1_800);
      await plugIn(room);
      const then = room.countOf("key");
      // As long as the mouse is down.
      await Bun.sleep(2_500);
      expect(room.countOf("key")).toBe(then);
      await looked.page.mouse.up();
    },
    60_000,
  );
});
