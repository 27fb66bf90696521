/** Sideloading: the package is sent once, and each failure has its own code. */
import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { unfinishedIn } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { residentMiB } from "../support/resident.ts";
import { accepted, refused, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { page } from "./documents.ts";
import { install, manifest, packageOf, packageWith, zip } from "./packages.ts";

const { daemon, addRoku } = await daemonForFile({
  config: { devices: { request_timeout_ms: 3_000 }, dev: { vendor_password: "secret-of-the-set" } },
});

test("20 MB are sent once, byte for byte, and are not held in memory", async () => {
  const { set, id } = await addRoku();
  accepted("installPackage", await install(daemon, id, packageWith("warm")));
  // No compression makes it smaller.
  const archive = packageOf({ name: "assets/film.bin", content: randomBytes(20_000_000) });
  const [before, counted] = [residentMiB(daemon.process), set.installer.bytesRead];
  const installed = accepted("installPackage", await install(daemon, id, archive));
  expect(installed.package).toMatchObject({ name: "Fjord", version: "2.1.9", bytes: archive.length, files: 3 });
  expect(installed.messages.join(" ")).toContain("Install Success");
  expect(set.uploads).toHaveLength(2);
  expect(set.uploads[1]?.body.includes(archive)).toBe(true);
  expect(set.installer.bytesRead - counted).toBeLessThan(archive.length + 8_192);
  expect(residentMiB(daemon.process) - before).toBeLessThan(64);
  // Nothing is left on the disk, and the caller's file name is not sent on.
  await until("nothing is being written", () => unfinishedIn(daemon.stateFolder).length === 0);
  const left = readdirSync(daemon.stateFolder, { recursive: true }).map(String);
  expect(
    left.filter((name) => !/^(devices|apps|credentials)\.json$|^uploads$|\.(sock|sock\.at|bak|lock)$/.test(name)),
  ).toEqual([]);
  const [post] = set.installer.requests.filter((request) => request.method === "POST");
  expect(post?.body.subarray(0, 2_000).toString("latin1")).not.toContain("my package");
});

test("the challenge is asked for without a body, on new connections", async () => {
  const { set, id } = await addRoku();
  for (const what of ["first", "second"]) accepted("installPackage", await install(daemon, id, packageWith(what)));
  const { requests } = set.installer;
  expect(requests.filter((request) => !request.headers.has("authorization"))).toHaveLength(2);
  expect(new Set(requests.map((request) => request.connection)).size).toBe(requests.length);
  expect(requests.every((request) => request.headers.get("host")?.startsWith(set.host))).toBe(true);
  expect(
    set.uploads.every(({ body }) => /name="mysubmit"\r\n\r\n(Replace|Install)\r\n/.test(body.toString("latin1"))),
  ).toBe(true);
});

test("a wrong password, a missing one, and the set's own refusals each have their own code", async () => {
  const stranger = await addRoku({ developer: { password: "another" } });
  const wrong = await install(daemon, stranger.id, packageWith("a"));
  expect(refused(wrong, "dev_auth_failed").hint ?? "").not.toBe("");
  // A password of the device's own goes before the setting, and is replaced by an installation.
  expect(refused(wrong, "dev_auth_failed").hint ?? "").toContain("--password -");
  expect(stranger.set.simulator.state.sideloaded).toBeNull();
  // One that the set accepts is kept, also with a package that it does not take.
  stranger.set.simulator.installFault("compile");
  // What is wrong with the package is told also where the password cannot be kept.
  const file = join(daemon.stateFolder, "credentials.json");
  mkdirSync(file);
  refused(await install(daemon, stranger.id, packageWith("a"), { password: "another" }), "package_rejected");
  rmSync(file, { recursive: true });
  refused(await install(daemon, stranger.id, packageWith("a"), { password: "another" }), "package_rejected");
  refused(await install(daemon, stranger.id, packageWith("b")), "package_rejected");

  const { set, id } = await addRoku();
  set.simulator.installFault("compile");
  const compile = refused(await install(daemon, id, packageWith("compile")), "package_rejected");
  for (const word of ["Compilation Failed", "main.brs(3)"])
    expect(`${compile.message} ${compile.hint}`).toContain(word);
  set.simulator.installFault("bad-zip");
  refused(await install(daemon, id, packageWith("bad zip")), "package_rejected");
  set.spoiled.set("/plugin_install", () => page("<html><body>Thank you!</body></html>", "text/html"));
  refused(await install(daemon, id, packageWith("g")), "package_rejected", "device_error");
  // An emulator compiles archives that a Roku calls too small.
  set.spoiled.set("/plugin_install", () =>
    page("<font color=red>Install Failure: Compilation Failed.</font>", "text/html"),
  );
  expect(refused(await install(daemon, id, zip([manifest])), "package_rejected").hint).toContain("zapd logs");
  expect(set.simulator.state.sideloaded).toBeNull();

  await succeed(daemon, "patchConfig", { body: { "dev.vendor_password": null } });
  expect(refused(await install(daemon, id, packageWith("b")), "dev_password_missing").hint ?? "").toContain(
    "vendor_password",
  );
  await succeed(daemon, "patchConfig", { body: { "dev.vendor_password": "secret-of-the-set" } });
  for (const [at, text] of Object.entries({ log: daemon.log(), wrong: JSON.stringify(wrong.body) })) {
    expect([at, text.includes("secret-of-the-set")]).toEqual([at, false]);
  }
});

test("a set that needs an update is recognized by each of its three answers, none of which is taken for a bad package", async () => {
  const { set, id } = await addRoku();
  for (const outcome of ["update-required", "update-page", "reset"] as const) {
    set.simulator.installFault(outcome);
    const error = refused(
      await install(daemon, id, packageWith(outcome)),
      "dev_update_required",
      ...(outcome === "reset" ? ["device_error", "device_unreachable"] : []),
    );
    expect(error.hint ?? "").toMatch(/update/i);
    expect(set.uploads.length).toBeGreaterThan(0);
  }
});

test("an upload that breaks at a set that cannot be asked why fails as it broke", async () => {
  const { set, id } = await addRoku();
  set.spoiled.set("/plugin_install", () => {
    set.installer.close();
    return "reset";
  });
  refused(await install(daemon, id, packageWith("broken")), "device_error");
});

test("without a developer page the hint names developer mode, and the set is neither offline nor turned on", async () => {
  const { set, id } = await addRoku();
  await set.installer.close();
  const error = refused(await install(daemon, id, packageWith("none")), "device_refused");
  expect(error.hint ?? "").toMatch(/developer/i);
  expect((await succeed(daemon, "getDevice", { id })).status).toBe("online");
  expect(set.commands).toEqual([]);
  await succeed(daemon, "pressKey", { id, body: { key: "home" } });
});
