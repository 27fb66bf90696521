/** The daemon answers as the document says, by a validator that knows only the document; and the examples are real. */
import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import net from "node:net";
import { dirname, join } from "node:path";
import { operations } from "../../src/api/operations.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { daemonForFile } from "../blackbox/daemon-for-file.ts";
import { packageOf } from "../support/sets.ts";
import { answerProblems, at, problems } from "./document.ts";

type Name = keyof typeof operations;

interface Asked {
  readonly id?: string;
  readonly body?: unknown;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const password = "rokudev";
const quiet = { ssdp: false } as const;
/** A TV that does everything, a stick in limited mode, and a TV in developer mode with two apps of one name. */
const house = {
  livingRoom: createRokuSimulator({ ...quiet, name: "Living Room", serial: "X0OPENAPI001" }),
  bedroom: createRokuSimulator({
    ...quiet,
    name: "Bedroom",
    serial: "X0OPENAPI002",
    kind: "stick",
    access: "limited",
  }),
  workbench: createRokuSimulator({
    ...quiet,
    name: "Workbench",
    serial: "X0OPENAPI003",
    developer: { password },
    apps: [
      { id: "1201", name: "News" },
      { id: "1202", name: "News" },
    ],
  }),
};
const { daemon, startSimulator } = await daemonForFile();
for (const set of Object.values(house)) {
  const { host, port, ports } = await startSimulator(set);
  const known = Object.fromEntries(Object.entries(ports).filter(([, number]) => number !== null));
  expect((await daemon.api("POST", "/devices", { host, port, ports: known })).status).toBe(200);
}

/** One call, whose answer is validated by the document; gives `data`, or the code of the failure. */
async function ask(name: Name, { id = "", body, query, headers = {} }: Asked = {}): Promise<unknown> {
  const { method, path } = operations[name];
  const place =
    path.replace(":id", encodeURIComponent(id)).replace(":group", "all").replace(":scene", id) +
    (query === undefined ? "" : `?${query}`);
  const sent = body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) };
  const response = await fetch(daemon.url + place, { method: method.toUpperCase(), headers, ...sent });
  const answer = (await response.json()) as { data?: unknown; error?: { code: string } };
  expect([name, answerProblems(name, response.status, answer)]).toEqual([name, []]);
  expect(response.headers.get("content-type")).toStartWith("application/json");
  if (answer.error) failures.set(answer.error.code, answer);
  return answer.error?.code ?? answer.data;
}

/** The last failure of each code. */
const failures = new Map<string, unknown>();

/** A call that must fail exactly as in the document's example. */
async function fail(code: string, name: Name, asked: Asked = {}): Promise<void> {
  expect([name, await ask(name, asked)]).toEqual([name, code]);
  // The document's examples are of the usual place.
  const answered = JSON.stringify(failures.get(code)).replace(daemon.url, "http://127.0.0.1:7272/v1");
  expect(JSON.parse(answered)).toEqual(at("components", "examples", code)["value"]);
}

