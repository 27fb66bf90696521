/** MCP over HTTP and over stdio, used by the clients of the protocol's own SDK. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { tools } from "../../src/mcp/tools.ts";
import { createAndroidTvSimulator } from "../../src/simulators/androidtv.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { until } from "../support/http-device.ts";
import { type Agent, connect, editions, type Person } from "../support/mcp-clients.ts";
import { refusal, requestOf, send } from "../support/raw-http.ts";
import { daemonForFile } from "./daemon-for-file.ts";

// A scan would find the sets of tests that run beside this one.
const config = { discovery: { interfaces: ["none"] }, mcp: { http: true } };
// A faster clock makes no RSA key sooner, as pairing needs one.
const { daemon, startSimulator } = await daemonForFile({ config, speed: 1 });
// The first request makes the token.
await fetch(`http://127.0.0.1:${daemon.port}/mcp`, { method: "POST", body: "{}" });
const token = readFileSync(join(daemon.stateFolder, "mcp.token"), "utf8").trim();

async function plugIn(name: string) {
  const set = await startSimulator(createRokuSimulator({ name, serial: `X0MCP${name}`, ssdp: false, launchMs: 0 }));
  await daemon.api("POST", "/devices", { host: set.host, port: set.port, name });
  return set;
}
const [kitchen, study] = [await plugIn("Kitchen"), await plugIn("Study")];
await daemon.api("PATCH", "/config", { "daemon.default_device": "Kitchen" });

async function withAgent<T>(
  edition: (typeof editions)[number],
  use: (agent: Agent) => Promise<T>,
  person?: Person,
): Promise<T> {
  const agent = await connect(edition, { daemon, token, ...(person && { person }) });
  try {
    return await use(agent);
  } finally {
    await agent.close();
  }
}

const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
const usual = { "content-type": "application/json", accept: "application/json, text/event-stream" };

function post(headers: Record<string, string> = {}, body = ping): Promise<Response> {
  return fetch(`http://127.0.0.1:${daemon.port}/mcp`, { method: "POST", headers: { ...usual, ...headers }, body });
}

describe("T33 who is let in at /mcp", () => {
  const bearer = () => ({ authorization: `Bearer ${token}` });

  test("a client with the token, and none without it", async () => {
    const letIn = await post(bearer());
    expect([letIn.status, letIn.headers.get("access-control-expose-headers")]).toEqual([200, null]);
    for (const authorization of [
      undefined,
      "Bearer",
      `Bearer ${token.slice(1)}`,
      `Bearer ${token}x`,
      `Bearer ${[...token].reverse().join("")}`,
      `Basic ${token}`,
      token,
    ]) {
      const answer = await post(authorization === undefined ? {} : { authorization });
      const { ok, error } = (await answer.json()) as { ok: boolean; error: { code: string; hint: string } };
      expect([answer.status, ok, error.code]).toEqual([401, false, "token_missing"]);
      expect(error.hint).toContain("zapd mcp token");
      expect(answer.headers.get("www-authenticate")).toStartWith("Bearer");
    }
    expect(statSync(join(daemon.stateFolder, "mcp.token")).mode & 0o777).toBe(0o600);
  });

  test("no page of another origin, with or without the token", async () => {
    for (const method of ["POST", "GET", "DELETE"])
      for (const page of [{ origin: "http://evil.example" }, { origin: "null" }, { "sec-fetch-site": "cross-site" }]) {
        const answer = await fetch(`http://127.0.0.1:${daemon.port}/mcp`, {
          method,
          headers: { ...usual, ...bearer(), ...page } as Record<string, string>,
          ...(method === "POST" && { body: ping }),
        });
        const { error } = (await answer.json()) as { error: { code: string } };
        expect([answer.status, error.code]).toEqual([403, "forbidden_origin"]);
      }
  });

  test("a page whose origin is listed, with the token", async () => {
    const origin = "http://localhost:6274";
    const at = `http://127.0.0.1:${daemon.port}/mcp`;
    const asks = { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization" };
    const listed = { "daemon.cors_enabled": true, "daemon.cors_allowed_origins": origin };
    await daemon.api("PATCH", "/config", listed);
    try {
      const preflight = await fetch(at, { method: "OPTIONS", headers: asks });
      expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, origin]);
      expect(preflight.headers.get("access-control-allow-headers")).toContain("authorization");
      expect((await post({ origin })).status).toBe(401);
      const answer = await post({ origin, ...bearer() });
      expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, origin]);
      expect(answer.headers.get("access-control-expose-headers")).toContain("mcp-session-id");
    } finally {
      await daemon.api("PATCH", "/config", { "daemon.cors_enabled": null, "daemon.cors_allowed_origins": null });
    }
    expect((await fetch(at, { method: "OPTIONS", headers: asks })).status).toBe(403);
  });

  test("no foreign name in Host (DNS rebinding)", async () => {
    for (const host of ["evil.example", `evil.example:${daemon.port}`, "127.0.0.1.evil.example"]) {
      const headers = [`host: ${host}`, `authorization: Bearer ${token}`, "content-type: application/json"];
      const answer = await send(requestOf("POST", "/mcp", headers, ping), { to: daemon.port });
      expect(refusal(answer)).toBe("403 forbidden_host");
    }
  });

  test("64 streams over TCP at most, those of /events among them; one that ends makes room", async () => {
    const listen = { jsonrpc: "2.0", id: 1, method: "subscriptions/listen" };
    const leave = new AbortController();
    const events = () => fetch(`${daemon.url}/events`, { signal: leave.signal });
    const open = await Promise.all(Array.from({ length: 64 }, events));
    expect(new Set(open.map(({ status }) => status))).toEqual(new Set([200]));
    const refused = await post(bearer(), JSON.stringify(listen));
    expect([refused.status, ((await refused.json()) as { error: { code: string } }).error.code]).toEqual([
      429,
      "too_many_streams",
    ]);
    leave.abort();
    await until("there is room", async () => (await post(bearer(), JSON.stringify(listen))).status !== 429);
  });

  test("a body that is no message gets an error", async () => {
    for (const body of ["", "{", "[]", "null", '"x"', '{"jsonrpc":"2.0"}', `[${ping},${ping}]`, `{"a":`.repeat(100)]) {
      const answer = await post(bearer(), body);
      expect(answer.status).toBeLessThan(500);
      await answer.text();
    }
    expect((await post({ ...bearer(), "content-type": "text/plain" })).status).toBe(415);
    expect((await post(bearer(), `"${"x".repeat(1_100_000)}"`)).status).toBe(413);
    expect((await post({ ...bearer(), "mcp-session-id": "none" })).status).toBe(404);
    for (const method of ["PUT", "HEAD"]) {
      const { status, headers } = await fetch(`http://127.0.0.1:${daemon.port}/mcp`, { method, headers: bearer() });
      expect([status, headers.get("allow")]).toEqual([405, "GET, POST, DELETE"]);
    }
  });

  test("a stream of a session is answered before its first message", async () => {
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "a test", version: "1" } };
    const begun = await post(bearer(), JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params }));
    await begun.text();
    const session = begun.headers.get("mcp-session-id") ?? "";
    const leave = new AbortController();
    const headers = { ...bearer(), accept: "text/event-stream", "mcp-session-id": session };
    const stream = await fetch(`http://127.0.0.1:${daemon.port}/mcp`, { headers, signal: leave.signal });
    const [type, caching] = ["content-type", "cache-control"].map((name) => stream.headers.get(name));
    expect([stream.status, type, caching]).toEqual([200, "text/event-stream", "no-store"]);
    leave.abort();
  });

  test("no client while it is off, and the hint says how to turn it on", async () => {
    await daemon.api("PATCH", "/config", { "mcp.http": false });
    const answer = await post(bearer());
    const { error } = (await answer.json()) as { error: { code: string; hint: string } };
    expect([answer.status, error.code]).toEqual([404, "not_found"]);
    expect(error.hint).toContain("zapd config set mcp.http true");
    await daemon.api("PATCH", "/config", { "mcp.http": true });
    expect((await post(bearer())).status).toBe(200);
  });
});

describe.each(editions)("a client of %s", (edition) => {
  let agent: Agent;
  let person: Person = () => ({ action: "decline" });
  beforeAll(async () => {
    agent = await connect(edition, { daemon, token, person: (message) => person(message) });
  });
  afterAll(() => agent?.close());

  test("sees the same tools, and drives a set with them", async () => {
    const listed = JSON.stringify(await agent.tools());
    expect(listed).toBe(JSON.stringify(tools.map((tool) => tool.listed)));
    expect(JSON.stringify(await agent.tools())).toBe(listed);

    const launched = await agent.call("launch_app", { app: "YouTube" });
    expect(launched.structuredContent).toMatchObject({
      action: "launch",
      confirmed: true,
      device: { name: "Kitchen" },
      app: { id: "youtube" },
      after: { app: { id: "youtube" } },
    });
    expect(launched.structuredContent).toHaveProperty("before.power", "on");
    expect(launched.content[0]?.text).toStartWith("Kitchen was told to launch YouTube. The device shows it.");
    expect((await agent.call("set_volume", { device: "kitchen", level: 15 })).structuredContent).toMatchObject({
      volume: { level: 15 },
      confirmed: true,
      after: { volume: { level: 15 } },
    });
    expect(kitchen.state.volume).toBe(15);
    const state = await agent.call("get_state");
    const told = await daemon.api("GET", "/devices/Kitchen/state");
    expect(Object.keys(state.structuredContent)).toEqual(Object.keys(told.body.data));
    expect(state.content[0]?.text).toBe("Kitchen is on · YouTube · volume 15.");

    const refused = await agent.call("press_keys", { keys: ["hoem"] });
    expect(refused).toMatchObject({ isError: true, structuredContent: { code: "invalid_key" } });
    expect(refused.structuredContent.hint).toContain("Did you mean home?");
    expect(await agent.call("set_volume", { loudness: 3 })).toMatchObject({
      isError: true,
      structuredContent: { code: "invalid_payload" },
    });
    expect(await agent.call("get_state", { device: "Attic" })).toMatchObject({
      isError: true,
      structuredContent: { code: "device_not_found" },
    });
    expect(await agent.call("get_screenshot")).toMatchObject({ isError: true });
    await expect(agent.call("format_disk")).rejects.toThrow("Unknown tool format_disk");
  });

  test("reads resources, and is notified when one changes", async () => {
    const uris = (await agent.resources()).map(({ uri }) => uri);
    expect(uris.slice(0, 3)).toEqual(["zapd://devices", "zapd://keys", "zapd://guide.md"]);
    const uri = uris[3] ?? "";
    expect(JSON.parse(await agent.read(uri))).toMatchObject({ device: { name: "Kitchen" }, state: { power: "on" } });
    expect(JSON.parse(await agent.read("zapd://devices/Study/state"))).toMatchObject({ device: { name: "Study" } });
    expect(await agent.read("zapd://guide.md")).toContain("confirmed");
    await expect(agent.read("zapd://devices/Attic/state")).rejects.toThrow();
    await expect(agent.read("zapd://passwords")).rejects.toThrow();
    let level = kitchen.state.volume;
    await agent.changed(uri, () => daemon.api("POST", "/devices/Kitchen/volume", { level: ++level }));
    await agent.changed("zapd://devices/Kitchen/state", () =>
      daemon.api("POST", "/devices/Kitchen/volume", { level: ++level }),
    );
    await agent.changed("zapd://devices", () =>
      daemon.api("PATCH", "/devices/Study", { labels: [`by-${editions.indexOf(edition)}`] }),
    );
  });

  test("is asked before more than one set is turned off, and without a yes nothing happens", async () => {
    await Promise.all([kitchen, study].map((set) => set.wake()));
    const asked: string[] = [];
    const no: Person = (message) => {
      asked.push(message);
      return { action: "decline" };
    };
    person = no;
    const off = { device: "all", on: false };
    const kept = await agent.call("set_power", off);
    expect(asked).toEqual(["Turn off 2 devices (Kitchen, Study)?"]);
    expect([kept.structuredContent.confirmed, kitchen.state.power]).toEqual([false, "on"]);
    // A yes to something else that a client asks in the same form.
    person = () => ({ action: "accept", content: { remember: true, off: false } });
    await agent.call("set_power", off);
    expect(kitchen.state.power).toBe("on");
    person = () => ({ action: "accept", content: { off: true } });
    const done = await agent.call("set_power", off);
    expect(done.structuredContent).toMatchObject({
      confirmed: true,
      results: [{ ok: true, after: { power: "standby" } }, { ok: true }],
    });
    person = no;
    await agent.call("set_power", { device: "all", on: true });
    expect(asked).toHaveLength(1);
    expect(kitchen.state.power).toBe("on");
  });
});

test.each(["the first edition over HTTP", "the second edition over HTTP"] as const)(
  "the person is asked for the code that a set shows, and then the command is done: %s",
  async (edition) => {
    const set = createAndroidTvSimulator({ name: edition, remotePort: 0, pairingPort: 0, mdns: false });
    await set.start();
    try {
      const { remote, pairing } = set.ports;
      const given = { host: set.host, port: remote, ports: { pairing }, platform: "androidtv", name: edition };
      expect((await daemon.api("POST", "/devices", given)).status).toBe(200);
      const press = (agent: Agent) => agent.call("press_keys", { device: edition, keys: ["up"], wait_ms: 500 });
      const required = { isError: true, structuredContent: { code: "pairing_required" } };
      expect(await withAgent(edition, press)).toMatchObject(required);
      expect(await withAgent(edition, press, () => ({ action: "decline" }))).toMatchObject(required);
      expect([set.state.paired, set.keys.length]).toEqual([0, 0]);
      const asked: string[] = [];
      const person: Person = (message) => {
        asked.push(message);
        return { action: "accept", content: { pin: set.state.code ?? "" } };
      };
      expect((await withAgent(edition, press, person)).structuredContent).toMatchObject({ sent: 1, confirmed: null });
      expect(asked).toEqual([`${edition} shows a code of 6 characters to pair it with zapd. What is the code?`]);
      expect([set.state.paired, set.keys.length]).toEqual([1, 1]);
    } finally {
      await daemon.api("DELETE", `/devices/${encodeURIComponent(edition)}`);
      await set.stop();
    }
  },
);

test.each(editions)(
  "an argument that is null is one that was left out, as models in strict mode send it: %s",
  (edition) =>
    withAgent(edition, async (agent) => {
      const pressed = await agent.call("press_keys", {
        device: null,
        keys: ["up"],
        delay_ms: null,
        hold_ms: null,
        wait_ms: null,
      });
      expect(pressed.structuredContent).toMatchObject({ sent: 1, device: { name: "Kitchen" } });
      const until = { power: "on", app: null, playback: null, input: null, muted: null };
      const waited = await agent.call("wait_for", { device: "Study", until, timeout_ms: null });
      expect(waited.structuredContent).toMatchObject({ matched: true });
      const steps = [{ name: null, volume: { level: 7, step: null, muted: null }, key: null }];
      const done = await agent.call("run_scene", { name: null, steps, device: "Study", dry_run: null, wait_ms: null });
      expect(done.structuredContent).toMatchObject({ outcome: "done", after: { volume: { level: 7 } } });
      for (const [tool, args, text] of [
        ["set_power", { device: null, on: null }, "set_power: on is missing"],
        ["wait_for", { until: { app: null } }, "needs power, app, playback, input or muted"],
        ["press_keys", { keys: [null] }, "press_keys: keys.0 "],
      ] as const) {
        const refused = await agent.call(tool, args);
        expect(refused).toMatchObject({ isError: true, structuredContent: { code: "invalid_payload" } });
        expect(refused.content[0]?.text).toContain(text);
      }
    }),
);

test("runs a scene in one call, and tells all its mistakes before anything runs", () =>
  withAgent("the second edition over HTTP", async (agent) => {
    const steps = [{ launch: "netflix" }, { volume: 9 }, { key: "down" }];
    const dry = await agent.call("run_scene", { device: "Study", steps, dry_run: true });
    expect(dry.structuredContent).toMatchObject({ outcome: "checked", confirmed: null });
    const done = await agent.call("run_scene", { device: "Study", steps });
    expect(done.structuredContent).toMatchObject({
      outcome: "done",
      failed: 0,
      confirmed: null,
      after: { app: { id: "netflix" }, volume: { level: 9 } },
      steps: [
        { status: "did", confirmed: true },
        { status: "did", confirmed: true },
        { status: "did", confirmed: null },
      ],
      devices: [{ device: { name: "Study" } }],
    });
    expect(done.content[0]?.text).toStartWith("The scene is done; 0 failed. 1 launch netflix: did, seen; ");
    mkdirSync(join(daemon.folder, "scenes"), { recursive: true });
    writeFileSync(join(daemon.folder, "scenes", "late.toml"), "[[steps]]\nvolume = 12\n", { mode: 0o600 });
    const named = await agent.call("run_scene", { device: "Study", name: "late" });
    expect(named.structuredContent).toMatchObject({ outcome: "done", after: { volume: { level: 12 } } });
    const wrong = await agent.call("run_scene", { device: "Study", steps: [{ volume: 200 }, { lauch: "netflix" }] });
    expect(wrong).toMatchObject({ isError: true, structuredContent: { code: "invalid_scene" } });
    expect(wrong.structuredContent.details.mistakes).toHaveLength(2);
    expect(wrong.content[0]?.text).toContain("launch");
    expect(study.state.volume).toBe(12);
    for (const args of [{}, { name: "none", steps }, { name: "none" }])
      expect(await agent.call("run_scene", args)).toMatchObject({ isError: true });
  }));

test("over stdio, without a daemon, the error says how to start one", async () => {
  const agent = await connect("the second edition over stdio", {
    daemon,
    token,
    socket: join(daemon.folder, "nobody.sock"),
  });
  try {
    const answer = await agent.call("list_devices");
    expect(answer).toMatchObject({ isError: true, structuredContent: { code: "daemon_not_running" } });
    expect(answer.content[0]?.text).toContain("zapd serve");
    expect(await agent.resources()).toHaveLength(3);
  } finally {
    await agent.close();
  }
});

test("over stdio, a path that leads nowhere is told in full", () =>
  withAgent("the second edition over stdio", async (agent) => {
    const answer = await agent.call("dev_install", { device: "Kitchen", path: "./no-such-app" });
    expect(answer).toMatchObject({ isError: true, structuredContent: { code: "invalid_archive" } });
    expect(answer.structuredContent.message).toBe(`${resolve("no-such-app")} does not exist`);
  }));
