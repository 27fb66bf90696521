/** Bad packages and broken forms: each is refused with its reason before anything is sent to the set. */
import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { at, refused } from "./checked.ts";
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

test("T22 forms that are none: no file, another field, two files, no form, a broken end, an unknown device", async () => {
  const boundary = "----zb";
  const part = (name: string, file: boolean, bytes = "x"): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file ? '; filename="a.zip"' : ""}\r\n\r\n${bytes}\r\n`;
  const end = `--${boundary}--\r\n`;
  const bodies: [string, BodyInit | undefined][] = [
    [`multipart/form-data; boundary=${boundary}`, end],
    [`multipart/form-data; boundary=${boundary}`, part("file", true) + end],
    [`multipart/form-data; boundary=${boundary}`, part("archive", false) + end],
    [`multipart/form-data; boundary=${boundary}`, part("archive", true) + part("archive", true) + end],
    [`multipart/form-data; boundary=${boundary}`, part("archive", true)],
    [
      `multipart/form-data; boundary=${boundary}`,
      Array.from({ length: 40 }, (_, index) => part(`f${index}`, false)).join("") + part("archive", true) + end,
    ],
    ["multipart/form-data", part("archive", true) + end],
    ["application/zip", new Uint8Array(whole)],
    ["application/json", "{}"],
    ["application/json", undefined],
  ];
  for (const [type, body] of bodies) {
    const response = await fetch(daemon.url + at("installPackage", { id }), {
      method: "POST",
      headers: { "content-type": type },
      ...(body === undefined ? {} : { body }),
    });
    refused(
      { status: response.status, headers: response.headers, body: await response.json() },
      "invalid_payload",
      "invalid_archive",
    );
  }
  refused(await install(daemon, "no-such-device", whole), "device_not_found");
  expect(set.installer.connections).toBe(0);
});
