/** Packages that are none: each is refused before the set hears of it, by its own words, and nothing stays behind. */
import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { at, refused } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { install, manifest, sound, withEntry, withoutManifest, zip } from "./packages.ts";

const { daemon, addRoku } = await daemonForFile({
  config: { devices: { request_timeout_ms: 3_000 }, dev: { vendor_password: "secret-of-the-set" } },
});
const { set, id } = await addRoku();

const whole = sound("archives");
const filler = { name: "filler", bytes: randomBytes(700) };
const lying = (change: (bytes: Buffer, end: number) => void): Buffer => {
  const bytes = Buffer.from(whole);
  change(bytes, bytes.length - 22);
  return bytes;
};

const bad: Readonly<Record<string, Buffer>> = {
  "cut in half": whole.subarray(0, whole.length / 2),
  "cut in the directory": whole.subarray(0, whole.length - 40),
  "cut at the last byte": whole.subarray(0, whole.length - 1),
  "no ZIP at all": Buffer.from("<html>not found</html>".repeat(60)),
  empty: Buffer.alloc(0),
  "an empty ZIP": zip([]),
  "no manifest": withoutManifest(),
  "a manifest in capitals": zip([{ ...manifest, name: "MANIFEST" }, filler]),
  "a name that climbs": withEntry({ name: "../../etc/cron.d/x", bytes: "x" }),
  "a name that climbs later": withEntry({ name: "source/../../x", bytes: "x" }),
  "a name that climbs backwards": withEntry({ name: "source\\..\\..\\x", bytes: "x" }),
  "a name from the root": withEntry({ name: "/etc/passwd", bytes: "x" }),
  "a name on a drive": withEntry({ name: "C:\\x", bytes: "x" }),
  "a name with NUL": withEntry({ name: "a\u0000b", bytes: "x" }),
  "a name twice": withEntry({ name: "twin", bytes: "1" }, { name: "twin", bytes: "2" }),
  "a symlink": withEntry({ name: "source/link", bytes: "/etc/passwd", mode: 0o120777 }),
  "a bomb by ratio": withEntry({ name: "bomb", bytes: Buffer.alloc(60_000_000), packed: true }),
  "10,001 entries": zip([
    manifest,
    ...Array.from({ length: 10_001 }, (_, index) => ({ name: `f${index}`, bytes: "" })),
  ]),
  "a directory that lies of its place": lying((bytes, end) => bytes.writeUInt32LE(0x7fffffff, end + 16)),
  "a directory that lies of its size": lying((bytes, end) => bytes.writeUInt32LE(0x7fffffff, end + 12)),
  "a count that lies": lying((bytes, end) => bytes.writeUInt16LE(999, end + 10)),
};

test("T21 each bad package is refused with its reason, and the set hears nothing", async () => {
  const reasons = new Map<string, string>();
  // One at a time: a device takes one upload, and the daemon two in all.
  for (const [what, archive] of Object.entries(bad)) {
    const error = refused(await install(daemon, id, archive), "invalid_archive");
    reasons.set(what, error.message);
  }
  expect(set.installer.connections).toBe(0);
  expect(set.uploads).toEqual([]);
  const told = (what: string): string => reasons.get(what) ?? "";
  expect(told("no manifest")).toMatch(/manifest/i);
  expect(told("a symlink")).toMatch(/link/i);
  for (const [one, other] of [
    ["cut in half", "no manifest"],
    ["no manifest", "a name that climbs"],
    ["cut in half", "a name that climbs"],
  ]) {
    expect(told(one ?? "")).not.toBe(told(other ?? ""));
  }
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
