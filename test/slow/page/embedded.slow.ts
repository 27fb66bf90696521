/** The page of a zapd that is mounted below a path of another server, in a real browser. */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRokuSimulator } from "../../../src/simulators/roku.ts";
import { createZapd } from "../../../src/zapd.ts";
import { look, noBrowser, pressNamed, shows, startBrowser, until, write } from "../../support/browser.ts";
import { until as eventually } from "../../support/http-device.ts";

test.skipIf(noBrowser !== null)(
  "below a path, the page is live, and what it presses reaches the set",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "zapd-page-below-"));
    writeFileSync(
      join(folder, "config.toml"),
      '[discovery]\non_start = false\ninterval_s = 0\ninterfaces = ["none"]\n',
      { mode: 0o600 },
    );
    const set = createRokuSimulator({ name: "Embedded", host: "127.0.0.62", ssdp: false, legacy: true });
    await set.start();
    const zapd = await createZapd({
      config: join(folder, "config.toml"),
      state: join(folder, "state"),
      prefix: "/a/tv",
    });
    const ours = () => new Response("ours");
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 30,
      routes: { "/": ours },
      fetch: (request) => zapd.fetch(request),
    });
    const browser = await startBrowser();
    try {
      // Without its slash the path leads there.
      await using looked = await look(browser, server.port ?? 0, { path: "a/tv" });
      const { page, problems, axeEverywhere } = looked;
      await shows(page, "No televisions yet");
      expect(await axeEverywhere()).toEqual([]);
      await write(page, "Address", `${set.host}:${set.port}`);
      await page.keyboard.press("Enter");
      await shows(page, "Embedded was added");
      // The form that had it is gone.
      await until(page, "the title has the focus", () => document.activeElement?.textContent === "House");
      await pressNamed(page, "Mute Embedded");
      await eventually("it is pressed", () => set.keys.length > 0);
      // It does not report whether it is muted, so that the button goes on to toggle.
      await pressNamed(page, "Mute Embedded");
      await eventually("it is pressed again", () => set.keys.length > 1);
      expect(set.keys).toEqual(["VolumeMute", "VolumeMute"]);
      // The house is empty again; while an address is typed, somebody else adds the set.
      const ask = (method: string, path: string, body?: object) =>
        fetch(`http://127.0.0.1:${server.port}/a/tv/v1${path}`, {
          method,
          ...(body && { body: JSON.stringify(body) }),
        });
      await ask("DELETE", "/devices/Embedded");
      await shows(page, "No televisions yet");
      await write(page, "Address", "127.");
      await ask("POST", "/devices", { host: set.host, port: set.port });
      await until(page, "the title has the focus", () => document.activeElement?.textContent === "House");
      expect(await problems()).toEqual([]);
    } finally {
      await browser.close();
      await zapd.stop();
      await server.stop(true);
      await set.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
  60_000,
);
