/** Bad packages: each is refused with its reason before anything is sent to the set. */
import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { refused } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { install, manifest, packageOf, packageWith, source, zip } from "./packages.ts";

const { daemon, addRoku } = await daemonForFile({
  config: { devices: { request_timeout_ms: 3_000 }, dev: { vendor_password: "secret-of-the-set" } },
});
const { set, id } = await addRoku();

const whole = packageWith("archives");
/** One of each kind: platforms/roku/zip.test.ts has them all. */
const bad: Readonly<Record<string, Buffer>> = {
  "cut in half": whole.subarray(0, whole.length / 2),
  "no ZIP": Buffer.from("<html>not found</html>".repeat(60)),
  empty: Buffer.alloc(0),
  "no manifest": zip([{ ...manifest, name: "app/manifest" }, source, { name: "x", content: randomBytes(600) }]),
  "a name that climbs": packageOf({ name: "source/../../x", content: "x" }),
  "a name from the root": packageOf({ name: "/etc/passwd", content: "x" }),
  "a name twice": packageOf({ name: "twin", content: "1" }, { name: "twin", content: "2" }),
  "a symlink": packageOf({ name: "source/link", content: "/etc/passwd", mode: 0o120777 }),
  "a bomb by its ratio": packageOf({
    name: "bomb",
    content: deflateRawSync(Buffer.alloc(60_000_000)),
    method: 8,
    bytes: 60_000_000,
  }),
  "10,001 files": zip([manifest, ...Array.from({ length: 10_001 }, (_, index) => ({ name: `f${index}` }))]),
};

test("T21 each bad package is refused with its reason, and the set hears nothing", async () => {
  const reasons = new Map<string, string>();
  // One at a time: a device takes one upload, and the daemon two in all.
  for (const [what, archive] of Object.entries(bad))
    reasons.set(what, refused(await install(daemon, id, archive), "invalid_archive").message);
  expect([set.installer.connections, set.uploads]).toEqual([0, []]);
  expect(reasons.get("no manifest")).toMatch(/manifest/i);
  expect(reasons.get("a symlink")).toMatch(/link/i);
  const distinct = ["cut in half", "no manifest", "a name that climbs"].map((what) => reasons.get(what));
  expect(new Set(distinct).size).toBe(3);
});
