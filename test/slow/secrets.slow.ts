/**
 * T13: secrets are planted in every place that may hold one, every operation is run with them, with success and with errors, and
 * all output is searched for them: answers, log, command lines, files. Each may be only in the one file that keeps it.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { operations } from "../../src/api/operations.ts";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { filesBelow, ProcessWatch } from "../security/canaries.ts";
import { type EchoDevice, startEcho } from "../security/echo.ts";
import { bodies, canaries, repeatable, secret } from "../security/planted.ts";
import { startTestDaemon, type TestDaemon, zapdWords } from "../support/daemon.ts";
import { validPackage } from "../support/daemon-with-roku.ts";
import { requestOf, send } from "../support/raw-http.ts";

const names = ["roku", "kodi", "webos"] as const;
let home = "";
let daemon: TestDaemon;
let echo: EchoDevice;
let watch: ProcessWatch;
const roku = createRokuSimulator({
  name: "Roku",
  ssdp: false,
  launchMs: 0,
  developer: { password: "another" },
});
const kodi = createKodiSimulator({ name: "Kodi", mdns: false, password: secret.kodi, port: 0, tcpPort: null });
const webos = createWebosSimulator({
  name: "LG",
  securePort: 0,
  plainPort: null,
  ssdp: false,
  promptMs: 5,
  bootMs: 5,
  socketsCloseMs: 5,
  portsCloseMs: 5,
});
const sets = [roku, kodi, webos];

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "zapd-home-"));
  for (const folder of ["tmp", "run"]) mkdirSync(join(home, folder));
  for (const set of sets) await set.start();
  echo = await startEcho(kodi);
  daemon = await startTestDaemon({
    config: { dev: { vendor_password: secret.inFile } },
    env: environment(),
  });
  watch = new ProcessWatch();
});
afterAll(async () => {
  watch.end();
  await daemon.dispose();
  await Promise.all([...sets, echo].map((one) => one.stop()));
  rmSync(home, { recursive: true, force: true });
});

function environment(): Record<string, string> {
  return { HOME: home, TMPDIR: join(home, "tmp"), XDG_RUNTIME_DIR: join(home, "run"), NO_COLOR: "1" };
}

/** Every request or command, with its body and its answer. */
const said: { readonly asked: string; readonly body: string; readonly text: string }[] = [];
let log = "";

async function call(method: string, path: string, body?: string | Uint8Array, more: readonly string[] = []) {
  const headers = [
    `Host: 127.0.0.1:${daemon.port}`,
    "Connection: close",
    `Authorization: Bearer ${secret.authorization}`,
    `Cookie: session=${secret.cookie}`,
    ...more,
  ];
  const answer = await send(requestOf(method, `/v1${path}`, headers, body), { to: daemon.port, patienceMs: 20_000 });
  said.push({
    asked: `${method} ${path}`,
    body: String(body),
    text: `${[...answer.headers].join("\n")}\n${answer.body}`,
  });
  return answer;
}

const patch = (values: object) => call("PATCH", "/config", JSON.stringify(values));
const pair = (name: string, given: object) => call("POST", `/devices/${name}/pair`, JSON.stringify(given));

/** All operations at all sets, with valid and invalid bodies. */
async function everything(): Promise<void> {
  const broken = [`{"password":"${secret.inBody}"`, JSON.stringify({ pasword: secret.inBody, [secret.inBody]: 1 })];
  for (const [name, { method, path, ...operation }] of Object.entries(operations)) {
    if (name === "installPackage" || name === "discoverDevices" || name === "removeDevice" || name === "pairDevice")
      continue;
    const given = "body" in operation ? [...broken, ...(bodies[name] ?? [undefined])] : [undefined];
    for (const device of path.includes(":id") ? names : [""])
      for (const body of given) await call(method.toUpperCase(), path.replace(":id", device), body);
  }
  for (const method of ["GET", "POST"]) await call(method, `/nowhere?token=${secret.inQuery}`);
  const form = [
    Buffer.from('--B\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n'),
    validPackage,
    Buffer.from("\r\n--B--\r\n"),
  ];
  for (const name of names)
    await call("POST", `/devices/${name}/dev/install`, Buffer.concat(form), [
      "Content-Type: multipart/form-data; boundary=B",
    ]);
}

