/** What `npm test` runs a part of, whole: every property with the number of cases that SECURITY.md asks of CI. The seed is in the titles; `$FC_SEED` repeats it. */
import { expect, test } from "bun:test";
import { measured, type ProofId } from "../support/evidence.ts";
import { root, sourcesIn } from "../support/sources.ts";
import { part } from "./length.ts";

const fuzzed: readonly { id: ProofId; what: string; file: string; cases: string }[] = [
  { id: "T18", what: "raw HTTP", file: "test/security/raw-fuzz.test.ts", cases: "100 000" },
  { id: "T2", what: "Host and Origin", file: "test/server/guard-properties.test.ts", cases: "200 000" },
  { id: "T20", what: "JSON per route", file: "test/server/bodies.test.ts", cases: "10 000 each" },
  { id: "T23", what: "config patches and files", file: "test/config/config-properties.test.ts", cases: "50 000" },
  { id: "T6", what: "SSDP datagrams", file: "test/discovery/ssdp.test.ts", cases: "200 000" },
  { id: "T24", what: "mDNS datagrams", file: "test/security/mdns-fuzz.test.ts", cases: "50 000" },
  { id: "T8", what: "XML of devices", file: "test/transport/xml.test.ts", cases: "100 000" },
  { id: "T9", what: "HTTP answers of devices", file: "test/transport/http-connection.test.ts", cases: "100 000" },
  { id: "T10", what: "WebSocket frames", file: "test/security/websocket-floods.test.ts", cases: "100 000" },
  { id: "T11", what: "names in paths and headers", file: "test/transport/socket.test.ts", cases: "100 000" },
  {
    id: "R6",
    what: "stories of changes and kills",
    file: "test/reliability/stories.test.ts",
    cases: "500 of 50 steps",
  },
  { id: "T21", what: "ZIPs", file: "test/platforms/roku/zip.test.ts", cases: "5 000" },
];

/** What `npm test` plays a sample of, or leaves out for its length: whole. */
const whole = [
  ...[
    "blackbox/kodi-two",
    "blackbox/roku-identity",
    "blackbox/webos-truth",
    "embedding/deno-serve",
    "security/console-flood",
  ],
  ...["security/dripping", "security/kodi-login", "security/oracles", "security/rogue/orders-kodi"],
  ...["security/rogue/orders-roku", "security/rogue/orders-webos", "security/trust-registry", "security/webos-pin"],
  ...["security/xml-cost", "server/limits", "transport/websocket-upgrade"],
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
  expect([status, status === 0 ? "" : (out + err).slice(-4_000)]).toEqual([0, ""]);
}

test.each(fuzzed)("fuzz: $what, $cases", async ({ id, what, file, cases }) => {
  await runWhole(file);
  if (part === 1) measured(id, `fuzz, ${what}`, `${cases} cases, none failed`);
});

test.each(whole)("whole: %s", runWhole);

test("whole: each file that leaves something out of `npm test` is among them", () => {
  const leaves = /\b(sampleOf|slowTest|slowConcurrentTest|isWhole|hasWholeTables)\b.*support\/whole\.ts/;
  const files = sourcesIn("test").filter(({ path, code }) => /\.(test|cases)\.ts$/.test(path) && leaves.test(code));
  const all = new Set([...whole, ...fuzzed.map(({ file }) => file)]);
  expect(files.map(({ path }) => path.replace(".cases.", ".test.")).filter((path) => !all.has(path))).toEqual([]);
});
