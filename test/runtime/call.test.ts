/** Calls over the control socket: each has its answer, however many there are. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { denoFlags } from "../support/daemon.ts";
import { testFolder } from "../support/folder.ts";
import { root } from "../support/sources.ts";

test.each([
  ["bun", [process.execPath]],
  ["deno", [join(root, "node_modules/.bin/deno"), "run", ...denoFlags("start")]],
] as const)("300 calls under %s, two at once, are all answered", async (_runtime, [program, ...words]) => {
  const path = join(testFolder(), "one.sock");
  const server = Bun.serve({ unix: path, fetch: () => Bun.sleep(5).then(() => Response.json({})) });
  try {
    const caller = Bun.spawn([program, ...words, join(root, "test/runtime/call.ts"), path]);
    expect(await new Response(caller.stdout).text()).toBe("0 of 300 had no answer\n");
  } finally {
    await server.stop(true);
  }
});
