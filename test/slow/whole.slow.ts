/** What `npm test` runs a part of, whole: every property with the number of cases that SECURITY.md asks of CI. The seed is in the titles; `$FC_SEED` repeats it. */
import { expect, test } from "bun:test";
import { whyFailed } from "../support/failures.ts";
import { root, sourcesIn } from "../support/sources.ts";
import { part } from "./length.ts";

/** Their generated cases, tables and slow tests: whole here, or the part that `$ZAPD_LONG` says. First the one that waits for a minute. */
const files = [
  "runtime/stream",
  "blackbox/house",
  "blackbox/kodi-two",
  "blackbox/pictures",
  "blackbox/readers",
  "blackbox/roku-identity",
  "blackbox/webos-truth",
  "cli/newcomer",
  "config/config-properties",
  "devices/partial",
  "discovery/ssdp",
  "embedding/deno-serve",
  "platforms/roku/zip",
  "reliability/damage",
  "reliability/stories",
  "security/console-flood",
  "security/dripping",
  "security/foreign-pages",
  "security/kodi-login",
  "security/mdns-fuzz",
  "security/oracles",
  "security/own-files",
  "security/raw-fuzz",
  "security/raw-slow",
  "security/rogue/orders-kodi",
  "security/rogue/orders-roku",
  "security/rogue/orders-samsung",
  "security/rogue/orders-webos",
  "security/rogue/second-user",
  "security/trust-registry",
  "security/webos-pin",
  "security/websocket-floods",
  "security/xml-cost",
  "server/bodies",
  "server/guard-properties",
  "server/limits",
  "transport/socket",
  "transport/websocket-upgrade",
  "transport/xml",
].map((name) => `test/${name}.test.ts`);

/** Runs a file with all its cases, or the part of the generated ones that `$ZAPD_LONG` says. */
async function runWhole(file: string): Promise<void> {
  const child = Bun.spawn([process.execPath, "test", "--timeout", "3600000", file], {
    cwd: root,
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ZAPD_WHOLE: String(part) },
  });
  const [out, err, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect([status, status === 0 ? "" : whyFailed(out + err)]).toEqual([0, ""]);
}

test.concurrent.each(files)("whole: %s", runWhole);

test("whole: each file that leaves something out of `npm test` is among them", () => {
  const leaves = /\b(isQuick|sampleOf|slowTest|slowConcurrentTest|isWhole|hasWholeTables)\b.*support\/whole\.ts/;
  const all = sourcesIn("test").filter(({ path, code }) => /\.(test|cases)\.ts$/.test(path) && leaves.test(code));
  expect(all.map(({ path }) => path.replace(".cases.", ".test.")).filter((path) => !files.includes(path))).toEqual([]);
});
