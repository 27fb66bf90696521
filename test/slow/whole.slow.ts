/** The whole of what `npm test` samples: each property with the number of cases of SECURITY.md. `$FC_SEED` repeats the seed of a title. */
import { expect, test } from "bun:test";
import { sourcesIn } from "../support/sources.ts";
import { slowMark } from "../support/whole.ts";
import { isSample } from "./length.ts";
import { measured, runWhole } from "./whole.ts";

const paths = (names: readonly string[]) => names.map((name) => `test/${name}.test.ts`);

/** More generated cases and longer tables than in `npm test`: a sample of them is what that or `npm run test:binary` has tried. */
const longer = paths([
  "blackbox/house",
  "blackbox/kodi-two",
  "blackbox/pictures",
  "blackbox/readers",
  "blackbox/roku-identity",
  "config/config-properties",
  "devices/partial",
  "discovery/ssdp",
  "platforms/roku/zip",
  "reliability/damage",
  "security/mdns-fuzz",
  "security/own-files",
  "security/raw-fuzz",
  "server/guard-properties",
  "transport/socket",
  "transport/xml",
]);
/** Slow tests beside what `npm test` tries: a sample runs those alone. */
const slower = paths([
  "blackbox/webos-truth",
  "cli/newcomer",
  "security/console-flood",
  "security/oracles",
  "security/webos-pin",
  "transport/websocket-upgrade",
]);
/** The same, where the time is the runtime's own. */
const slowerInRealTime = paths(["security/dripping", "server/limits"]);
/** What else is not the same as in `npm test`; those that wait longest come first. */
const files = paths([
  "runtime/stream",
  "reliability/stories",
  "security/cast-floods",
  "security/dlna-rogue",
  "security/foreign-pages",
  "security/raw-slow",
  "security/rogue/orders-kodi",
  "security/rogue/orders-roku",
  "security/rogue/orders-samsung",
  "security/rogue/orders-webos",
  "security/rogue/second-user",
  "security/samsung-floods",
  "security/trust-registry",
  "security/websocket-floods",
  "server/bodies",
]);

const only = isSample ? { only: slowMark } : {};
test.concurrent.each(slowerInRealTime)("whole: %s", (file) => runWhole(file, { ...only, realTime: true }));
test.concurrent.each(files)("whole: %s", (file) => runWhole(file));
test.concurrent.each(slower)("whole: %s", (file) => runWhole(file, only));
if (!isSample) test.concurrent.each(longer)("whole: %s", (file) => runWhole(file));

test("whole: each file that leaves something out of `npm test` is among them", () => {
  const leaves = /\b(isQuick|sampleOf|slowTest|slowConcurrentTest|isWhole|hasWholeTables)\b.*support\/whole\.ts/;
  const all = sourcesIn("test").filter(({ path, code }) => /\.(test|cases)\.ts$/.test(path) && leaves.test(code));
  const listed = [...files, ...slower, ...slowerInRealTime, ...longer, ...measured];
  expect(all.map(({ path }) => path.replace(".cases.", ".test.")).filter((path) => !listed.includes(path))).toEqual([]);
});
