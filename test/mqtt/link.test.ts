/** Without a broker nothing of MQTT is loaded; with one the settings count as they change. */
import { expect, test } from "bun:test";
import { symlinkSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { configOf } from "../../src/config/schema.ts";
import { Bridge } from "../../src/mqtt/bridge.ts";
import { type LinkOptions, MqttLink } from "../../src/mqtt/link.ts";
import { createLog } from "../../src/system/log.ts";
import { createZapd } from "../../src/zapd.ts";
import { folderForEach } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { listening } from "../support/listening.ts";
import { root } from "../support/sources.ts";

const folder = folderForEach();

/** Writes a config with these settings of MQTT; where it is. */
function configWith(mqtt: string): string {
  const config = join(folder(), "config.toml");
  writeFileSync(config, `[discovery]\non_start = false\ninterval_s = 0\n[mqtt]\n${mqtt}`, { mode: 0o600 });
  return config;
}

interface Loaded {
  readonly modules: readonly string[];
  readonly status: { readonly state?: string };
}

/** Loads zapd with a config, waits until it stands as it will, and says which modules there are and how it stands. */
function loadedWith(mqtt: string, state = "none"): Loaded {
  configWith(mqtt);
  const program = `
    import { createRequire } from "node:module";
    import { createZapd } from ${JSON.stringify(join(root, "src/zapd.ts"))};
    const zapd = await createZapd({ config: "config.toml", state: "state" });
    await zapd.start();
    await (await zapd.request("/v1/devices")).json();
    const status = async () => (await (await zapd.request("/v1/daemon/status")).json()).data.mqtt ?? {};
    for (let tries = 0; tries < 1_000 && ((await status()).state ?? "none") !== ${JSON.stringify(state)}; tries++) await Bun.sleep(10);
    const modules = Object.keys(createRequire(import.meta.url).cache);
    console.log(JSON.stringify({ modules, status: await status() }));
    await zapd.stop();
    process.exit();
  `;
  const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", program], { cwd: folder() });
  if (stdout.length === 0) throw new Error(stderr.toString());
  return JSON.parse(stdout.toString());
}

const ofMqtt = (path: string) => /node_modules\/(mqtt|mqtt-packet)\/|src\/mqtt\/(?!link\.ts)/.test(path);

test("off, only its link is loaded", () => {
  const { modules, status } = loadedWith("");
  expect(modules.some((path) => path.endsWith("src/mqtt/link.ts"))).toBe(true);
  expect(modules.filter(ofMqtt)).toEqual([]);
  expect(status).toEqual({});
});

test("on, it is loaded, and reports its problem", () => {
  const { modules, status } = loadedWith('url = "mqtt://127.0.0.1:1"\nsite = "lab"\n', "waiting");
  expect(modules.filter(ofMqtt).length).toBeGreaterThan(5);
  expect(status).toMatchObject({
    url: "mqtt://127.0.0.1:1",
    site: "lab",
    state: "waiting",
    problem: "The broker at mqtt://127.0.0.1:1 cannot be reached: nothing listens there",
    hint: "Start the broker, or set its address: zapd config set mqtt.url mqtt://HOST:1883",
  });
});

/** An API whose events never come. */
const silent = () => new Response(new ReadableStream(), { headers: { "content-type": "application/x-ndjson" } });
const options = (): LinkOptions => ({
  state: folder(),
  log: createLog({ level: "error", format: "text", colour: false, write() {} }),
  ask: silent,
  artifacts: { origins: () => [], folder: folder() },
  address: () => null,
  page: () => false,
});

test("turned off while it is being turned on, it stays off", async () => {
  const link = new MqttLink(options());
  link.use(configOf({ mqtt: { url: "mqtt://127.0.0.1:1", site: "lab" } }).mqtt);
  link.start();
  // It has begun to open the bridge.
  for (let turn = 0; turn < 3; turn++) await Promise.resolve();
  link.use(configOf().mqtt);
  // By then its modules are loaded, and it would have begun.
  await import("../../src/mqtt/bridge.ts");
  await Bun.sleep(100);
  expect(link.status).toBeNull();
});

test("a bridge that has not read the devices yet can be stopped", async () => {
  const { mqtt: settings } = configOf({ mqtt: { url: "mqtt://127.0.0.1:1", site: "lab" } });
  const bridge = await Bridge.open({ ...options(), settings });
  bridge.start();
  await Bun.sleep(10);
  await bridge.stop();
  expect(bridge.status).toMatchObject({ state: "connecting", problem: null });
});

test("a link in the place of the id of its site is left where it is, and told", async () => {
  symlinkSync("elsewhere", join(folder(), "mqtt.json"));
  const { mqtt: settings } = configOf({ mqtt: { url: "mqtt://127.0.0.1:1" } });
  const { status } = await Bridge.open({ ...options(), settings });
  expect(status.problem).toContain("could not be read or saved, so it will change with the next restart");
  expect(status.hint).toContain("a regular file (no link)");
});

test("a bridge that is stopped while it subscribes says last that its site is offline", async () => {
  const published: string[] = [];
  let subscribed: (() => void) | undefined;
  const { port, stop } = await listening(
    net.createServer((socket) =>
      socket.on("data", (bytes: Buffer) => {
        if (bytes[0] === 0x10) socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
        // It is answered once the bridge has said goodbye.
        const subscribedTo = bytes.subarray(2, 4);
        if (bytes[0] === 0x82) subscribed = () => socket.write(Buffer.from([0x90, 5, ...subscribedTo, 0, 1, 1]));
        if (bytes[0] !== 0x33) return;
        published.push(bytes.toString("latin1"));
        subscribed?.();
        const topicAt = (bytes[1] ?? 0) >= 0x80 ? 3 : 2;
        const idAt = topicAt + 2 + bytes.readUInt16BE(topicAt);
        setTimeout(() => socket.write(Buffer.from([0x40, 2, ...bytes.subarray(idAt, idAt + 2)])), 50);
      }),
    ),
  );
  const snapshot = { id: "a.1", type: "snapshot", reason: "start", devices: [], part: 1, last: true };
  const first = new TextEncoder().encode(`${JSON.stringify(snapshot)}\n`);
  const events = () => new ReadableStream({ start: (stream) => stream.enqueue(first) });
  const ask = () => new Response(events(), { headers: { "content-type": "application/x-ndjson" } });
  const { mqtt: settings } = configOf({ mqtt: { url: `mqtt://127.0.0.1:${port}`, site: "lab" } });
  const bridge = await Bridge.open({ ...options(), ask, settings });
  bridge.start();
  await until("it subscribes", () => subscribed !== undefined);
  await bridge.stop();
  expect(published).toEqual([expect.stringContaining('{"online":false,"boot":"a"}')]);
  await stop();
});

test("reading the config again tries at once", async () => {
  let attempts = 0;
  using server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        attempts++;
        socket.terminate();
      },
      data() {},
    },
  });
  const config = configWith(`url = "mqtt://127.0.0.1:${server.port}"\nsite = "lab"\n`);
  const zapd = await createZapd({ config, state: join(folder(), "state") });
  await zapd.start();
  const state = async () => (await (await zapd.request("/v1/daemon/status")).json()).data.mqtt?.state;
  const waits = () => until("it waits", async () => (await state()) === "waiting");
  await waits();
  // By itself it would be tried again after 1, 2, 4, 8 … seconds.
  for (let times = 0; times < 8; times++) {
    const before = attempts;
    await zapd.request("/v1/config/reload", { method: "POST" });
    await until("it has tried again", () => attempts !== before);
    await waits();
  }
  expect(attempts).toBeGreaterThan(8);
  await zapd.stop();
}, 60_000);
