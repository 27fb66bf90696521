/** A Roku's developer mode beyond installing: deep links, its screen, removing, and a password of one set alone. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { plugInRoku } from "../support/sets.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { packageWith, install as send } from "./packages.ts";

const { daemon } = await daemonForFile({ config: { dev: { vendor_password: "secret-of-all" } } });

async function workbench(name: string, password = "secret-of-all", launchMs = 0) {
  const set = await plugInRoku({ name, developer: { password }, launchMs });
  const ports = { installer: set.ports.installer, console: set.ports.console };
  const { body } = await daemon.api("POST", "/devices", { host: set.host, port: set.port, name, ports });
  const at = `/devices/${body.data.id}`;
  const install = async (salt: string, fields: Readonly<Record<string, string>> = {}) => {
    const answer = await send(daemon, body.data.id, packageWith(salt), fields);
    return answer.body.ok ? "installed" : answer.body.error.code;
  };
  const code = async (method: string, path: string, sent?: object) => {
    const answer = await daemon.api(method, at + path, sent);
    return answer.body.ok ? "ok" : answer.body.error.code;
  };
  return { set, at, install, code };
}

test("the package is started with a deep link, at its installation and again, also where it is unchanged", async () => {
  const { set, install, code } = await workbench("Linked");
  expect(await install("one", { params: '{"contentId":"42"}' })).toBe("installed");
  expect(set.state.lastLaunch).toMatchObject({ id: "dev", params: { contentId: "42" } });
  expect(await install("one", { params: '{"contentId":"43"}' })).toBe("installed");
  expect(set.state.lastLaunch).toMatchObject({ params: { contentId: "43" } });
  expect(await code("POST", "/dev/reload", { params: { content_id: "44" } })).toBe("ok");
  expect(set.state.lastLaunch).toMatchObject({ params: { contentId: "44" } });
  expect(await code("POST", "/dev/reload")).toBe("ok");
  expect(Object.keys(set.state.lastLaunch?.params ?? {})).toEqual(["zapd"]);
  for (const params of ["no json", "[1]", '{"a":1}'])
    expect([params, await install("two", { params })]).toEqual([params, "invalid_payload"]);
});

test("a heavy package, which is shown 6 s after its launch, is restarted", async () => {
  const { set, install, code } = await workbench("Heavy", "secret-of-all", 6_000 / daemon.speed);
  expect(await install("one")).toBe("installed");
  expect(await code("POST", "/dev/reload")).toBe("ok");
  expect(set.state.activeApp).toBe("dev");
});

test("its screen is shown while it is in front, and it is removed once", async () => {
  const { set, at, install, code } = await workbench("Shown");
  expect(await code("DELETE", "/dev")).toBe("dev_package_missing");
  expect(await install("one")).toBe("installed");
  const picture = await fetch(`${daemon.url}${at}/screenshot`);
  expect([picture.status, picture.headers.get("content-type")]).toEqual([200, "image/png"]);
  await daemon.api("POST", `${at}/remote/key`, { key: "home" });
  expect(await code("GET", "/screenshot")).toBe("picture_not_found");
  const remedy = async () => (await daemon.api("GET", `${at}/screenshot`)).body.error.hint;
  expect(await remedy()).toStartWith("Start it: zapd reload");
  expect(await code("DELETE", "/dev")).toBe("ok");
  expect(set.state.sideloaded).toBeNull();
  expect(await remedy()).toStartWith("Install one: zapd install");
  expect(await code("DELETE", "/dev")).toBe("dev_package_missing");
});

test("a password of one set alone is kept once it was accepted, and nowhere to be seen", async () => {
  const { at, install, code } = await workbench("Guarded", "own-of-guarded");
  expect(await install("one")).toBe("dev_auth_failed");
  expect(await install("one", { password: "wrong-own-word" })).toBe("dev_auth_failed");
  expect(await install("one")).toBe("dev_auth_failed");
  expect(await install("one", { password: "own-of-guarded" })).toBe("installed");
  expect(await install("two")).toBe("installed");
  expect(await code("DELETE", "/dev")).toBe("ok");
  const kept = () => readFileSync(join(daemon.stateFolder, "credentials.json"), "utf8");
  expect(kept()).toContain("own-of-guarded");
  for (const secret of ["own-of-guarded", "wrong-own-word"]) expect(daemon.log()).not.toContain(secret);
  expect(kept()).not.toContain("wrong-own-word");
  await daemon.api("DELETE", at);
  expect(kept()).not.toContain("own-of-guarded");
});
