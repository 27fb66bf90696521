/** Sideloading: the body sent once, the page believed and not the status, and each failure under its own name. */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { residentMiB } from "../support/resident.ts";
import type { Reply } from "../support/wire.ts";
import { accepted, refused, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { page } from "./documents.ts";
import { install, large, sound } from "./packages.ts";

const { daemon, addRoku } = await daemonForFile({
  config: { devices: { request_timeout_ms: 3_000 }, dev: { vendor_password: "secret-of-the-set" } },
});

const told = (said: Reply) =>
  [...`${said.body}`.matchAll(/<font color="red">([^<]*)<\/font>/g)].map(([, text]) => text);
/** How the page tells: in the JSON of current firmware, the script of older, hidden markup, or text. */
const tells = {
  json: (said: Reply) => page(`${said.body}`.replace(/<font.*<\/font>/, "").replace(/^ *Shell.*\n/gm, ""), "text/html"),
  shell: (said: Reply) =>
    page(`${said.body}`.replace(/<font.*<\/font>/, "").replace(/^ *var params.*\n/m, ""), "text/html"),
  font: (said: Reply) => page(`${said.body}`.replace(/<script.*<\/script>/s, ""), "text/html"),
  text: (said: Reply) =>
    page(
      `<html><style>.x { }</style><script>var text = "Install Failure";</script>
${told(said)
  .map((text) => `<div class="message">${text}</div>`)
  .join("\n")}</html>`,
      "text/html",
    ),
};

test("20 MB go over once, byte for byte, and without being held in memory", async () => {
  const { set, id } = await addRoku();
  accepted("installPackage", await install(daemon, id, sound("warm")));
  const archive = large();
  const [before, counted] = [residentMiB(daemon.process), set.installer.bytesRead];
  const installed = accepted("installPackage", await install(daemon, id, archive));
  expect(installed.package).toMatchObject({ name: "Fjord", version: "2.1.9", bytes: archive.length, files: 3 });
  expect(installed.messages.join(" ")).toContain("Install Success");
  expect(set.uploads).toHaveLength(2);
  expect(set.uploads[1]?.body.includes(archive)).toBe(true);
  expect(set.installer.bytesRead - counted).toBeLessThan(archive.length + 8_192);
  expect(residentMiB(daemon.process) - before).toBeLessThan(64);
  // Nothing of it is left on the disk, and the caller's file name went nowhere.
  const left = readdirSync(daemon.stateFolder, { recursive: true }).map(String);
  expect(left.filter((name) => !/^(devices|apps|credentials)\.json$|^uploads$|\.(sock|bak|lock)$/.test(name))).toEqual(
    [],
  );
  const [post] = set.installer.requests.filter((request) => request.method === "POST");
  expect(post?.body.subarray(0, 2_000).toString("latin1")).not.toContain("my package");
});

test("the challenge is met without a body, on fresh connections", async () => {
  const { set, id } = await addRoku();
  for (const what of ["first", "second"]) accepted("installPackage", await install(daemon, id, sound(what)));
  const { requests } = set.installer;
  expect(requests.filter((request) => !request.headers.has("authorization"))).toHaveLength(2);
  expect(new Set(requests.map((request) => request.connection)).size).toBe(requests.length);
  expect(requests.every((request) => request.headers.get("host")?.startsWith(set.host))).toBe(true);
  expect(
    set.uploads.every(({ body }) => /name="mysubmit"\r\n\r\n(Replace|Install)\r\n/.test(body.toString("latin1"))),
  ).toBe(true);
});

test("a wrong password, an unset one, and the set's own refusals each have their own name", async () => {
  const stranger = await addRoku({ developer: { password: "another" } });
  const wrong = await install(daemon, stranger.id, sound("a"));
  expect(refused(wrong, "dev_auth_failed").hint ?? "").not.toBe("");
  // One that the set was given of its own goes before the setting: it is replaced by an installation alone.
  expect(refused(wrong, "dev_auth_failed").hint ?? "").toContain("--password -");
  expect(stranger.set.simulator.state.sideloaded).toBeNull();

  const { set, id } = await addRoku();
  for (const [form, tell] of Object.entries(tells)) {
    set.spoiled.set("/plugin_install", tell);
    set.simulator.installFault("compile");
    const compile = refused(await install(daemon, id, sound(`c ${form}`)), "package_rejected");
    expect(`${compile.message} ${compile.hint}`).toContain("Compilation Failed");
    expect(`${compile.message} ${compile.hint}`, form).toContain("main.brs(3)");
    set.simulator.installFault("bad-zip");
    refused(await install(daemon, id, sound(`z ${form}`)), "package_rejected");
  }
  set.spoiled.set("/plugin_install", () => page("<html><body>Thank you!</body></html>", "text/html"));
  refused(await install(daemon, id, sound("g")), "package_rejected", "device_error");
  expect(set.simulator.state.sideloaded).toBeNull();

  await succeed(daemon, "patchConfig", { body: { "dev.vendor_password": null } });
  expect(refused(await install(daemon, id, sound("b")), "dev_password_missing").hint ?? "").toContain(
    "vendor_password",
  );
  await succeed(daemon, "patchConfig", { body: { "dev.vendor_password": "secret-of-the-set" } });
  for (const [at, text] of Object.entries({ log: daemon.log(), wrong: JSON.stringify(wrong.body) })) {
    expect([at, text.includes("secret-of-the-set")]).toEqual([at, false]);
  }
});

test("a set that wants an update first says so in three ways, all told apart from a bad package", async () => {
  const { set, id } = await addRoku();
  for (const outcome of ["update-required", "update-page", "reset"] as const) {
    set.simulator.installFault(outcome);
    const error = refused(
      await install(daemon, id, sound(outcome)),
      "dev_update_required",
      ...(outcome === "reset" ? ["device_error", "device_unreachable"] : []),
    );
    expect(error.hint ?? "").toMatch(/update/i);
    expect(set.uploads.length).toBeGreaterThan(0);
  }
});

test("no developer page at all", async () => {
  const { set, id } = await addRoku();
  await set.installer.close();
  const error = refused(await install(daemon, id, sound("none")), "device_unreachable", "unsupported_operation");
  expect(error.hint ?? "").toMatch(/developer/i);
  await succeed(daemon, "pressKey", { id, body: { key: "home" } });
});
