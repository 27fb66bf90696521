/**
 * zapd inside another server: below a prefix, with the embedder's own hosts, and twice in one process. What it says of its
 * own address is where it was reached.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Hono } from "hono";
import { createClient } from "../../src/api/client.ts";
import { createCastSimulator } from "../../src/simulators/cast.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { createZapd } from "../../src/zapd.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { requestOf, send } from "../support/raw-http.ts";
import { saidBy } from "../support/said.ts";
import { root } from "../support/sources.ts";

const folder = mkdtempSync(join(tmpdir(), "zapd-embed-"));
const set = createRokuSimulator({ name: "Embedded", host: "127.0.0.61", ssdp: false });
await set.start();
const common = { config: join(folder, "config.toml") };
const one = await createZapd({ ...common, state: join(folder, "one"), prefix: "/tv", hosts: ["tv.home:8443"] });
const other = await createZapd({ ...common, state: join(folder, "other") });
const app = new Hono();
app.get("/", (c) => c.text("ours"));
app.all("/tv/*", (c) => one.fetch(c.req.raw));
app.get("/other/*", (c) => one.fetch(c.req.raw));
const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: app.fetch });
const bare = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => one.fetch(request) });

afterAll(async () => {
  await Promise.all([server.stop(true), bare.stop(true)]);
  await Promise.all([one.stop(), other.stop()]);
  await set.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("below a prefix, through the typed client, with the embedder's other pages untouched", async () => {
  const zapd = createClient({ url: `http://127.0.0.1:${server.port}/tv/v1` });
  const device = await zapd.addDevice({ body: { host: set.host, port: set.port, name: "Den" } });
  expect(device.serial).toBe(set.serial);
  const pressed = await zapd.pressKey({ id: "Den", body: { key: "home" } });
  expect(pressed.key).toBe("home");
  expect(set.keys).toEqual(["Home"]);
  expect((await zapd.getState({ id: "Den" })).state.power).toBe("on");
  expect(await (await fetch(`http://127.0.0.1:${server.port}/`)).text()).toBe("ours");
});

test("two in one process share nothing", async () => {
  const mine = createClient({
    url: "http://127.0.0.1/v1",
    fetch: (request) => other.fetch(withHost(request, "127.0.0.1")),
  });
  expect(await mine.listDevices()).toEqual([]);
  expect(other.registry.records).toHaveLength(0);
  expect(one.registry.records).toHaveLength(1);
});

test("only the hosts of loopback and of the caller's own list are let in", async () => {
  const ask = async (host: string) => (await one.fetch(withHost(new Request("http://x/tv/v1/health"), host))).status;
  expect(await ask("tv.home:8443")).toBe(200);
  expect(await ask("127.0.0.1:9")).toBe(200);
  expect(await ask("tv.home")).toBe(403);
  expect(await ask("tv.home:8443.evil.test")).toBe(403);
});

test("the guard stays on, and it answers, where a server hands its handler an object of its own", async () => {
  const handlers: readonly ((request: Request) => Response | Promise<Response>)[] = [
    (request) => (other.fetch as (request: Request, server: unknown) => Response)(request, { port: 1, timeout() {} }),
    new Hono().mount("/", other.fetch).fetch,
  ];
  for (const handler of handlers) {
    const ask = async (host: string, init: RequestInit) =>
      (await handler(withHost(new Request("http://x/v1/config/reload", init), host))).status;
    expect(await ask("evil.test", { method: "POST" })).toBe(403);
    expect(await ask("127.0.0.1", { method: "POST", headers: { origin: "null" } })).toBe(403);
    expect(await ask("127.0.0.1", { method: "POST" })).toBe(200);
  }
});

test("what takes longer than the idle limit of the server that hands itself on is answered", async () => {
  // Bun looks for idle connections every 4 s. It spares those whose request had a body.
  const limits = { hostname: "127.0.0.1", port: 0, idleTimeout: 1 };
  const below = new Hono<{ Bindings: Bun.Server<undefined> }>().all("/tv/*", (c) => one.fetch(c.req.raw, c.env));
  const servers = [
    Bun.serve({ ...limits, fetch: (request, server) => one.fetch(request, server) }),
    Bun.serve({ ...limits, fetch: below.fetch }),
  ];
  const query = { wait_for: "app:none-of-them", timeout_ms: "5000" };
  const answers = await Promise.allSettled(
    servers.map(({ port }) => createClient({ url: `http://127.0.0.1:${port}/tv/v1` }).getState({ id: "Den", query })),
  );
  await Promise.all(servers.map((server) => server.stop(true)));
  const done = { status: "fulfilled", value: { matched: false } };
  expect(answers).toMatchObject([done, done]);
});

test("a Request made without a Host passes by request() alone, whoever hands it on", async () => {
  const bare = () => new Request("http://zapd/v1/health");
  expect(bare().headers.has("host")).toBe(false);
  expect((await other.fetch(bare())).status).toBe(403);
  const { error } = (await (await other.fetch(bare())).json()) as { error: { code: string; hint: string } };
  // At which port it is served, only the program knows that serves it.
  expect([error.code, error.hint]).toEqual([
    "forbidden_host",
    "Call it by a loopback address, such as 127.0.0.1; the program that serves it can allow other names with its option `hosts`",
  ]);
  for (const asked of ["/v1/health", "http://zapd/v1/health", new URL("http://zapd/v1/health"), bare()])
    expect((await other.request(asked)).status).toBe(200);
  // Below its prefix, and without it.
  for (const path of ["/tv/v1/devices/Den/state", "/v1/devices/Den/state"])
    expect((await one.request(path)).status).toBe(200);
  const pressed = await one.request("/v1/devices/Den/remote/key", { method: "POST", body: '{"key":"home"}' });
  expect(await pressed.json()).toMatchObject({ ok: true, data: { key: "home" } });
});

test.each(["evil.test", "evil@127.0.0.1", "127.0.0.1:99999", "::1", "[::1", "127.0.0.1,evil.test"])(
  "below a prefix, Host: %s is refused in the envelope",
  async (host) => {
    const answer = await send(requestOf("GET", "/tv/v1/devices", [`Host: ${host}`]), { to: bare.port ?? 0 });
    expect([answer.status, JSON.parse(answer.body).error.code]).toEqual([403, "forbidden_host"]);
  },
);

test("request() lets in what a page sent as little as fetch() does", async () => {
  const path = "/v1/devices/Den/remote/key";
  const press = { method: "POST", body: '{"key":"home"}' };
  for (const headers of [
    { host: "evil.test" },
    { host: "127.0.0.1", origin: "http://evil.test" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
    { "zapd-call": "1" },
  ] as const)
    expect([headers, (await one.request(path, { ...press, headers })).status]).toEqual([headers, 403]);
  expect((await one.request("/v1/devices/Den/state", { headers: { origin: "http://evil.test" } })).status).toBe(403);
  // Its own page, where the program serves https.
  const own = { method: "POST", headers: { host: "localhost", origin: "https://localhost" } };
  expect((await one.request(new Request("https://localhost/v1/config/reload", own))).status).toBe(200);
  expect((await one.request(new Request("http://localhost/v1/config/reload", own))).status).toBe(403);
});

test("a stream of request() that its caller aborts ends for whoever reads it, as one of fetch() does", async () => {
  for (const isLate of [false, true]) {
    const leave = new AbortController();
    const opened = other.request("/v1/events", { signal: leave.signal });
    if (isLate) leave.abort();
    const reader = (await opened).body?.getReader();
    if (!isLate) await reader?.read();
    const next = reader?.read().catch(({ name }) => name);
    leave.abort();
    expect(await next).toBe("AbortError");
  }
});

test("it does all in a program of Node 20, which lacks some of the language", async () => {
  const script = `
    delete Promise.withResolvers; delete Array.fromAsync; delete Set.prototype.isDisjointFrom;
    const { createZapd } = await import(${JSON.stringify(join(root, "src/zapd.ts"))});
    const zapd = await createZapd({ config: "config.toml", state: "./twenty" });
    const run = { method: "POST", body: '{"steps":[{"wait_ms":1}]}' };
    const asked = [["/v1/doctor"], ["/v1/run", run], ["/v1/run", run]];
    console.log(...await Promise.all(asked.map(async (one) => (await zapd.request(...one)).status)));
    await zapd.stop();
  `;
  const { stdout } = spawnSync(process.execPath, ["-e", script], { cwd: folder, encoding: "utf8" });
  expect(stdout).toBe("200 200 200\n");
});

test("stop() leaves no timer that keeps its program alive", async () => {
  const cast = createCastSimulator({ name: "Speaker", host: "127.0.0.62", mdns: false });
  const webos = createWebosSimulator({ name: "Kitchen", host: "127.0.0.63", ssdp: false });
  await Promise.all([cast.start(), webos.start()]);
  const script = `
    const { createZapd } = await import(${JSON.stringify(join(root, "src/zapd.ts"))});
    const zapd = await createZapd(${JSON.stringify({ ...common, state: join(folder, "stopped") })});
    const post = async (path, body) =>
      console.log((await zapd.request("/v1/devices" + path, { method: "POST", body: JSON.stringify(body) })).status);
    await post("", { name: "Speaker", platform: "cast", host: "${cast.host}", port: ${cast.port} });
    await post("", { name: "Kitchen", platform: "webos", host: "${webos.host}", port: ${webos.ports.secure} });
    await Promise.all([post("/Kitchen/pair", { begin: true }), zapd.request("/v1/devices/Speaker/state")]);
    await zapd.stop();
    console.log(process.getActiveResourcesInfo());
  `;
  const deno = join(root, "node_modules/.bin/deno");
  const child = spawn(deno, ["run", "--allow-all", "--unstable-net", "-"], { cwd: root });
  const said = saidBy(child);
  child.stdin.end(script);
  await once(child, "close");
  await Promise.all([cast.stop(), webos.stop()]);
  expect(said.all).toBe("200\n200\n200\n[]\n");
});

test("served as a module it starts with the next request, when the config that prevented it is corrected; its waits are shorter than its idle limit", () => {
  const script = `
    import { writeFileSync } from "node:fs";
    const { default: served } = await import(${JSON.stringify(join(root, "src/fetch.ts"))});
    const ask = () => served.fetch(new Request("http://127.0.0.1/v1/health", { headers: { host: "127.0.0.1" } }));
    for (const config of ["[daemon\\n", "[discovery]\\non_start = false\\n"]) {
      writeFileSync(process.env.ZAPD_CONFIG, config);
      console.log(await ask().then(({ status }) => status, ({ code }) => code));
    }
    console.log(served.idleTimeout > 60);
    process.exit();
  `;
  const env = { ...process.env, ZAPD_CONFIG: join(folder, "served.toml"), ZAPD_STATE_DIR: join(folder, "served") };
  const { stdout } = spawnSync(process.execPath, ["-e", script], { cwd: folder, env, encoding: "utf8" });
  expect(stdout).toBe("config_invalid\n200\ntrue\n");
});

test("served as a module it ends with a signal, unless its program listens for that itself", async () => {
  const quiet = join(folder, "quiet.toml");
  await Bun.write(quiet, "[discovery]\non_start = false\n");
  const own = (when: string) => `process.${when}("SIGTERM", () => setTimeout(() => process.exit(7), 4_000));`;
  const ended = ([before, after]: readonly [string, string], index: number) => {
    const script = `
      const { default: served } = await import(${JSON.stringify(join(root, "src/fetch.ts"))});
      const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: served.fetch });
      ${before}
      await fetch(new URL("v1/health", server.url));
      ${after}
      process.kill(process.pid, "SIGTERM");
    `;
    const places = { ZAPD_CONFIG: quiet, ZAPD_STATE_DIR: join(folder, `signalled${index}`) };
    return Bun.spawn([process.execPath, "-e", script], { cwd: folder, env: { ...process.env, ...places } }).exited;
  };
  const cases = [
    ["", ""],
    [own("once"), ""],
    ["", own("on")],
  ] as const;
  expect(await Promise.all(cases.map(ended))).toEqual([0, 7, 7]);
});

test("who makes it trusted vouches for Requests without a Host; those that have one are judged by it", async () => {
  const trusting = await createZapd({
    config: join(folder, "config.toml"),
    state: join(folder, "trusting"),
    trusted: true,
  });
  try {
    expect((await trusting.fetch(new Request("http://zapd/v1/health"))).status).toBe(200);
    const ask = async (headers: Record<string, string>) =>
      (await trusting.fetch(new Request("http://zapd/v1/config/reload", { method: "POST", headers }))).status;
    expect(await ask({})).toBe(200);
    expect(await ask({ host: "127.0.0.1:7272" })).toBe(200);
    expect(await ask({ host: "evil.test" })).toBe(403);
    expect(await ask({ host: "" })).toBe(403);
    expect(await ask({ origin: "http://evil.test" })).toBe(403);
    expect(await ask({ "sec-fetch-site": "cross-site" })).toBe(403);
  } finally {
    await trusting.stop();
  }
});

const ask = (path: string, method = "GET") => fetch(`http://127.0.0.1:${server.port}${path}`, { method });
// biome-ignore lint/suspicious/noExplicitAny: an answer of any shape, looked into
const bodyOf = async (path: string, method?: string): Promise<any> => (await ask(path, method)).json();

test("OpenAPI has the path in its server", async () => {
  const { servers } = await bodyOf("/tv/openapi.json");
  expect(servers).toMatchObject([{ url: `http://127.0.0.1:${server.port}/tv` }]);
});

test("404 and 405 name the path that was asked for, and the hint one that is there", async () => {
  const missing = await bodyOf("/tv/v1/nothing");
  expect(missing.error).toMatchObject({
    code: "not_found",
    message: "There is nothing at /tv/v1/nothing",
    hint: "Every route begins with /tv/v1, such as /tv/v1/devices",
  });
  expect((await ask("/tv/v1/devices")).status).toBe(200);
  expect((await bodyOf("/tv/docs/")).error.hint).toBe("No route ends with /: leave it out");
  expect((await bodyOf("/other/v1/devices")).error.message).toBe("There is nothing at /other/v1/devices");
  const wrong = await bodyOf("/tv/v1/health", "DELETE");
  expect(wrong.error.message).toBe("/tv/v1/health does not support DELETE");
  expect((await bodyOf("/tv/openapi.json", "POST")).error.message).toBe("/tv/openapi.json does not support POST");
});

test("asked by its own program it names where it listens, with the path that it is mounted below", async () => {
  const { servers } = await (await one.request("/openapi.json")).json();
  expect(servers).toMatchObject([{ url: "http://127.0.0.1:7272/tv" }]);
});

test("a prefix may lack its first slash, have one at its end, or not be encoded", async () => {
  for (const prefix of ["tv room", "/tv%20room/", "/tv room"]) {
    const zapd = await createZapd({ ...common, state: join(folder, "spelled"), prefix });
    expect((await zapd.request("/tv room/v1/health")).status).toBe(200);
    const { servers } = await (await zapd.request("/openapi.json")).json();
    expect(servers).toMatchObject([{ url: "http://127.0.0.1:7272/tv%20room" }]);
    await zapd.stop();
  }
});

test("what is not below the prefix is not found, in the envelope", async () => {
  const response = await one.fetch(withHost(new Request("http://x/tvx/v1/health"), "127.0.0.1"));
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ ok: false, error: { code: "not_found" } });
});

describe("a daemon of its own", () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startTestDaemon();
  });
  afterAll(() => daemon.dispose());
  const serverFor = async (host: string) => {
    const answer = await send(requestOf("GET", "/openapi.json", [`Host: ${host}`]), { to: daemon.port });
    return JSON.parse(answer.body).servers;
  };

  test("OpenAPI names the server that was asked, by the name that it was asked by", async () => {
    for (const host of [`127.0.0.1:${daemon.port}`, `localhost:${daemon.port}`, "127.0.0.1:9999"])
      expect(await serverFor(host)).toMatchObject([{ url: `http://${host}` }]);
  });

  test("over the control socket it is the port that the daemon listens on", () => {
    const socket = join(daemon.stateFolder, "zapd.sock");
    const main = join(root, "src/main.ts");
    const said = spawnSync(process.execPath, [main, "openapi", "--socket", socket], { encoding: "utf8" });
    expect(JSON.parse(said.stdout).servers).toMatchObject([{ url: `http://127.0.0.1:${daemon.port}` }]);
  });

  test("who comes by a wrong name is told the right address", async () => {
    const answer = await send(requestOf("GET", "/v1/devices", ["Host: evil.test"]), { to: daemon.port });
    expect(JSON.parse(answer.body).error.hint).toContain(`http://127.0.0.1:${daemon.port}/v1`);
  });
});

function withHost(request: Request, host: string): Request {
  const headers = new Headers(request.headers);
  headers.set("host", host);
  return new Request(request, { headers });
}
