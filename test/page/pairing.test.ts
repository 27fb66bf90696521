/** The pairing dialog in a real browser: a prompt on the screen, a login, a code; right, wrong, given up, and in two tabs at once. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Page } from "puppeteer-core";
import { look, noBrowser, pressNamed, shows, startBrowser, until, write } from "../support/browser.ts";
import { type Demo, startDemo } from "../support/demo.ts";

describe.skipIf(noBrowser !== null)(`pairing${noBrowser === null ? "" : ` (skipped: ${noBrowser})`}`, () => {
  let browser: Browser;
  let demo: Demo;
  const ids = new Map<string, string>();
  beforeAll(async () => {
    [browser, demo] = await Promise.all([startBrowser(), startDemo()]);
    const answer = await (await fetch(`http://127.0.0.1:${demo.port}/v1/devices`)).json();
    for (const { id, name } of (answer as { data: { id: string; name: string }[] }).data) ids.set(name, id);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await demo?.stop();
  });

  const at = (name: string) => `/remote/${ids.get(name) ?? name}`;
  const isClosed = (page: Page) => until(page, "the dialog is closed", () => document.querySelector("dialog") === null);

  test("a login: the wrong one is said, and the right one typed behind it", async () => {
    const { page, axeEverywhere, problems, close } = await look(browser, demo.port, { at: at("Cinema") });
    await pressNamed(page, "Pair Cinema");
    await shows(page, "The login that is set on Cinema");
    expect(await axeEverywhere()).toEqual([]);
    await write(page, "User name", "kodi");
    await write(page, "Password", "popcron");
    await page.keyboard.press("Enter");
    await shows(page, "It was not that one");
    await write(page, "Password", "popcorn");
    await page.keyboard.press("Enter");
    await shows(page, "Cinema is paired");
    await isClosed(page);
    await shows(page, "Jellyfin");
    expect(await page.content()).not.toContain("popcorn");
    expect(await problems()).toEqual([]);
    await close();
  }, 60_000);

  test("a prompt: given up it is taken from the screen; in two tabs at once it is one; accepted, both are in", async () => {
    const first = await look(browser, demo.port, { at: at("Kitchen") });
    await pressNamed(first.page, "Pair Kitchen");
    await shows(first.page, "Look at the screen of Kitchen");
    await shows(first.page, "left");
    await pressNamed(first.page, "Give up");
    await isClosed(first.page);
    await shows(first.page, "Kitchen wants to be asked first");
    const second = await look(browser, demo.port, { at: at("Kitchen"), beside: first.page });
    for (const { page } of [first, second]) {
      await page.bringToFront();
      await pressNamed(page, "Pair Kitchen");
    }
    for (const { page, problems } of [first, second]) {
      await isClosed(page);
      await shows(page, "Live TV");
      expect(await problems()).toEqual([]);
    }
    await second.close();
    await first.close();
  }, 60_000);
});
