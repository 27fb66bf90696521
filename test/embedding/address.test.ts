/** What zapd says of its own address is where it was reached: its own port, another name, a path of somebody else's server. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Hono } from "hono";
import { createZapd, type Zapd } from "../../src/zapd.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { requestOf, send } from "../support/raw-http.ts";
import { root } from "../support/sources.ts";

describe("a daemon", () => {
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
    expect(await serverFor(`127.0.0.1:${daemon.port}`)).toMatchObject([{ url: `http://127.0.0.1:${daemon.port}` }]);
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

describe("below a path of another server", () => {
  const folder = mkdtempSync(join(tmpdir(), "zapd-address-"));
  let zapd: Zapd;
  let server: ReturnType<typeof Bun.serve>;
  beforeAll(async () => {
    zapd = await createZapd({ config: join(folder, "config.toml"), state: join(folder, "state"), prefix: "/tv" });
    const app = new Hono();
    app.get("/", (c) => c.text("ours"));
    app.all("/tv/*", (c) => zapd.fetch(c.req.raw));
    app.get("/other/*", (c) => zapd.fetch(c.req.raw));
    server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: app.fetch });
  });
  afterAll(async () => {
    await Promise.all([server.stop(true), zapd.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });
  const ask = (path: string, method = "GET") => fetch(`http://127.0.0.1:${server.port}${path}`, { method });
  // biome-ignore lint/suspicious/noExplicitAny: an answer of any shape, looked into
  const bodyOf = async (path: string, method?: string): Promise<any> => (await ask(path, method)).json();

  test("mounted in another hono app, both answer", async () => {
    expect((await bodyOf("/tv/v1/health")).ok).toBe(true);
    expect(await (await ask("/")).text()).toBe("ours");
  });

  test("OpenAPI has the path in its server", async () => {
    const { servers } = await bodyOf("/tv/openapi.json");
    expect(servers).toMatchObject([{ url: `http://127.0.0.1:${server.port}/tv` }]);
  });

  test("404 and 405 name the path that was asked for, and the hint one that is there", async () => {
    const missing = await bodyOf("/tv/v1/nothing");
    expect(missing.error).toMatchObject({
      ...{ code: "not_found", message: "There is nothing at /tv/v1/nothing" },
      hint: "Every route begins with /tv/v1, such as /tv/v1/devices",
    });
    expect((await ask("/tv/v1/devices")).status).toBe(200);
    expect((await bodyOf("/other/v1/devices")).error.message).toBe("There is nothing at /other/v1/devices");
    const wrong = await bodyOf("/tv/v1/health", "DELETE");
    expect(wrong.error.message).toBe("/tv/v1/health does not take DELETE");
    expect((await bodyOf("/tv/openapi.json", "POST")).error.message).toBe("/tv/openapi.json does not take POST");
  });

  test("the program itself asks without a host, with the path before it or without", async () => {
    for (const path of ["/tv/v1/health", "/v1/health"]) expect((await zapd.request(path)).status).toBe(200);
    // One that is handed on from elsewhere without a host is nobody's.
    expect((await zapd.fetch(new Request("http://127.0.0.1/tv/v1/health"))).status).toBe(403);
    const { servers } = await (await zapd.request("/openapi.json")).json();
    expect(servers).toMatchObject([{ url: "http://127.0.0.1:7272/tv" }]);
  });
});
