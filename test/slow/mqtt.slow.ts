/** A real broker and a daemon that restart: retained messages are right again, nothing is lost, and memory does not grow. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createRokuSimulator, type RokuSimulator } from "../../src/simulators/roku.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { type Heard, Mosquitto, noMosquitto } from "../support/mosquitto.ts";
import { leastResidentMiB, residentMiB } from "../support/resident.ts";
import { root } from "../support/sources.ts";
import { some } from "./length.ts";

const quiet = { interfaces: ["none"] };

describe.skipIf(noMosquitto !== null)(`MQTT${noMosquitto === null ? "" : ` (skipped: ${noMosquitto})`}`, () => {
  const base = "zapd/1/lab";
  let broker: Mosquitto;
  let set: RokuSimulator;
  let daemon: TestDaemon;
  let id: string;
  const settings = () => ({ url: `mqtt://127.0.0.1:${broker.port}`, site: "lab" });
  const mqtt = async (of: TestDaemon) => (await of.api("GET", "/daemon/status")).body.data.mqtt;

  beforeAll(async () => {
    broker = await Mosquitto.start();
    set = createRokuSimulator({ name: "Live", serial: "X0MQTT000002", kind: "tv", ssdp: false, launchMs: 0 });
    await set.start();
    daemon = await startTestDaemon({ config: { mqtt: settings(), discovery: quiet } });
    const { body } = await daemon.api("POST", "/devices", { host: set.host, port: set.port, name: "Den" });
    id = body.data.id;
  });

  afterAll(async () => {
    await daemon.dispose();
    await set.stop();
    await broker.dispose();
  });

  /** The retained messages are what the API answers. */
  async function expectTruth(): Promise<void> {
    const ears = broker.hear(`${base}/#`);
    const { body } = await daemon.api("GET", `/devices/${id}/state`);
    const { power, app, volume } = body.data.state;
    const same = ({ topic, json }: Heard) =>
      topic === `${base}/devices/${id}/state` &&
      Bun.deepEquals([json.state?.power, json.state?.app, json.state?.volume], [power, app, volume]);
    await ears.until(({ topic, json }) => topic === `${base}/status` && json.online === true && json.devices === 1);
    await ears.until(({ topic, json }) => topic === `${base}/devices/${id}` && json.id === id);
    await ears.until(same);
    ears.close();
  }

  async function restartDaemon(signal: NodeJS.Signals): Promise<void> {
    await daemon.stop(signal);
    daemon = await startTestDaemon({ folder: daemon.folder });
  }

  test("what is kept is right after a restart of the broker, of the daemon, and of both", async () => {
    await expectTruth();
    for (let round = 0; round < some(20, 1); round++) {
      await broker.end(round % 2 === 0 ? "SIGKILL" : "SIGTERM");
      await broker.begin();
      await expectTruth();
      await restartDaemon(round % 2 === 0 ? "SIGTERM" : "SIGKILL");
      await expectTruth();
      await broker.end();
      await daemon.stop("SIGKILL");
      await broker.begin();
      daemon = await startTestDaemon({ folder: daemon.folder });
      await expectTruth();
    }
  });

  test("the broker gone for a minute loses nothing of what holds, and costs no memory", async () => {
    await daemon.sleep(2_000);
    const before = residentMiB(daemon.process);
    await broker.end();
    const end = performance.now() + some(60_000, 3_000);
    for (let n = 0; performance.now() < end; n++) {
      await daemon.api("POST", `/devices/${id}/remote/key`, { key: n % 2 === 0 ? "volume-up" : "volume-down" });
      await daemon.api("GET", `/devices/${id}/state`);
      await Bun.sleep(20);
    }
    await daemon.api("POST", `/devices/${id}/apps/launch`, { app: "netflix" });
    expect((await mqtt(daemon)).state).toMatch(/waiting|connecting/);
    expect((await daemon.api("GET", "/health")).body.data.warnings.join()).toContain("MQTT: The broker at");
    // Thousands of requests leave some memory; a queue of unsent messages would leave more.
    expect(residentMiB(daemon.process) - before).toBeLessThan(48);
    await broker.begin();
    await expectTruth();
    expect((await daemon.api("GET", "/health")).body.data.warnings).toEqual([]);
  });

  test("a flood of commands is bounded, and told; the daemon answers meanwhile", async () => {
    const ears = broker.hear(`${base}/events`, `${base}/status`);
    // What is kept comes once both are subscribed to.
    await ears.until(({ topic }) => topic === `${base}/status`);
    const many = some(200_000, 5_000);
    const flood = async () => {
      const address = ["-h", "127.0.0.1", "-p", `${broker.port}`, "-q", "0", "-t", `${base}/devices/${id}/set/key`];
      const own = Bun.spawn(["mosquitto_pub", ...address, "-l"], { stdin: "pipe" });
      own.stdin.write("info\n".repeat(many));
      await own.stdin.end();
      await own.exited;
      const since = performance.now();
      expect((await daemon.api("GET", "/health")).status).toBe(200);
      expect(performance.now() - since).toBeLessThan(5_000);
    };
    const pressed = set.keys.length;
    await flood();
    const told = await ears.until(({ json }) => json.type === "command.refused");
    expect(told.json.error.code).toBe("device_busy");
    expect(set.keys.length - pressed).toBeLessThan(many / 2);
    // The first flood warms up; further ones must add nothing.
    const before = residentMiB(daemon.process);
    for (let round = 0; round < 4; round++) await flood();
    const grown = () => residentMiB(daemon.process) - before;
    // The runtime gives memory back after a while.
    for (let look = 0; look < 60 && grown() >= 48; look++) await Bun.sleep(500);
    expect(grown()).toBeLessThan(48);
  });

  test("of two daemons with one site the later one stays, and the other stops and says why", async () => {
    const other = await startTestDaemon({ config: { mqtt: settings(), discovery: quiet } });
    try {
      const isIn = (of: TestDaemon, state: string) =>
        until(`it is ${state}`, async () => (await mqtt(of)).state === state, 90_000, 50);
      await isIn(daemon, "stopped");
      expect(await mqtt(daemon)).toMatchObject({
        state: "stopped",
        problem: expect.stringContaining("Another zapd has connected to"),
        hint: expect.stringContaining("zapd config set mqtt.site"),
      });
      await isIn(other, "connected");
      const { checks } = (await daemon.api("GET", "/doctor")).body.data;
      const check = checks.find((one: { id: string }) => one.id === "mqtt");
      expect(check).toMatchObject({ status: "fail", text: expect.stringContaining("Another zapd") });
      // With a site of its own it connects again.
      await daemon.api("PATCH", "/config", { "mqtt.site": "lab-2" });
      await isIn(daemon, "connected");
      expect(await mqtt(daemon)).toMatchObject({ state: "connected", site: "lab-2", problem: null });
      expect((await mqtt(other)).state).toBe("connected");
    } finally {
      await other.dispose();
    }
  });

  test("at rest it takes no more than 1.2 times what the daemon takes without", async () => {
    const built = existsSync(join(root, "dist/zapd"));
    const atRest = async (config: Readonly<Record<string, Readonly<Record<string, unknown>>>>) => {
      const runtime = built ? "binary" : "bun";
      const own = await startTestDaemon({ runtime, config: { discovery: quiet, ...config }, speed: 1 });
      try {
        await own.api("POST", "/devices", { host: set.host, port: set.port, name: "Den" });
        await Bun.sleep(some(27_000, 2_000));
        return await leastResidentMiB(own.process);
      } finally {
        await own.dispose();
      }
    };
    const without = await atRest({});
    const on = await atRest({ mqtt: { ...settings(), site: "memory" } });
    process.stdout.write(
      `memory at rest, MiB: ${without.toFixed(1)} without, ${on.toFixed(1)} with (${built ? "binary" : "source"})\n`,
    );
    expect(on / without).toBeLessThanOrEqual(1.2);
  });
});