/** A command of the program; `typed` is what it reads from a pipe. */
async function zapd(words: readonly string[], typed = ""): Promise<number> {
  const child = Bun.spawn([...zapdWords(), ...words], {
    env: {
      PATH: process.env["PATH"] ?? "",
      ...environment(),
      ZAPD_STATE_DIR: daemon.stateFolder,
      ZAPD_CONFIG: daemon.configFile,
    },
    stdin: new Blob([typed]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  said.push({ asked: `zapd ${words.join(" ")}`, body: "", text: `${out}\n${err}` });
  return child.exited;
}

async function restart(): Promise<void> {
  expect(await daemon.stop()).toBe(0);
  log += daemon.log();
  daemon = await startTestDaemon({ folder: daemon.folder, env: environment() });
}

test("T13 all operations, commands and failures, with every secret there may be", async () => {
  const added = [
    { host: "127.0.0.1", port: roku.port, name: "roku", ports: { installer: roku.ports.installer } },
    { host: "127.0.0.1", port: echo.port, name: "kodi", platform: "kodi" },
    { host: webos.host, port: webos.ports.secure, name: "webos", platform: "webos", ports: { wake: webos.ports.wake } },
  ];
  for (const device of added) expect((await call("POST", "/devices", JSON.stringify(device))).status).toBe(200);
  await everything();

  // Refused, then let in.
  expect((await pair("kodi", { user: "kodi", password: secret.wrong })).body).toContain("pairing_failed");
  expect((await pair("kodi", { pin: secret.pin })).body).toContain("pairing_failed");
  expect(await zapd(["pair", "kodi", "--user", "kodi"], `${secret.wrongByCli}\n`)).toBe(5);
  expect((await pair("kodi", { user: "kodi", password: secret.kodi })).status).toBe(200);
  expect((await pair("webos", { pin: secret.webosPin })).status).toBe(200);
  for (const [at, key] of [...webos.clientKeys.keys()].entries()) canaries.plant(`client key ${at}`, key);
  expect(canaries.names).toContain("client key 0");
  await everything();

  // The password is wrong: the installation fails, and its error could quote it.
  await patch({ "dev.vendor_password": secret.refused });
  await patch({ "dev.vendor_password": [secret.patched] });
  expect((await patch({ "dev.vendor_password": secret.patched })).status).toBe(200);
  expect(await zapd(["config", "set", "dev.vendor_password", "-"], secret.byCli)).toBe(0);
  for (const words of [["status"], ["devices", "--json"], ["config", "get"], ["config", "get", "--json"], ["doctor"]])
    await zapd(words);
  for (const name of names)
    for (const words of [
      ["device", name],
      ["state", name],
      ["apps", "-d", name],
      ["key", "home", "-d", name],
    ])
      await zapd(words);

  // A set that repeats what it was sent, in each part of an answer.
  for (const how of ["rpc error", "rpc result", "body", "headers", "status"] as const) {
    echo.set(how);
    const before = echo.echoed;
    for (const path of ["/devices/kodi/state", "/devices/kodi/apps"]) await call("GET", path);
    await call("POST", "/devices/kodi/apps/refresh");
    await call("POST", "/devices/kodi/remote/key", '{"key":"home"}');
    await pair("kodi", { user: "kodi", password: secret.wrong });
    await call("GET", "/devices");
    expect([how, echo.echoed > before]).toEqual([how, true]);
  }
  echo.set("through");
  // While it repeated everything it accepted any login.
  expect((await pair("kodi", { user: "kodi", password: secret.kodi })).status).toBe(200);
  expect((await call("GET", "/devices/kodi/state")).body).toContain('"ok":true');

  // A set that is off, and one that has forgotten its key.
  webos.forgetKeys();
  await call("GET", "/devices/webos/state");
  expect((await pair("webos", {})).status).toBe(200);
  for (const [at, key] of [...webos.clientKeys.keys()].entries()) canaries.plant(`client key ${at + 1}`, key);
  await restart();
  await everything();
  await Promise.all(sets.map((set) => set.stop()));
  for (const name of names) {
    await call("GET", `/devices/${name}/state`);
    await call("POST", `/devices/${name}/remote/key`, '{"key":"home"}');
  }
  log += daemon.log();
}, 300_000);

test("T13 no answer, no log line, no command line holds one, and no file but the one that keeps it", () => {
  const { folder, configFile, stateFolder } = daemon;
  expect(said.length).toBeGreaterThan(300);
  const told = said.flatMap(({ asked, body, text }) => {
    const own = canaries.in(body).filter((name) => repeatable.has(name));
    return canaries.in(text).flatMap((name) => (own.includes(name) ? [] : [`${asked}: ${name}`]));
  });
  expect(told).toEqual([]);
  const lines = log.split("\n");
  expect(lines.filter((line) => line.includes('"level":"debug"')).length).toBeGreaterThan(20);
  expect(lines.flatMap((line) => canaries.in(line).map((name) => `${name}: ${line}`))).toEqual([]);
  expect(watch.looks).toBeGreaterThan(100);
  if (process.platform === "linux") expect([...watch.seen].some((one) => one.includes("\0serve\0"))).toBe(true);
  expect([...watch.seen].flatMap((one) => canaries.in(one).map((name) => `${name}: ${one}`))).toEqual([]);

  const files = filesBelow([home, folder]);
  const found = files.flatMap(({ path, text }) => canaries.in(text).map((name) => `${path}: ${name}`));
  const keeps = join(stateFolder, "credentials.json");
  const last = [...webos.clientKeys.keys()].length;
  expect(found.toSorted()).toEqual(
    [`${configFile}: vendor password by the CLI`, `${keeps}: Kodi password`, `${keeps}: client key ${last}`].toSorted(),
  );
  expect(readdirSync(stateFolder)).toContain("devices.json");
});

test("T13 T31 a device that its user calls like a secret is called so in answers, and in no log line, before a start and after", async () => {
  const kept = JSON.parse(readFileSync(join(daemon.stateFolder, "credentials.json"), "utf8")).credentials;
  const all = Object.values(kept as Record<string, Record<string, string>>).flatMap(({ key, password }) => [
    ...[key, password].filter((one) => one !== undefined),
  ]);
  expect(all).toHaveLength(2);
  for (const name of ["no secret at all", ...all, secret.byCli]) {
    expect((await daemon.api("PATCH", "/devices/roku", { name })).status).toBe(200);
    for (let start = 0; start < 2; start++) {
      const path = `/devices/${encodeURIComponent(name)}`;
      for (const [method, to] of [
        ["GET", "state"],
        ["POST", "apps/stop"],
      ]) {
        const { status, body } = await daemon.api(method ?? "", `${path}/${to}`);
        // A replacement would confirm a guess.
        expect([status, body.error.message]).toEqual([500, expect.stringContaining(name)]);
      }
      await daemon.stop();
      expect(canaries.in(daemon.log())).toEqual([]);
      expect(daemon.log()).toContain(name === "no secret at all" ? name : "[redacted]");
      daemon = await startTestDaemon({ folder: daemon.folder, env: environment() });
    }
    const path = `/devices/${encodeURIComponent(name)}`;
    expect((await daemon.api("PATCH", path, { name: "roku" })).status).toBe(200);
  }
});
