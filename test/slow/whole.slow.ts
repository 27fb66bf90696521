/** What `npm test` runs a part of, whole: every property with the number of cases that SECURITY.md asks of CI. The seed is in the titles; `$FC_SEED` repeats it. */
import { expect, test } from "bun:test";
import { sourcesIn } from "../support/sources.ts";
import { measured, runWhole } from "./whole.ts";

/** Their generated cases, tables and slow tests: whole here, or the part that `$ZAPD_LONG` says. First the one that waits for a minute. */
const files = [
  "runtime/stream",
  "blackbox/house",
  "blackbox/kodi-two",
  "blackbox/pictures",
  "blackbox/readers",
  "blackbox/webos-truth",
  "cli/newcomer",
  "config/config-properties",
  "devices/partial",
  "discovery/ssdp",
  "embedding/deno-serve",
  "platforms/roku/zip",
  "reliability/damage",
  "reliability/stories",
  "security/cast-floods",
  "security/console-flood",
  "security/dripping",
  "security/foreign-pages",
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
  "security/samsung-floods",
  "security/trust-registry",
  "security/webos-pin",
  "security/websocket-floods",
  "server/bodies",
  "server/guard-properties",
  "server/limits",
  "transport/socket",
  "transport/websocket-upgrade",
  "transport/xml",
].map((name) => `test/${name}.test.ts`);

test.concurrent.each(files)("whole: %s", runWhole);

test("whole: each file that leaves something out of `npm test` is among them", () => {
  const leaves = /\b(isQuick|sampleOf|slowTest|slowConcurrentTest|isWhole|hasWholeTables)\b.*support\/whole\.ts/;
  const all = sourcesIn("test").filter(({ path, code }) => /\.(test|cases)\.ts$/.test(path) && leaves.test(code));
  const listed = [...files, ...measured];
  expect(all.map(({ path }) => path.replace(".cases.", ".test.")).filter((path) => !listed.includes(path))).toEqual([]);
});
