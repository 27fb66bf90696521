/** The page as it is built: fresh, small, and the same each time. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "../support/sources.ts";

const made = join(root, "src/web/assets.ts");

test("what the daemon serves is made of the sources as they are (else: npm run web)", async () => {
  const check = Bun.spawn([process.execPath, ".ci/web.ts", "--check"], { cwd: root, stderr: "pipe" });
  expect({ status: await check.exited, said: await new Response(check.stderr).text() }).toEqual({
    status: 0,
    said: "",
  });
});

test("it weighs at most 60 kB as it is sent, icons and all", async () => {
  expect(existsSync(made)).toBe(true);
  const { assets } = (await import(made)) as { assets: Record<string, { gzip: string }> };
  const weights = Object.values(assets).map(({ gzip }) => Buffer.from(gzip, "base64").length);
  expect(weights.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(60_000);
});
