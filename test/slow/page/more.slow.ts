/** The activity and the settings in a real browser, against the demo's sets. */
import { expect, test } from "bun:test";
import type { ElementHandle, Page } from "puppeteer-core";
import { pressNamed, shows, until, write } from "../../support/browser.ts";
import { demoFor, describePage } from "./stage.ts";

describePage("activity and settings", (visit) => {
  const demo = demoFor();
  const { api } = demo;
  /** The field of a setting, by its key. */
  const fieldOf = async (page: Page, key: string) => {
    const find = (wanted: string) =>
      [...document.querySelectorAll("label")].find((one) => one.textContent === wanted)?.control ?? false;
    return (await page.waitForFunction(find, {}, key)).asElement() as ElementHandle<HTMLInputElement>;
  };
  /** Types the value of a setting, and saves it. */
  const set = async (page: Page, key: string, value: string) => {
    await write(page, key, value);
    await page.keyboard.press("Enter");
  };
  const saved = (page: Page, key: string, value: string) =>
    until(
      page,
      `${key} is ${value}`,
      (wanted, be) => {
        const label = [...document.querySelectorAll("label")].find((one) => one.textContent === wanted);
        const input = label?.control as HTMLInputElement | null | undefined;
        return (input?.type === "checkbox" ? String(input.checked) : input?.value) === be;
      },
      key,
      value,
    );

  test("what happens is told in words, the newest first; what failed alone, with why", async () => {
    await api("POST", "/devices/Living%20Room/remote/key", { key: "home" });
    const { page } = await visit(demo.port(), { at: "/activity" });
    await shows(page, "Living Room pressed home");
    await api("POST", "/devices/Cinema/volume", { level: 31 });
    await shows(page, "Cinema volume 31");
    const told = await page.evaluate(() => document.body.innerText);
    expect(told.indexOf("Cinema volume 31")).toBeLessThan(told.indexOf("Living Room pressed home"));
    await api("POST", "/devices/Bedroom/remote/key", { key: "home" });
    await pressNamed(page, "Failures");
    await until(page, "failures alone", () =>
      [...document.querySelectorAll(".activity-line")].every((one) => one.classList.contains("is-failure")),
    );
    await shows(page, "Network access: Enabled");
    // The name is hit with a finger, too.
    expect(await page.$eval(".activity-line a", (own) => getComputedStyle(own, "::after").height)).toBe("44px");
  }, 60_000);

  test("what a device did that is removed now is told with its name", async () => {
    await api("POST", "/devices/Terrace/volume", { level: 21 });
    const { page } = await visit(demo.port(), { at: "/activity" });
    await shows(page, "Terrace set the volume");
    await api("DELETE", "/devices/Terrace");
    await shows(page, "Terrace removed");
    expect(await page.evaluate(() => document.body.innerText)).not.toContain("a removed device");
  }, 60_000);

  test("a setting is changed in place; what is wrong is said beside it; what waits for a start is said", async () => {
    const { page } = await visit(demo.port(), { at: "/settings" });
    await write(page, "discovery.interval_s", "90000");
    await pressNamed(page, "Save");
    await shows(page, "must be a whole number from 0 to 86400");
    await (await fieldOf(page, "discovery.interval_s")).press("Escape");
    await until(page, "nothing is wrong with what it was", () => document.querySelector(".setting-problem") === null);
    await set(page, "discovery.interval_s", "120");
    await shows(page, "discovery.interval_s was changed");
    expect((await api("GET", "/config")).discovery).toMatchObject({ interval_s: 120 });
    // Written otherwise, it is the same, and saved.
    await set(page, "discovery.interval_s", "0120");
    await saved(page, "discovery.interval_s", "120");
    await pressNamed(page, "Reset discovery.interval_s to its default");
    await saved(page, "discovery.interval_s", "300");
    await (await fieldOf(page, "daemon.cors_enabled")).click();
    await saved(page, "daemon.cors_enabled", "true");
    await (await fieldOf(page, "daemon.log_level")).select("debug");
    await shows(page, "daemon.log_level was changed");
    await set(page, "daemon.http_port", "7373");
    await shows(page, "Takes effect when zapd restarts: daemon.http_port");
    await page.evaluate(() => {
      location.hash = "#/activity";
    });
    await page.waitForSelector(".activity-line");
    await page.goBack();
    await shows(page, "Takes effect when zapd restarts: daemon.http_port");
    // Changed elsewhere, it is so here too.
    await api("PATCH", "/config", { "discovery.timeout_ms": 4_000, "daemon.http_port": null });
    await saved(page, "discovery.timeout_ms", "4000");
    // A secret is never shown, not even to who has typed it.
    await set(page, "dev.vendor_password", "rokudev");
    await shows(page, "dev.vendor_password was changed");
    expect(await page.content()).not.toContain("rokudev");
  }, 60_000);

  test("what has the focus keeps it, when something happens and when a switch is saved", async () => {
    const { page } = await visit(demo.port(), { at: "/activity" });
    await page.waitForSelector(".activity-line a");
    await page.focus(".activity-line a");
    await api("POST", "/devices/Cinema/volume", { level: 44 });
    await shows(page, "Cinema volume 44");
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("A");
    const settings = await visit(demo.port(), { at: "/settings" });
    const cors = await fieldOf(settings.page, "daemon.cors_enabled");
    const before = await cors.evaluate(({ checked }) => checked);
    await cors.focus();
    await settings.page.keyboard.press("Space");
    await saved(settings.page, "daemon.cors_enabled", String(!before));
    expect(await cors.evaluate((own) => document.activeElement === own)).toBe(true);
    // A button that goes once it was pressed leaves it to its field.
    const isInField = (value?: string) => (document.activeElement as HTMLInputElement).value === value;
    await write(settings.page, "discovery.interval_s", "121");
    await settings.page.keyboard.press("Tab");
    await settings.page.keyboard.press("Enter");
    await shows(settings.page, "discovery.interval_s was changed");
    await settings.page.waitForSelector("[aria-label^='Reset discovery.interval_s']");
    await until(settings.page, "its field has the focus", isInField, "121");
    await settings.page.keyboard.press("Tab");
    await settings.page.keyboard.press("Enter");
    await until(settings.page, "its field has the focus", isInField, "300");
  }, 60_000);

  test("what the doctor finds is shown, the worst first", async () => {
    const { page } = await visit(demo.port(), { at: "/settings" });
    await pressNamed(page, "Check");
    await shows(page, "Bedroom: keys refused (Limited)");
    const first = await page.evaluate(() => document.querySelector(".doctor li")?.className);
    expect(first).toBe("is-fail");
  }, 60_000);

  test("who has set the browser's text to twice its size gets it, and nothing sticks out", async () => {
    for (const [at, shown] of [
      ["", ".set"],
      [`/remote/${demo.idOf("Cinema")}`, ".remote-apps .app"],
      [`/dev/${demo.idOf("Workbench")}`, ".dev-body"],
      ["/activity", ".activity-line"],
      ["/settings", ".setting"],
    ] as const) {
      const { page } = await visit(demo.port(), {
        at,
        width: 640,
        async opened(page) {
          const session = await page.createCDPSession();
          await session.send("Page.setFontSizes", { fontSizes: { standard: 32 } });
        },
      });
      await page.waitForSelector(shown);
      const sizes = () => [getComputedStyle(document.body).fontSize, document.documentElement.scrollWidth];
      expect(await page.evaluate(sizes)).toEqual(["30px", 640]);
      await page.close();
    }
  }, 60_000);

  test.each(["/activity", "/settings"])(
    "axe finds nothing at %s: light and dark, 320 to 1280 px",
    async (at) => {
      const { page, axeEverywhere } = await visit(demo.port(), { at });
      await shows(page, at === "/activity" ? "Living Room" : "discovery.interval_s");
      expect(await axeEverywhere()).toEqual([]);
    },
    60_000,
  );
});
