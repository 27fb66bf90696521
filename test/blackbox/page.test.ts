/** The page and the documentation, as a daemon of any kind serves them: from the source under Bun and Deno, and from the binary. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { root } from "../support/sources.ts";

const isMade = existsSync(join(root, "src/web/assets.ts"));
let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.dispose());

const ask = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${daemon.port}${path}`, init);

test.skipIf(!isMade)("each file that the page asks for is there, zipped and plain, and not sent twice", async () => {
  const documents = await Promise.all(["/", "/docs"].map(async (path) => (await ask(path)).text()));
  const asked = documents.flatMap((text) => [...text.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, to = ""]) => to));
  expect(asked.length).toBeGreaterThan(6);
  for (const to of new Set(asked)) {
    const plain = await ask(`/${to}`, { headers: { "accept-encoding": "identity" } });
    expect([to, plain.status]).toEqual([to, 200]);
    const text = await plain.text();
    const zipped = await ask(`/${to}`, { headers: { "accept-encoding": "gzip" } });
    expect(await zipped.text()).toBe(text);
    const etag = zipped.headers.get("etag");
    if (etag === null) continue;
    const again = await ask(`/${to}`, { headers: { "accept-encoding": "gzip", "if-none-match": etag } });
    expect([to, again.status, await again.text()]).toEqual([to, 304, ""]);
  }
});

test.skipIf(!isMade)(
  "a page of its own origin may write, one of another may not, and the page can be turned off while it runs",
  async () => {
    const origin = `http://127.0.0.1:${daemon.port}`;
    const headers = { "content-type": "application/json", "zapd-client": "page" };
    const patch = (from: string, page: boolean) =>
      ask("/v1/config", {
        method: "PATCH",
        headers: { ...headers, origin: from },
        body: JSON.stringify({ "daemon.page": page }),
      });
    expect((await patch("http://evil.test", false)).status).toBe(403);
    expect((await ask("/")).status).toBe(200);
    expect((await patch(origin, false)).status).toBe(200);
    for (const path of ["/", "/app.js", "/docs"]) expect([path, (await ask(path)).status]).toEqual([path, 404]);
    expect((await patch(origin, true)).status).toBe(200);
    expect((await ask("/")).status).toBe(200);
  },
);
