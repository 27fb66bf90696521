/** The documentation at `/docs`, in a real browser: offline, under its policy, and what it tries out reaches the set. */
import { expect, test } from "bun:test";
import type { Page } from "puppeteer-core";
import { pressFirst, pressNamed, shows, still, until } from "../../support/browser.ts";
import { demoFor, describePage } from "./stage.ts";

describePage("the documentation", (visit) => {
  const demo = demoFor({ loggedIn: false });

  test("shows every operation, asks nobody else, and presses a key when it is told to", async () => {
    const { page } = await visit(demo.port(), { path: "docs" });
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
    await demo.says(/Living Room\s+key home/);
    expect([...asked].filter((origin) => origin !== "null")).toEqual([`http://127.0.0.1:${demo.port()}`]);
  }, 120_000);

  /** Opens an operation, and executes it as it stands there. */
  async function execute(page: Page, operation: string): Promise<void> {
    await pressFirst(page, `[id$="-${operation}"] .opblock-summary-control`);
    await pressFirst(page, `[id$="-${operation}"] .execute`);
  }

  test("what comes of a stream is shown, though it does not end", async () => {
    const { page } = await visit(demo.port(), { path: "docs" });
    await shows(page, "Press a key, or type text");
    await execute(page, "events");
    await until(page, "the snapshot is shown", () =>
      Boolean(document.querySelector(".live-responses-table")?.textContent?.includes("event: snapshot")),
    );
  }, 120_000);

  test("a required value that it shows is sent, and none that nobody has entered", async () => {
    const { page } = await visit(demo.port(), { path: "docs" });
    await shows(page, "Press a key, or type text");
    const sent: string[] = [];
    await page.setRequestInterception(true);
    page.on("request", (request) => {
      if (!request.url().includes("/v1/")) return request.continue();
      sent.push(`${request.method()} ${new URL(request.url()).search}`);
      return request.respond({ status: 200, contentType: "application/json", body: "{}" });
    });
    await execute(page, "removeUnusedDevices");
    await until(page, "it is answered", () => document.querySelector(".live-responses-table") !== null);
    expect(sent).toEqual(["DELETE ?unused=true"]);
    await pressFirst(page, '[id$="-installPackage"] .opblock-summary-control');
    await still(page, '[id$="-installPackage"] [type=password]');
    const entered = await page.$eval(
      '[id$="-installPackage"] [type=password]',
      (field) => (field as HTMLInputElement).value,
    );
    expect(entered).toBe("");
  }, 120_000);

  test("an open operation fits a narrow window", async () => {
    const { page } = await visit(demo.port(), { path: "docs", width: 320 });
    await shows(page, "Press a key, or type text");
    for (const operation of ["pressKey", "installPackage"]) {
      await pressFirst(page, `[id$="-${operation}"] .opblock-summary-control`);
      await still(page, `[id$="-${operation}"] .execute`);
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  }, 120_000);

  test("an open operation can be read", async () => {
    const { page, axe } = await visit(demo.port(), { path: "docs" });
    await shows(page, "Press a key, or type text");
    await pressFirst(page, '[id$="-pressKey"] .opblock-summary-control');
    await still(page, '[id$="-pressKey"] .execute');
    expect((await axe()).filter((finding) => finding.startsWith("color-contrast"))).toEqual([]);
  }, 120_000);

  test("takes the colours of the system, and of a change while it is open", async () => {
    const { page } = await visit(demo.port(), { path: "docs", scheme: "dark" });
    await shows(page, "Press a key, or type text");
    const grounds = () =>
      [document.body, document.documentElement].map((one) => getComputedStyle(one).backgroundColor).join(" ");
    expect(await page.evaluate(grounds)).toBe("rgb(28, 32, 34) rgb(28, 32, 34)");
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
    await until(page, "it is light", () => getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)");
  }, 120_000);
});
