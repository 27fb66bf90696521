/** The documentation at `/docs`, in a real browser: offline, under its policy, and what it tries out reaches the set. */
import { expect, test } from "bun:test";
import { pressNamed, shows, until } from "../../support/browser.ts";
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
