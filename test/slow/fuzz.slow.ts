/** Every property with the number of cases that SECURITY.md asks of CI. The seed is in the titles; `$FC_SEED` repeats it. */
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { measured, type ProofId } from "../support/evidence.ts";
import { root } from "../support/sources.ts";
import { part } from "./length.ts";

const fuzzed: readonly { id: ProofId; what: string; file: string; cases: string }[] = [
  { id: "T18", what: "raw HTTP", file: "test/security/raw-fuzz.test.ts", cases: "100 000" },
  { id: "T2", what: "Host and Origin", file: "test/server/guard-properties.test.ts", cases: "200 000" },
  { id: "T20", what: "JSON per route", file: "test/server/bodies.test.ts", cases: "10 000 each" },
  { id: "T23", what: "config patches and files", file: "test/config/config-properties.test.ts", cases: "50 000" },
  { id: "T6", what: "SSDP datagrams", file: "test/discovery/ssdp.test.ts", cases: "200 000" },
  { id: "T24", what: "mDNS datagrams", file: "test/security/mdns-fuzz.test.ts", cases: "50 000" },
  { id: "T8", what: "XML of devices", file: "test/transport/xml.test.ts", cases: "100 000" },
  { id: "T9", what: "HTTP answers of devices", file: "test/transport/http-answer.test.ts", cases: "100 000" },
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

test.each(fuzzed)("fuzz: $what, $cases", ({ id, what, file, cases }) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["test", "--timeout", "3600000", file], {
    ...{ cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 },
    env: { ...process.env, ZAPD_FUZZ: String(part) },
  });
  expect([status, status === 0 ? "" : (stdout + stderr).slice(-4_000)]).toEqual([0, ""]);
  if (part === 1) measured(id, `fuzz, ${what}`, `${cases} cases, none failed`);
});
