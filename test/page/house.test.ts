/** The house view in a real browser, against the demo's sets. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "puppeteer-core";
import { look, noBrowser, pressNamed, shows, startBrowser } from "../support/browser.ts";
import { type Demo, startDemo } from "../support/demo.ts";

describe.skipIf(noBrowser !== null)(`the house${noBrowser === null ? "" : ` (skipped: ${noBrowser})`}`, () => {
  let browser: Browser;
  let demo: Demo;
  beforeAll(async () => {
    [browser, demo] = await Promise.all([startBrowser(), startDemo()]);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await demo?.stop();
  });

  test("shows every set, live, and a refusal in the daemon's words", async () => {
    const { page, problems, close } = await look(browser, demo.port);
    for (const name of ["Living Room", "Bedroom", "Workbench", "Cinema", "Kitchen"]) await shows(page, name);
    await pressNamed(page, "Turn off Living Room");
    await shows(page, "standby");
    expect(demo.printed()).toContain("Living Room");
    expect(await problems()).toEqual([]);
    await close();
  }, 60_000);

  for (const scheme of ["light", "dark"] as const)
    for (const width of [320, 768, 1280])
      test(`axe finds nothing, ${scheme}, ${width} px`, async () => {
        const { page, axe, problems, close } = await look(browser, demo.port, { width, scheme });
        await shows(page, "Kitchen");
        expect(await axe()).toEqual([]);
        expect(await problems()).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
        await close();
      }, 60_000);
});
