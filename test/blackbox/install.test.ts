/** Sideloading: the body sent once, the page believed and not the status, and each failure under its own name. */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { accepted, refuse, refused, succeed } from "./checked.ts";
import { app } from "./fake-documents.ts";
import { homeForFile } from "./home.ts";
import { install, large, sound } from "./packages.ts";

const { daemon, start } = await homeForFile({
  config: { devices: { request_timeout_ms: 3_000 }, dev: { vendor_password: "secret-of-the-set" } },
});

/** Resident memory of the daemon, in MB. */
async function rss(): Promise<number> {
  const text = await Bun.file(`/proc/${daemon.process.pid}/status`).text();
  return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1]) / 1_024;
}

test("20 MB go over once, byte for byte, and without being held in memory", async () => {
  const { set, id } = await start();
  accepted("installPackage", await install(daemon, id, sound("warm")));
  const archive = large();
  const [before, counted] = [await rss(), set.installer.wire.bytesRead];
  const installed = accepted("installPackage", await install(daemon, id, archive));
  expect(installed.package).toMatchObject({ name: "Fjord", version: "2.1.9", bytes: archive.length, files: 3 });
  expect(installed.messages.join(" ")).toContain("Install Success");
  expect(set.installer.uploads).toHaveLength(2);
  expect(set.installer.uploads[1]?.archive.equals(archive)).toBe(true);
  expect(set.installer.wire.bytesRead - counted).toBeLessThan(archive.length + 8_192);
  expect((await rss()) - before).toBeLessThan(64);
  // Nothing of it is left on the disk, and the caller's file name went nowhere.
  const left = readdirSync(daemon.stateFolder, { recursive: true }).map(String);
  expect(left.filter((name) => !/^(devices|apps|credentials)\.json$|^uploads$|\.(sock|bak|lock)$/.test(name))).toEqual(
    [],
  );
  const [post] = set.installer.wire.requests.filter((request) => request.method === "POST");
  expect(post?.body.subarray(0, 2_000).toString("latin1")).not.toContain("my package");
});

test("the challenge is met without a body, on fresh connections", async () => {
  const { set, id } = await start();
  for (const what of ["first", "second"]) accepted("installPackage", await install(daemon, id, sound(what)));
  expect(set.installer.challenges).toBe(2);
  const { requests } = set.installer.wire;
  expect(new Set(requests.map((request) => request.connection)).size).toBe(requests.length);
  expect(requests.every((request) => request.headers.get("host")?.startsWith(set.host))).toBe(true);
  expect(set.installer.uploads.every((upload) => upload.submit === "Replace" || upload.submit === "Install")).toBe(
    true,
  );
});

test("a page in plain text is read as well: stored, installed, failed, and one that says nothing of it", async () => {
  const { set, id } = await start();
  set.installer.page = "text";
  const { messages } = accepted("installPackage", await install(daemon, id, sound("text")));
  expect(messages).toEqual([expect.stringMatching(/^Application Received: \d+ bytes stored\.$/), "Install Success."]);
  const html = (body: string) => ({ status: 200, headers: { "Content-Type": "text/html" }, body });
  const said: readonly [string, string | null][] = [
    ["<div>Application Received: 4711 bytes stored.</div><div>Install Success</div>", null],
    ["<p>Application Received: 4711 bytes stored. Installation successful</p>", null],
    ["<div>Application Received: 4711 bytes stored.</div>", "device_error"],
    ["<div>Installation failed: out of &lt;space&gt; &amp; memory</div>", "package_rejected"],
    ["<div>Install Success</div><div>Installation failed: no more</div>", "package_rejected"],
    ["<script>var a = '<div>Install Success</div>';</script><div>Welcome</div>", "device_error"],
    ["Install Success", "device_error"],
    [`${"<div>".repeat(100_000)}`, "device_error"],
  ];
  for (const [body, code] of said) {
    set.installer.wire.answers.set("POST /plugin_install", html(body));
    const answered = await install(daemon, id, sound(body.slice(0, 200)));
    expect([body.slice(0, 80), answered.status === 200 ? null : answered.body.error.code]).toEqual([
      body.slice(0, 80),
      code,
    ]);
    if (code === "package_rejected" && body.includes("space"))
      expect(answered.body.error.message).toContain("Installation failed: out of <space> & memory");
  }
});

test("the identical package is launched all the same", async () => {
  const { set, id } = await start();
  const archive = sound("same");
  accepted("installPackage", await install(daemon, id, archive));
  set.active = null;
  const again = accepted("installPackage", await install(daemon, id, archive));
  expect(again.messages.join(" ")).toContain("Identical");
  expect(set.active).toMatchObject({ id: "dev" });
});

test("a wrong password, an unset one, and the set's own refusals each have their own name", async () => {
  const { set, id } = await start();
  set.installer.password = "another";
  const wrong = await install(daemon, id, sound("a"));
  expect(refused(wrong, "dev_auth_failed").hint ?? "").not.toBe("");
  expect(set.installer.uploads).toEqual([]);
  set.installer.password = "secret-of-the-set";

  for (const page of ["json", "shell", "font", "text"] as const) {
    set.installer.page = page;
    set.installer.outcome = "compile-error";
    const compile = refused(await install(daemon, id, sound(`c ${page}`)), "package_rejected");
    expect(`${compile.message} ${compile.hint}`).toContain("Compilation Failed");
    expect(`${compile.message} ${compile.hint}`, page).toContain("main.brs(3)");
    set.installer.outcome = "corrupt";
    refused(await install(daemon, id, sound(`z ${page}`)), "package_rejected");
  }
  set.installer.outcome = "gibberish";
  refused(await install(daemon, id, sound("g")), "package_rejected", "device_error");
  expect(set.apps.some((one) => one.id === "dev")).toBe(false);

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
  const { set, id } = await start();
  for (const outcome of ["577", "update-page", "reset"] as const) {
    set.installer.outcome = outcome;
    const error = refused(
      await install(daemon, id, sound(outcome)),
      "dev_update_required",
      ...(outcome === "reset" ? ["device_error", "device_unreachable"] : []),
    );
    expect(error.hint ?? "").toMatch(/update/i);
    expect(set.installer.uploads.length).toBeGreaterThan(0);
  }
});

test("no developer page at all", async () => {
  const { set, id } = await start();
  await set.installer.wire.close();
  const error = refused(await install(daemon, id, sound("none")), "device_unreachable", "unsupported_operation");
  expect(error.hint ?? "").toMatch(/developer/i);
  await succeed(daemon, "pressKey", { id, body: { key: "home" } });
});

test("reload: ended and started anew, by either way of stopping; without a package there is none", async () => {
  const reloads = (["plain", "xml", "absent"] as const).map(async (exitApp) => {
    const { set, id } = await start({ exitApp });
    await refuse(daemon, "reloadPackage", { id }, "dev_package_missing");
    set.apps.push(app("dev", "Fjord", "appl", "2.1.9"));
    set.active = set.apps.at(-1) ?? null;
    set.forget();
    const { app: again } = await succeed(daemon, "reloadPackage", { id });
    expect(again).toMatchObject({ type: "dev", platform_id: "dev", name: "Fjord" });
    expect(set.active).toMatchObject({ id: "dev" });
    const launched = set.commands.filter((command) => command.startsWith("/launch/dev"));
    expect(launched.length).toBeGreaterThan(0);
    expect(set.commands.indexOf(launched[0] ?? "")).toBeGreaterThan(0);
    expect((await succeed(daemon, "listApps", { id })).apps.some((one) => one.type === "dev")).toBe(true);
  });
  await Promise.all(reloads);
});
