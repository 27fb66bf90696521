import { expect, test } from "bun:test";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

const deno = resolve("node_modules/.bin/deno");
const script = join(import.meta.dir, "kodi-deno.ts");
if (!existsSync(deno)) process.stderr.write(`skipped: the simulated Kodi under Deno: ${deno} is not installed\n`);

test.skipIf(!existsSync(deno))("the simulated Kodi runs under Deno too, and lets the process end", async () => {
  const said = await new Promise<string>((done) => {
    execFile(deno, ["run", "-A", "--unstable-net", script], { timeout: 15_000 }, (error, out, err) =>
      done(error === null ? out : `${out}${err}`),
    );
  });
  expect(said).toBe("all of it\n");
});
