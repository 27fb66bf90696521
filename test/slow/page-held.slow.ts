/** A key that is held on the page while the set is unplugged: it stops, and does not go on by itself when the set comes back. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Browser } from "puppeteer-core";
import { type Looked, look, noBrowser, startBrowser } from "../support/browser.ts";
import { furnish, type Room } from "../support/room.ts";

describe.skipIf(noBrowser !== null)(`a held key${noBrowser === null ? "" : ` (skipped: ${noBrowser})`}`, () => {
  let browser: Browser;
  let room: Room;
  let looked: Looked;
  beforeAll(async () => {
    browser = await startBrowser();
  }, 60_000);
  afterAll(() => browser?.close());

  /** Holds `down` by the mouse on the remote of the set, until it has been pressed some times. */
  beforeEach(async () => {
    // Time is measured here.
    room = await furnish({ speed: 1 });
    const { id } = (await room.daemon.api("GET", "/devices/set")).body.data;
    looked = await look(browser, room.daemon.port, { at: `/remote/${id}` });
    const key = await looked.page.waitForSelector('[aria-label="Down"]');
    await key?.hover();
    await looked.page.mouse.down();
    await pressed(4);
  }, 60_000);
  afterEach(async () => {
    await looked?.close();
    await room?.dispose();
  });

  const pressed = async (count: number) => {
    for (const end = performance.now() + 10_000; room.done("key") < count && performance.now() < end; )
      await Bun.sleep(10);
    expect(room.done("key")).toBeGreaterThanOrEqual(count);
  };
  /** From 2 s on no press comes any more, for as long as several repeats take. */
  const stopped = async () => {
    await Bun.sleep(2_000);
    const then = room.done("key");
    await Bun.sleep(700);
    expect(room.done("key")).toBe(then);
  };

  test.each<[string, (room: Room) => Promise<unknown>, (room: Room) => Promise<unknown>]>([
    ["the set is unplugged", ({ set }) => set.stop(), ({ set }) => set.start()],
    ["the set's cable is pulled", ({ set }) => set.fault("hang"), ({ set }) => set.fault(null)],
  ])(
    "%s: it stops, and the set that comes back scrolls on no more",
    async (_what, unplug, plugIn) => {
      await unplug(room);
      await stopped();
      await Bun.sleep(1_800);
      await plugIn(room);
      const then = room.done("key");
      // As long as the mouse is down.
      await Bun.sleep(2_500);
      expect(room.done("key")).toBe(then);
      await looked.page.mouse.up();
    },
    60_000,
  );
});
