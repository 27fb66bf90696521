/** zapd under `deno serve`, with what deno.json allows it. Its server is the one of `deno task start`, of which much more is tried. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { denoFlags, freePort } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { codeOf, type RawAnswer, requestOf, send } from "../support/raw-http.ts";
import { plugInRoku } from "../support/sets.ts";
import { root } from "../support/sources.ts";

const folder = mkdtempSync(join(tmpdir(), "zapd-serve-"));
const port = await freePort();
const config = join(folder, "config.toml");
writeFileSync(
  config,
  `[daemon]\nhttp_port = ${port}\n[discovery]\non_start = false\ninterfaces = ["lo"]\ntimeout_ms = 1000\n`,
);
const flags = [...denoFlags("serve"), "--host", "127.0.0.1", "--port", String(port)];
const server = spawn(join(root, "node_modules/.bin/deno"), ["serve", ...flags, join(root, "src/fetch.ts")], {
  env: { ...process.env, ZAPD_CONFIG: config, ZAPD_STATE_DIR: join(folder, "state") },
  stdio: "ignore",
});
const isUp = () =>
  fetch(`http://127.0.0.1:${port}/v1/health`).then(
    ({ ok }) => ok,
    () => false,
  );
beforeAll(() => until("it answers", isUp, 20_000, 50));
afterAll(() => {
  server.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

const own = () => `Host: 127.0.0.1:${port}`;
function call(method: string, path: string, headers: readonly string[], body?: string): Promise<RawAnswer> {
  return send(requestOf(method, path, headers, body), { to: port });
}

test("the API is there, and keeps what it is told", async () => {
  const patched = await call("PATCH", "/v1/config", [own()], '{"discovery.interval_s":77}');
  expect(patched.status).toBe(200);
  const read = JSON.parse((await call("GET", "/v1/config", [own()])).body);
  expect(JSON.stringify(read.data)).toContain("77");
  expect((await call("POST", "/v1/devices/discover", [own()])).status).toBe(200);
});

test("the guard stands before it", async () => {
  expect(codeOf(await call("GET", "/v1/devices", ["Host: evil.test"]))).toBe("forbidden_host");
  const foreign = await call("PATCH", "/v1/config", [own(), "Origin: null"], '{"discovery.interval_s":78}');
  expect([foreign.status, codeOf(foreign)]).toEqual([403, "forbidden_origin"]);
});

test("a signal ends it, though a set keeps a connection open", async () => {
  const { host, port: ecp, ports } = await plugInRoku({ developer: { password: "sesame" } });
  const added = await call("POST", "/v1/devices", [own()], JSON.stringify({ host, port: ecp, ports }));
  const { id } = JSON.parse(added.body).data as { id: string };
  expect((await call("GET", `/v1/devices/${id}/dev/logs`, [own()])).status).toBe(200);
  server.kill("SIGTERM");
  expect(await once(server, "exit")).toEqual([0, null]);
});
