/** The life of a daemon: its start and its end. */
import { afterAll, expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import net from "node:net";
import { freePort, startTestDaemon, usualRuntime } from "../support/daemon.ts";
import { WiredRoku } from "../support/wired-roku.ts";
import { add, at, refused, succeed, until } from "./checked.ts";
import { install, packageWith } from "./packages.ts";

const wholeRequest = "GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
const fakes = await Promise.all([WiredRoku.start(), WiredRoku.start(), WiredRoku.start(), WiredRoku.start()]);
afterAll(() => Promise.all(fakes.map((fake) => fake.stop())));

test("R17 SIGTERM in the middle of everything: exit 0 within 5 s, an answer for all, no socket, no key after the end", async () => {
  // Sets may take far longer than the daemon has until its end.
  await using daemon = await startTestDaemon({
    config: { devices: { request_timeout_ms: 20_000 }, dev: { vendor_password: "secret-of-the-set" } },
  });
  const [busy, silent, upload, sleeper] = fakes;
  const [one, two, three, four] = [
    await add(daemon, busy),
    await add(daemon, silent),
    await add(daemon, upload),
    await add(daemon, sleeper),
  ];
  const { socket } = await succeed(daemon, "status");
  expect(statSync(socket).isSocket()).toBe(true);
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  silent.broken.set("/query/apps", "hang");
  upload.spoiled.set("/plugin_install", () => "hang");
  sleeper.wakeMs = 3_600_000;
  await sleeper.sleep();
  const body = { keys: Array.from({ length: 200 }, () => "up"), delay_ms: 100 };
  const first = daemon.api("POST", at("pressKeys", { id: one.id }), body);
  await until("the sequence runs", () => busy.commands.length > 0);
  const calls = [
    first,
    daemon.api("POST", at("pressKeys", { id: one.id }), { keys: ["down", "down"], delay_ms: 0 }),
    daemon.api("GET", at("listApps", { id: two.id })),
    install(daemon, three.id, packageWith("end")),
    daemon.api("POST", at("pressKey", { id: four.id }), { key: "power-on" }),
  ].map((call) => call.catch((error: Error) => error));
  const isAsked = () => silent.wire.requests.some(({ target }) => target === "/query/apps");
  const isUnderWay = () => busy.commands.length > 2 && isAsked() && upload.uploads.length > 0 && sleeper.wakes > 0;
  await until("all under way", isUnderWay);
  const started = performance.now();
  expect(await daemon.stop("SIGTERM")).toBe(0);
  expect(performance.now() - started).toBeLessThan(5_000);
  const sent = busy.commands.length;
  for (const answered of await Promise.all(calls)) {
    if (answered instanceof Error) throw answered;
    refused(answered, "internal_error", "device_busy");
  }
  expect(existsSync(socket)).toBe(false);
  await Bun.sleep(250);
  expect(busy.commands).toHaveLength(sent);
  expect(busy.commands).not.toContain("/keypress/Down");
});

test("a host in the config that cannot be resolved is logged once, not with every scan", async () => {
  await using daemon = await startTestDaemon({
    config: { discovery: { hosts: ["no-such-host.invalid"], timeout_ms: 100 } },
  });
  for (let scans = 0; scans < 3; scans++) await succeed(daemon, "discoverDevices");
  const told = () => daemon.log().match(/"level":"warn","message":"discovery.hosts: /g)?.length ?? 0;
  await until("it is told", () => told() > 0);
  expect(told()).toBe(1);
});

test.skipIf(process.platform !== "linux" || usualRuntime === "deno")(
  "a daemon that nohup started outlives its terminal",
  async () => {
    await using daemon = await startTestDaemon({ within: ["nohup"] });
    daemon.process.kill("SIGHUP");
    await daemon.sleep(200);
    expect((await succeed(daemon, "health")).status).toBe("ok");
    expect(await daemon.stop()).toBe(0);
  },
);

test("a daemon that cannot start exits, though callers have connected to its port", async () => {
  await using daemon = await startTestDaemon();
  const { socket } = await succeed(daemon, "status");
  const port = await freePort();
  const callers: net.Socket[] = [];
  // Whole and half requests, from before it listens until it has exited.
  const calling = setInterval(() => {
    for (const request of [wholeRequest, wholeRequest.slice(0, 20)]) {
      const caller = net.connect(port, "127.0.0.1", () => caller.write(request)).on("error", () => {});
      callers.push(caller);
    }
  }, 3);
  const began = performance.now();
  const ended = await startTestDaemon({
    config: { daemon: { socket, http_port: port } },
    env: { ZAPD_STATE_DIR: daemon.stateFolder },
  }).then(
    () => "it started",
    (error: Error) => error.message,
  );
  const took = performance.now() - began;
  clearInterval(calling);
  for (const caller of callers) caller.destroy();
  expect(ended).toContain("ended with 1");
  expect(ended).toContain("already running");
  expect(took).toBeLessThan(10_000);
});
