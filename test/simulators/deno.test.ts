import { expect, test } from "bun:test";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

const deno = resolve("node_modules/.bin/deno");
const script = join(import.meta.dir, "deno.ts");
const why = existsSync(deno) ? null : `${deno} is not installed`;
if (why !== null) process.stderr.write(`skipped: the simulators under Deno: ${why}\n`);

test.skipIf(why !== null)(
  "the simulators run under Deno too, and let the process end",
  async () => {
    const said = await new Promise<string>((done) => {
      execFile(deno, ["run", "-A", "--unstable-net", script], { timeout: 60_000 }, (error, out, err) =>
        done(error === null ? out : `${out}${err}`),
      );
    });
    expect(said).toBe("all of it\n");
  },
  60_000,
);
