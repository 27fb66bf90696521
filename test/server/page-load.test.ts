/** The modules of the page are loaded at the first request for one. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { startDaemonWithRoku } from "../support/daemon-with-roku.ts";
import { root } from "../support/sources.ts";

const isMade = existsSync(join(root, "src/web/assets.ts"));

test.skipIf(!isMade)(
  "the page is loaded at the first request for it, the documentation at the first request for that",
  async () => {
    const told = join(root, "test/support/told-assets.ts");
    const room = await startDaemonWithRoku({ fromSource: true, env: { BUN_OPTIONS: `--preload=${told}` } });
    const { daemon } = room;
    const read = () => [...daemon.log().matchAll(/^read: (.+)$/gm)].map(([, file]) => file);
    const get = async (path: string) => (await fetch(`http://127.0.0.1:${daemon.port}${path}`)).status;
    try {
      for (const path of ["/devices", "/devices/set/state", "/config", "/health"])
        expect([path, (await daemon.api("GET", path)).status]).toEqual([path, 200]);
      expect((await daemon.api("POST", "/devices/set/remote/key", { key: "home" })).status).toBe(200);
      expect([await get("/openapi.json"), await get("/nothing")]).toEqual([200, 404]);
      expect(read()).toEqual([]);
      for (const path of ["/app.js", "/", "/app.css"]) expect(await get(path)).toBe(200);
      expect(read()).toEqual(["assets.ts"]);
      for (const path of ["/docs", "/docs/docs.js"]) expect(await get(path)).toBe(200);
      expect(read()).toEqual(["assets.ts", "docs-assets.ts"]);
    } finally {
      await room.dispose();
    }
  },
);
