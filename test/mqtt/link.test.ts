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
import { Mosquitto, noMosquitto } from "../support/mosquitto.ts";
import { root } from "../support/sources.ts";
import { passTime, wakeUp } from "../support/test-clock.ts";

const folder = folderForEach();

/** Writes a config with these settings of MQTT; where it is. */
function configWith(mqtt: string): string {
  const config = join(folder(), "config.toml");
  writeFileSync(config, `[discovery]\non_start = false\ninterval_s = 0\ninterfaces = ["none"]\n[mqtt]\n${mqtt}`, {
    mode: 0o600,
  });
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

/** An API whose events are these, and no more. */
const telling =
  (...events: object[]) =>
  () => {
    const lines = new TextEncoder().encode(events.map((event) => `${JSON.stringify(event)}\n`).join(""));
    const body = new ReadableStream({ start: (stream) => void (lines.length > 0 && stream.enqueue(lines)) });
    return new Response(body, { headers: { "content-type": "application/x-ndjson" } });
  };
const snapshot = { id: "a.1", type: "snapshot", reason: "start", devices: [], part: 1, last: true };
const options = (): LinkOptions => ({
  state: folder(),
  log: createLog({ level: "error", format: "text", colour: false, write() {} }),
  ask: telling(),
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

test("a device that did not tell its inputs is asked again a minute later, when its state shows that it answers", async () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const events = writable.getWriter();
  const tell = (event: object) => events.write(new TextEncoder().encode(`${JSON.stringify(event)}\n`));
  let asked = 0;
  const ask = async (request: Request) => {
    if (!request.url.endsWith("/inputs"))
      return new Response(readable, { headers: { "content-type": "application/x-ndjson" } });
    const error = { code: "device_timeout", message: "Too slow" };
    return Response.json(++asked === 1 ? { ok: false, error } : { ok: true, data: { inputs: [] } });
  };
  const { mqtt: settings } = configOf({ mqtt: { url: "mqtt://127.0.0.1:1", site: "lab", home_assistant: true } });
  const bridge = await Bridge.open({ ...options(), ask, settings });
  bridge.start();
  const device = { id: "aa", name: "Den", status: "online", capabilities: ["inputs"], software_version: null };
  void tell({ ...snapshot, devices: [{ device, state: null }] });
  const changes = async () => {
    await tell({ id: "a.2", type: "state.changed", device_id: "aa", state: null, changed: ["volume"] });
    await Bun.sleep(20);
    return asked;
  };
  await until("it was asked", () => asked > 0);
  const counts = [await changes()];
  passTime(60_000);
  wakeUp();
  for (let again = 0; again < 2; again++) counts.push(await changes());
  expect(counts).toEqual([1, 2, 2]);
  await bridge.stop();
});

test("a link in the place of the id of its site is left where it is, and told until the connection has a problem", async () => {
  symlinkSync("elsewhere", join(folder(), "mqtt.json"));
  let attempts = 0;
  const closing = (socket: net.Socket) => void (++attempts && socket.destroy());
  const { port, stop } = await listening(net.createServer(closing));
  const { mqtt: settings } = configOf({ mqtt: { url: `mqtt://127.0.0.1:${port}` } });
  const bridge = await Bridge.open({ ...options(), ask: telling(snapshot), settings });
  expect(bridge.status.problem).toContain("could not be read or saved, so it will change with the next restart");
  expect(bridge.status.hint).toContain("a regular file (no link)");
  bridge.start();
  await until("it waits", () => bridge.status.state === "waiting");
  const { since, problem } = bridge.status;
  expect(problem).toContain("closed the connection");
  // Each time with MQTT 5 and with 3.1.1.
  await until("it tries for the third time", () => attempts > 4);
  expect(bridge.status.since).toBe(since);
  await bridge.stop();
  await stop();
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
  const { mqtt: settings } = configOf({ mqtt: { url: `mqtt://127.0.0.1:${port}`, site: "lab" } });
  const bridge = await Bridge.open({ ...options(), ask: telling(snapshot), settings });
  bridge.start();
  await until("it subscribes", () => subscribed !== undefined);
  await bridge.stop();
  expect(published).toEqual([expect.stringContaining('{"online":false,"boot":"a"}')]);
  await stop();
});

test.skipIf(noMosquitto !== null)("of snapshots in parts, the devices of the last whole one are kept", async () => {
  const broker = await Mosquitto.start();
  const part = (part: number, ...ids: string[]) => {
    const devices = ids.map((id) => ({ device: { id }, state: null }));
    return { ...snapshot, part, last: part === 2, devices };
  };
  const whole = [part(1, "one"), part(2, "two")];
  const ask = telling(part(1, "one", "gone"), part(2, "two"), ...whole, part(1, "one"));
  const file = join(folder(), "password");
  writeFileSync(file, "sQ9x7w", { mode: 0o600 });
  const login = { username: "zapd", password_file: file };
  const { mqtt: settings } = configOf({ mqtt: { url: `mqtt://127.0.0.1:${broker.port}`, site: "lab", ...login } });
  const written: string[] = [];
  const log = createLog({ level: "error", format: "text", colour: false, write: (line) => written.push(line) });
  const bridge = await Bridge.open({ ...options(), ask, log, settings });
  bridge.start();
  const ears = broker.hear("zapd/1/lab/#");
  await ears.until(({ json }) => json.devices === 2);
  for (const id of ["one", "two"]) await ears.until(({ json }) => json.id === id);
  expect((await broker.kept("zapd/1/lab/devices/+")).map(({ json }) => json.id).toSorted()).toEqual(["one", "two"]);
  log.error("sQ9x7w");
  expect(written.join()).toContain("[redacted]");
  await bridge.stop();
  await broker.dispose();
});

test.skipIf(noMosquitto !== null)("a device removed before it is described again leaves Home Assistant", async () => {
  const broker = await Mosquitto.start();
  const described = "homeassistant/device/aa/config";
  await broker.say(described, "{}", "-r");
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const events = writable.getWriter();
  const tell = (event: object) => events.write(new TextEncoder().encode(`${JSON.stringify(event)}\n`));
  // Its inputs, which the description needs, take a while.
  const ask = (request: Request) =>
    request.url.endsWith("/inputs")
      ? new Promise<Response>(() => {})
      : new Response(readable, { headers: { "content-type": "application/x-ndjson" } });
  const url = `mqtt://127.0.0.1:${broker.port}`;
  const { mqtt: settings } = configOf({ mqtt: { url, site: "lab", home_assistant: true } });
  const bridge = await Bridge.open({ ...options(), ask, settings });
  bridge.start();
  const device = { id: "aa", name: "Den", status: "online", capabilities: ["inputs"], software_version: null };
  void tell({ ...snapshot, devices: [{ device, state: null }] });
  const ears = broker.hear("#");
  await ears.until(({ json }) => json.id === "aa");
  await tell({ id: "a.2", type: "device.removed", device_id: "aa" });
  await ears.until(({ topic, text }) => topic === described && text === "");
  await bridge.stop();
  await broker.dispose();
});

test.skipIf(noMosquitto !== null)(
  "a site whose status is another daemon's twice within a minute is left to it",
  async () => {
    const broker = await Mosquitto.start();
    const status = "zapd/1/lab/status";
    let isOpen = Promise.resolve();
    // The broker does not tell why the connection ends, as those of MQTT 3.1.1 do not.
    const relay = await listening(
      net.createServer(async (client) => {
        await isOpen;
        const from = net.connect(broker.port, "127.0.0.1");
        client.pipe(from).pipe(client);
        client.on("close", () => from.destroy());
      }),
    );
    const { mqtt: settings } = configOf({ mqtt: { url: `mqtt://127.0.0.1:${relay.port}`, site: "lab" } });
    const bridge = await Bridge.open({ ...options(), ask: telling(snapshot), settings });
    bridge.start();
    const isOwn = (online: boolean) =>
      broker.hear(status).until(({ json }) => json.boot === "a" && json.online === online);
    const lose = async () => {
      await isOwn(true);
      const { promise, resolve } = Promise.withResolvers<void>();
      isOpen = promise;
      relay.hangUp();
      await isOwn(false);
      await broker.say(status, '{"online":true,"boot":"other"}', "-r");
      resolve();
    };
    await lose();
    await isOwn(true);
    passTime(60_000);
    await lose();
    await lose();
    await until("it is stopped", () => bridge.status.state === "stopped" && relay.open === 0);
    expect(bridge.status.problem).toContain("Another zapd has connected");
    await bridge.stop();
    await relay.stop();
    await broker.dispose();
    wakeUp();
  },
);

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