/** Validates each line of a finite stream by the document; returns their number. */
async function streamed(path: string, accept: string, response: Response): Promise<number> {
  expect(response.headers.get("content-type")).toBe(accept);
  const lines = (await response.text()).split("\n").flatMap((line) => /^(?:data: )?(\{.*)/.exec(line)?.[1] ?? []);
  for (const line of lines) {
    const place = ["paths", path, "post", "responses", "200", "content", accept, "schema"] as const;
    expect([line, problems(JSON.parse(line), ...place)]).toEqual([line, []]);
  }
  return lines.length;
}

function form(bytes: Uint8Array<ArrayBuffer>): FormData {
  const form = new FormData();
  form.set("archive", new Blob([bytes]), "package.zip");
  return form;
}

const archive = (salt: string) =>
  Uint8Array.from(packageOf({ "source/main.brs": `sub main()\n  print "${salt}"\nend sub\n` }));

const living = { id: "Living Room" };
const bedroom = { id: "Bedroom" };
const bench = { id: "Workbench" };

/** Operations whose example does not fit the sets of this test. */
const otherwise: ReadonlySet<string> = new Set([
  "installPackage",
  "addDevice",
  "pairDevice",
  "joinDevice",
  "splitDevice",
  // This set has no app that plays addresses.
  "playMedia",
  // Nothing of this name is left by then.
  "runSteps",
  "runScene",
  // It would keep all that comes after from the device.
  "takeLease",
]);

/** The capability without which an operation is `unsupported_operation`. */
const needs: Readonly<Partial<Record<Name, string>>> = {
  setVolume: "volume",
  controlPlayback: "seek",
  playMedia: "media",
  selectInput: "inputs",
  selectChannel: "channels",
  notify: "notify",
  reloadPackage: "dev",
};
/** Operations for which this set has no app. */
const lacking: Readonly<Record<string, string>> = { playMedia: "unsupported_media" };

describe("what works", () => {
  test("devices and their state", async () => {
    expect(await ask("listDevices")).toHaveLength(3);
    await ask("getDevice", living);
    await ask("getState", living);
    await ask("getState", bedroom);
    const { host, port } = house.livingRoom;
    expect(await ask("addDevice", { body: { host, port } })).toMatchObject({ name: "Living Room" });
    await ask("changeDevice", { ...bedroom, body: { name: "Bedroom" } });
    house.livingRoom.play({ durationMs: 60_000 });
    expect(await ask("getState", living)).toMatchObject({ state: { playback: { status: "playing" } } });
  });

  test("apps, keys and sequences", async () => {
    await ask("listApps", living);
    await ask("refreshApps", living);
    await ask("refreshApps", { ...living, body: { clear: true } });
    expect(await ask("launchApp", { ...living, body: { app: "netflix" } })).toMatchObject({ action: "launch" });
    expect(await ask("stopApp", living)).toMatchObject({ action: "stop", app: { id: "netflix" } });
    await ask("pressKey", { ...living, body: { key: "home" } });
    await ask("pressKey", { ...living, body: { key: "literal:Amélie" } });
    await ask("pressKeys", { ...living, body: { keys: ["down", "select"], delay_ms: 0 } });
  });

  test("scenes", async () => {
    const folder = join(dirname(daemon.configFile), "scenes");
    await Bun.write(join(folder, "movie-night.toml"), 'about = "x"\n[[steps]]\nlaunch = "netflix"\nname = "film"\n');
    await Bun.write(join(folder, "broken.toml"), '\n\n[[steps]]\nkey = "hoem"\ndevice = "Living Room"\n');
    const body = { device: "Living Room" };
    expect(await ask("listScenes")).toMatchObject({ scenes: [{ ok: false }, { name: "movie-night", steps: 1 }] });
    expect(await ask("runScene", { id: "movie-night", body })).toMatchObject({ outcome: "done", scene: "movie-night" });
    expect(await ask("runScene", { id: "movie-night", body: { ...body, dry_run: true } })).toMatchObject({
      outcome: "checked",
    });
    await ask("runSteps", { body: { ...body, toml: '[[steps]]\nif = "power:on"\nthen = [{ key = "home" }]' } });
    expect(await ask("runSteps", { body: { ...body, steps: [{ key: "stop" }] } })).toBe("invalid_scene");
    for (const accept of ["application/x-ndjson", "text/event-stream"]) {
      const init = { method: "POST", headers: { accept }, body: JSON.stringify({ ...body, steps: [{ key: "home" }] }) };
      expect(await streamed("/v1/run", accept, await fetch(`${daemon.url}/run`, init))).toBe(3);
    }
    expect(await ask("runScene", { id: "broken" })).toBe("invalid_scene");
    expect(await ask("runScene", { id: "nothing" })).toBe("scene_not_found");
  });

  test("the daemon and its config", async () => {
    await ask("status");
    await ask("health");
    await ask("readConfig");
    await ask("patchConfig", { body: { "daemon.http_port": 7999, "daemon.log_level": "warn" } });
    expect(await ask("reloadConfig")).toMatchObject({ restart_required: ["daemon.http_port"] });
    await ask("patchConfig", { body: { "daemon.http_port": daemon.port } });
  });

  test("the bodies in the document", async () => {
    const { id, capabilities } = (await ask("getDevice", living)) as { id: string; capabilities: string[] };
    for (const [name, { method, path }] of Object.entries(operations)) {
      const place = ["paths", `/v1${path.replaceAll(/:(\w+)/g, "{$1}")}`, method] as const;
      // Nobody lives at the address that is shown, a form has no example, and this set pairs with nobody and has no other half.
      if (at(...place)["requestBody"] === undefined || otherwise.has(name)) continue;
      const { example } = at(...place, "requestBody", "content", "application/json");
      const answered = await ask(name as Name, { id, body: example });
      const needed = needs[name.replace(/OfGroup$/, "") as Name];
      const lacks = needed !== undefined && !capabilities.includes(needed);
      const refusal = lacks ? "unsupported_operation" : lacking[name];
      expect([name, refusal ? answered : typeof answered, answered]).toEqual([name, refusal ?? "object", answered]);
    }
    await ask("changeDevice", { id, body: { name: "Living Room" } });
  });
});

describe("what is refused, in the words of its example", () => {
  test("invalid requests", async () => {
    await fail("invalid_payload", "pressKeys", { ...living, body: { keys: [] } });
    await fail("invalid_key", "pressKey", { ...living, body: { key: "hoem" } });
    await fail("unsupported_key", "pressKey", { ...living, body: { key: "stop" } });
    await fail("unsupported_operation", "readLogs", bedroom);
    await fail("payload_too_large", "addDevice", { body: { host: "x".repeat(1024 * 1024) } });
    await fail("invalid_host", "addDevice", { body: { host: "224.0.0.1" } });
    expect(await ask("readLogs", { ...bench, query: `cursor=${"x".repeat(65)}` })).toBe("invalid_payload");
  });

  test("names", async () => {
    await fail("device_not_found", "getDevice", { id: "Kitchen" });
    await fail("invalid_device_name", "getState", { id: "50% off" });
    await fail("device_name_taken", "changeDevice", { ...bedroom, body: { name: "living room" } });
    await ask("patchConfig", { body: { "daemon.default_device": null } });
    await fail("default_device_missing", "pressKey", { id: "default", body: { key: "home" } });
    await fail("not_found", "getDevice", { id: "" });
  });

  test("apps and packages", async () => {
    const reader = net.connect(house.workbench.ports.console ?? 0, house.workbench.host);
    await once(reader, "connect");
    await fail("console_in_use", "readLogs", bench);
    reader.destroy();
    await ask("listApps", bench);
    await fail("app_not_found", "launchApp", { ...living, body: { app: "netflx" } });
    await fail("ambiguous_app", "launchApp", { ...bench, body: { app: "news" } });
    const icon = await fetch(`${daemon.url}/devices/Workbench/apps/news/icon`);
    expect(answerProblems("getIcon", icon.status, await icon.json())).toEqual([]);
    await fail("dev_package_missing", "reloadPackage", bench);
    await fail("dev_password_missing", "installPackage", { ...bench, body: form(archive("none")) });
    await ask("patchConfig", { body: { "dev.vendor_password": "wrong" } });
    await fail("invalid_archive", "installPackage", { ...bench, body: form(Uint8Array.from(Buffer.from("no ZIP"))) });
    await fail("dev_auth_failed", "installPackage", { ...bench, body: form(archive("wrong")) });
    await ask("patchConfig", { body: { "dev.vendor_password": password } });
    house.workbench.installFault("compile");
    await fail("package_rejected", "installPackage", { ...bench, body: form(archive("broken")) });
    house.workbench.installFault("update-required");
    expect(await ask("installPackage", { ...bench, body: form(archive("late")) })).toBe("dev_update_required");
    house.workbench.installFault(null);
    expect(await ask("installPackage", { ...bench, body: form(archive("sound")) })).toMatchObject({
      action: "install",
    });
    expect(await ask("reloadPackage", bench)).toMatchObject({ action: "reload", app: { type: "dev" } });
    const { cursor } = (await ask("readLogs", bench)) as { cursor: string };
    await ask("readLogs", { ...bench, query: `cursor=${cursor}` });
  });

  test("settings", async () => {
    await fail("unsupported_patch_value", "patchConfig", { body: { "discovery.hosts": ["10.0.0.9"] } });
    await fail("unknown_config_key", "patchConfig", { body: { "daemon.http_prot": 1 } });
    await fail("invalid_config_value", "patchConfig", { body: { "daemon.http_host": "0.0.0.0" } });
    const text = await Bun.file(daemon.configFile).text();
    await Bun.write(daemon.configFile, 'daemon = "broken');
    expect([await ask("readConfig"), await ask("reloadConfig")]).toEqual(["config_invalid", "config_invalid"]);
    await Bun.write(daemon.configFile, text);
  });

  test("foreign callers", async () => {
    await fail("forbidden_host", "listDevices", { headers: { host: "evil.example" } });
    await fail("forbidden_origin", "pressKey", {
      ...living,
      body: { key: "home" },
      headers: { origin: "http://example.org" },
    });
    await fail("loop_detected", "status", { headers: { "zapd-call": "1" } });
  });

  test("wrong methods", async () => {
    const response = await fetch(`${daemon.url}/devices`, { method: "PUT" });
    const shown = Object.values(at("components", "schemas", "Failure", "examples"));
    expect(shown).toContainEqual(await response.json());
  });
});

test("sets that refuse, or cannot do it", async () => {
  expect(await ask("pressKey", { ...bedroom, body: { key: "home" } })).toBe("device_refused");
  await house.bedroom.sleep("deep");
  expect(await ask("getState", bedroom)).toBe("device_unreachable");
  expect(await ask("removeDevice", bedroom)).toMatchObject({ name: "Bedroom", status: "offline" });
  // Last: sets of other tests may answer too.
  await ask("discoverDevices");
});
