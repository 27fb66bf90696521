/** The documentation at `/docs`, in a real browser: offline, under its policy, and what it tries out reaches the set. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "puppeteer-core";
import { look, noBrowser, pressNamed, shows, startBrowser, until } from "../../support/browser.ts";
import { type Demo, startDemo } from "../../support/demo.ts";

describe.skipIf(noBrowser !== null)(`the documentation${noBrowser === null ? "" : ` (skipped: ${noBrowser})`}`, () => {
  let browser: Browser;
  let demo: Demo;
  beforeAll(async () => {
    [browser, demo] = await Promise.all([startBrowser(), startDemo()]);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await demo?.stop();
  });

  test("shows every operation, asks nobody else, and presses a key when it is told to", async () => {
    await using looked = await look(browser, demo.port, { path: "docs" });
    const { page, problems } = looked;
    const asked = new Set<string>();
    page.on("request", (request) => asked.add(new URL(request.url()).origin));
    await page.reload();
    await shows(page, "Press a key, or type text");
    await page.evaluate(() => {
      const all = [...document.querySelectorAll<HTMLElement>(".opblock-summary-control")];
      all.find((one) => one.textContent?.includes("/devices/{id}/remote/key"))?.click();
    });
    await until(page, "the example's name stands in its field", () =>
      [...document.querySelectorAll<HTMLInputElement>(".opblock.is-open input")].some(
        ({ value }) => value === "Living Room",
      ),
    );
    await pressNamed(page, "Execute");
    await shows(page, "Server response");
    for (const end = Date.now() + 10_000; !/Living Room\s+key home/.test(demo.printed()) && Date.now() < end; )
      await Bun.sleep(50);
    expect(demo.printed()).toMatch(/Living Room\s+key home/);
    expect([...asked].filter((origin) => origin !== "null")).toEqual([`http://127.0.0.1:${demo.port}`]);
    expect(await problems()).toEqual([]);
  }, 60_000);
});
