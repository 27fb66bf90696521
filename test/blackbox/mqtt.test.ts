/** A daemon and a broker, used by Mosquitto's own programs: what is retained, and which commands are run. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { createRokuSimulator, type RokuSimulator } from "../../src/simulators/roku.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { listening } from "../support/listening.ts";
import { type Ears, type Heard, Mosquitto, noMosquitto } from "../support/mosquitto.ts";
import { succeed } from "./checked.ts";

/** Part of Mosquitto; it can forbid subscribing, which an ACL file cannot. */
const plugin = `/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/mosquitto_dynamic_security.so`;

describe.skipIf(noMosquitto !== null)(`MQTT${noMosquitto === null ? "" : ` (skipped: ${noMosquitto})`}`, () => {
  const base = "zapd/1/lab";
  let broker: Mosquitto;
  let daemon: TestDaemon;
  let set: RokuSimulator;
  let ears: Ears;
  let id: string;
  const at = (what: string) => `${base}/devices/${id}${what}`;
  const finished = (is: (event: Heard["json"]) => boolean) =>
    ears.until(({ topic, json }) => topic === `${base}/events` && json.type === "action.finished" && is(json));
  const refused = (topic: string, is: (error: Heard["json"]) => boolean = () => true) =>
    ears.until(
      (one) =>
        one.topic === `${base}/events` &&
        one.json.type === "command.refused" &&
        one.json.topic === topic &&
        is(one.json.error),
    );

  beforeAll(async () => {
    broker = await Mosquitto.start();
    // Retained from before the daemon.
    await broker.say(`${base}/devices/gone-long-ago`, '{"id":"gone-long-ago"}', "-r");
    await broker.say(`${base}/devices/gone-long-ago/state`, '{"seq":1}', "-r");
    set = createRokuSimulator({
      name: "Live",
      serial: "X0MQTT000001",
      kind: "tv",
      ssdp: false,
      launchMs: 0,
      developer: { password: "x1y2z3" },
    });
    await set.start();
    const mqtt = {
      url: `mqtt://127.0.0.1:${broker.port}`,
      site: "lab",
      site_labels: ["room=2"],
      commands: "developer",
    };
    // Subscribed before the daemon starts, or what that clears first could be missed.
    ears = broker.hear("#");
    await ears.until(({ topic }) => topic === `${base}/devices/gone-long-ago/state`);
    daemon = await startTestDaemon({ config: { mqtt, discovery: { interfaces: ["none"] } } });
    const { body } = await daemon.api("POST", "/devices", {
      host: set.host,
      port: set.port,
      name: "Den",
      ports: { console: set.ports.console },
    });
    id = body.data.id;
  });

  afterAll(async () => {
    await daemon.dispose();
    await set.stop();
    await broker.dispose();
  });

  test("a site, its devices and their states are retained, without positions; unknown devices are cleared", async () => {
    const status = await ears.until(({ topic, json }) => topic === `${base}/status` && json.devices === 1);
    expect(status.json).toMatchObject({ online: true, labels: ["room=2"], commands: "developer" });
    const device = await ears.until(({ topic }) => topic === at(""));
    expect(device.json).toMatchObject({ id, name: "Den", platform: "roku" });
    const state = await ears.until(({ topic, json }) => topic === at("/state") && json.state?.power === "on");
    expect(Object.keys(state.json)).toEqual(["seq", "state", "changed"]);
    for (const gone of ["gone-long-ago", "gone-long-ago/state"])
      await ears.until(({ topic, text }) => topic === `${base}/devices/${gone}` && text === "");
    // While it plays its position changes all the time, and is left out.
    set.play({ durationMs: 120_000 });
    await daemon.api("GET", `/devices/${id}/state`);
    const playing = await ears.until(
      ({ topic, json }) => topic === at("/state") && json.state?.playback?.status === "playing",
    );
    expect(playing.json.state.playback).toMatchObject({ position_ms: null, position_at: null, duration_ms: 120_000 });
  });

  test("plain values are commands by mqtt; typed text is in no message", async () => {
    await broker.say(at("/set/key"), "down");
    expect((await finished(({ key }) => key === "down")).json).toMatchObject({ ok: true, by: "mqtt", device_id: id });
    await broker.say(at("/set/volume"), "+1");
    await finished(({ action, ok }) => action === "volume" && ok);
    await broker.say(at("/set/app"), "netflix");
    expect((await finished(({ action }) => action === "launch")).json.app.id).toBe("netflix");
    await broker.say(at("/set/text"), "Hush 7!");
    await finished(({ characters }) => characters === 7);
    expect(set.text).toBe("Hush 7!");
    await broker.say(at("/set/text"), "Hush\u0007");
    expect((await refused(at("/set/text"))).json.error.message).toBe("The text was not typed");
    expect(daemon.log()).not.toContain("Hush");
    expect(ears.all.filter(({ topic, text }) => !topic.endsWith("/set/text") && text.includes("Hush"))).toEqual([]);
    for (const [field, value, message] of [
      ["power", "of", "power must be one of on, off, toggle"],
      ["volume", "loud", "volume must be 0 to 100, or a step such as +5 or -5"],
      ["colour", "red", '"colour" cannot be set'],
      ["key", "hoem", '"hoem" is not a key'],
      ["text", "x".repeat(9_000), "The text was not typed"],
    ] as const) {
      await broker.say(at(`/set/${field}`), value);
      await refused(at(`/set/${field}`), (error) => error.message === message);
    }
  });

  test("a call of any operation is answered in the envelope of the API", async () => {
    const ask = (call: object) => broker.ask(`${base}/rpc`, call);
    const answer = await ask({
      op: "press_keys",
      args: { device: "Den", keys: ["up", "left"], delay_ms: 0 },
      transaction: 7,
    });
    expect(answer).toMatchObject({ transaction: 7, ok: true, data: { action: "sequence", sent: 2, device: { id } } });
    const { body } = await daemon.api("GET", `/devices/${id}`);
    expect(await ask({ op: "get_device", args: { device: "Den" } })).toEqual({
      ok: true,
      data: { ...body.data, last_seen: expect.any(String) },
    });
    const missing = await daemon.api("POST", "/devices/Attic/remote/key", { key: "home" });
    expect(await ask({ op: "press_key", args: { device: "Attic", key: "home" } })).toEqual(missing.body);
    const [group] = (await ask({ op: "press_key", args: { group: "all", key: "home" } })).data.results;
    expect(group).toMatchObject({ ok: true, device: { id } });
    for (const [call, code] of [
      [{ op: "patch_config", args: { "daemon.http_port": 1 } }, "unsupported_operation"],
      [{ op: "pair_device", args: { device: "Den" } }, "unsupported_operation"],
      [{ op: "fly" }, "invalid_payload"],
      [{ op: "read_logs", args: { device: "Den", follow: true } }, "invalid_payload"],
      [{ args: {} }, "invalid_payload"],
      [{ op: "press_key", args: { device: "Den", key: "home", to: 1 } }, "invalid_payload"],
      [{ op: "press_key", args: { device: "Den", key: "home" }, extra: 1 }, "invalid_payload"],
      [{ op: "press_key", args: { device: "Den", key: "x".repeat(70_000) } }, "payload_too_large"],
      [
        { op: "press_key", args: JSON.parse(`{"device":"Den","key":${"[".repeat(40)}${"]".repeat(40)}}`) },
        "invalid_payload",
      ],
    ] as const)
      expect((await ask(call)).error.code).toBe(code);
    // An answer may not go to a topic of commands.
    await broker.say(`${base}/rpc`, JSON.stringify({ op: "health", reply_to: at("/set/text") }));
    await refused(`${base}/rpc`, ({ message }) => message === "The answer cannot be sent to that topic");
  });

  test("a lease works over rpc, and the log is published while it lasts", async () => {
    const ask = (call: object) => broker.ask(`${base}/rpc`, call);
    const { token } = (await ask({ op: "take_lease", args: { device: "Den", owner: "ci", ttl_s: 60, log: true } }))
      .data;
    const device = await ears.until(({ topic, json }) => topic === at("") && json?.lease?.owner === "ci");
    expect(device.text).not.toContain(token);
    const logs = { op: "read_logs", args: { device: "Den" } };
    set.log("a line of its log");
    await ears.until(({ topic, json }) => topic === at("/log") && json.lines.includes("a line of its log"));
    await broker.say(at("/set/key"), "back");
    await refused(at("/set/key"), ({ code }) => code === "device_leased");
    expect((await ask({ op: "press_key", args: { device: "Den", key: "back" } })).error.code).toBe("device_leased");
    expect((await ask({ op: "press_key", args: { device: "Den", key: "back" }, lease: token })).ok).toBe(true);
    expect((await ask({ op: "free_lease", args: { device: "Den" }, lease: token })).ok).toBe(true);
    await ears.until(({ topic, json }) => topic === at("") && json.lease === null);
    set.log("a line after it");
    await until("the daemon has it", async () => JSON.stringify(await ask(logs)).includes("a line after it"));
    expect(ears.all.filter(({ topic, text }) => topic === at("/log") && text.includes("after it"))).toEqual([]);
  });

  test("retained commands, old ones, and those sent while the daemon was away are not run", async () => {
    const hourOld = new Date(Date.now() - 3_600_000).toISOString();
    const before = set.keys.length;
    await broker.say(at("/set/key"), "select", "-r");
    await refused(at("/set/key"), ({ message }) => /^A retained command is not run/.test(message));
    await broker.say(at("/set/key"), "right", "-D", "publish", "user-property", "sent_at", hourOld);
    await refused(at("/set/key"), ({ message }) => /^The command was not run: it was sent 36\d\d s ago/.test(message));
    const old = await broker.ask(`${base}/rpc`, {
      op: "press_key",
      args: { device: "Den", key: "info" },
      sent_at: hourOld,
    });
    expect(old.error).toMatchObject({ code: "device_busy", message: expect.stringContaining("s ago") });
    await daemon.stop("SIGKILL");
    await ears.until(({ topic, json }) => topic === `${base}/status` && json.online === false);
    // The broker keeps it for nobody: the session has ended.
    await broker.say(at("/set/key"), "options");
    const heard = ears.all.length;
    await set.stop();
    const next = await startTestDaemon({ folder: daemon.folder });
    daemon = next;
    const later = ({ topic, json }: Heard) => topic === `${base}/status` && json.online === true;
    await ears.until((one) => later(one) && ears.all.indexOf(one) >= heard);
    // What the broker has kept of a set that does not answer now counts no longer.
    const isUnknown = ({ topic, json }: Heard) => topic === at("/state") && json.state === null;
    await ears.until((one) => isUnknown(one) && ears.all.indexOf(one) >= heard);
    await set.start();
    // The retained command is refused again.
    await ears.until((one) => ears.all.indexOf(one) >= heard && one.json?.type === "command.refused");
    await broker.say(at("/set/key"), "search");
    await ears.until((one) => ears.all.indexOf(one) >= heard && one.json?.key === "search");
    expect(set.keys.slice(before).filter((key) => /select|right|info|options/i.test(key))).toEqual([]);
    await broker.say(at("/set/key"), "", "-r");
  });

  test("the state of a device is retained from the beginning, as null until it is known", async () => {
    const unpaired = createWebosSimulator({ name: "Kitchen", ssdp: false });
    await unpaired.start();
    const { host, ports } = unpaired;
    const place = { host, port: ports.secure, platform: "webos", ports: { plain: ports.plain } };
    const added = (await daemon.api("POST", "/devices", place)).body.data.id;
    const state = await ears.until(({ topic }) => topic === `${base}/devices/${added}/state`);
    expect(state.json).toMatchObject({ state: null, changed: [] });
    await daemon.api("DELETE", `/devices/${added}`);
    await unpaired.stop();
  });

  test("a broker that comes back empty gets everything again", async () => {
    await broker.end();
    await broker.begin();
    ears.close();
    ears = broker.hear("#");
    const all = [`${base}/status`, at(""), at("/state")];
    for (const topic of all) await ears.until((one) => one.topic === topic);
    expect((await daemon.api("GET", "/daemon/status")).body.data.mqtt).toMatchObject({
      state: "connected",
      site: "lab",
    });
  });

  test("a site that is renamed leaves nothing retained, and its devices stay in Home Assistant", async () => {
    const discovery = (site: string) =>
      ears.until(
        ({ topic, json }) =>
          topic === `homeassistant/device/${id}/config` && json?.availability_topic === `zapd/1/${site}/status`,
      );
    await daemon.api("PATCH", "/config", { "mqtt.home_assistant": true });
    await discovery("lab");
    await daemon.api("PATCH", "/config", { "mqtt.site": "lab2" });
    for (const gone of [`${base}/status`, at(""), at("/state")])
      await ears.until(({ topic, text }) => topic === gone && text === "");
    await ears.until(({ topic, json }) => topic === "zapd/1/lab2/status" && json.online === true);
    await ears.until(({ topic }) => topic === `zapd/1/lab2/devices/${id}`);
    await discovery("lab2");
    expect(ears.all.filter(({ topic, text }) => topic.startsWith("homeassistant/") && text === "")).toEqual([]);
    await daemon.api("PATCH", "/config", { "mqtt.home_assistant": false });
    await ears.until(({ topic, text }) => topic === `homeassistant/device/${id}/config` && text === "");
    // A will would be retained.
    expect((await broker.kept(`${base}/#`)).map(({ topic }) => topic)).toEqual([]);
  });

  test("Home Assistant is given a volume where a device shows its level, and only buttons where it takes steps", async () => {
    const player = createRokuSimulator({ name: "Steps", serial: "X0MQTT000002", kind: "stick", ssdp: false });
    await player.start();
    const mqtt = { url: `mqtt://127.0.0.1:${broker.port}`, site: "volumes", home_assistant: true };
    const next = await startTestDaemon({ config: { mqtt, discovery: { interfaces: ["none"] } } });
    try {
      const described = async ({ host, port }: RokuSimulator, is: (components: Heard["json"]) => boolean) => {
        const added = await succeed(next, "addDevice", { body: { host, port } });
        const config = `homeassistant/device/${added.id}/config`;
        const state = `zapd/1/volumes/devices/${added.id}/state`;
        await ears.until(({ topic, json }) => topic === state && json.state !== null);
        // The test before had the same device, at another site.
        const isOwn = ({ topic, json }: Heard) =>
          topic === config && json.availability_topic === "zapd/1/volumes/status";
        await ears.until((heard) => isOwn(heard) && is(heard.json.components));
        return ears.all.filter(isOwn).map(({ json }) => json.components);
      };
      await described(set, ({ volume, muted }) => volume?.min === 0 && muted?.name === "Muted");
      for (const each of await described(player, ({ key_volume_up }) => key_volume_up.name === "Volume up"))
        expect(each.volume).toBeUndefined();
    } finally {
      await next.dispose();
      await player.stop();
    }
  });

  test("a site that is renamed before it is connected, or while it is not, leaves nothing retained either", async () => {
    let isOpen = true;
    const relay = await listening(
      net.createServer((client) => {
        if (!isOpen) return void client.destroy();
        const to = net.connect(broker.port, "127.0.0.1");
        client.pipe(to).pipe(client);
      }),
    );
    const mqtt = { url: `mqtt://127.0.0.1:${relay.port}`, site: "first" };
    const next = await startTestDaemon({ config: { mqtt, discovery: { interfaces: ["none"] } } });
    const kept = async () => (await broker.kept("zapd/1/#")).map(({ topic }) => topic.split("/")[2]);
    const isOnline = (site: string) =>
      ears.until(({ topic, json }) => topic === `zapd/1/${site}/status` && json.online === true);
    try {
      await succeed(next, "addDevice", { body: { host: set.host, port: set.port, name: "Den" } });
      await ears.until(({ topic, text }) => topic.startsWith("zapd/1/first/devices/") && text !== "");
      for (const change of [{ "mqtt.commands": "developer" }, { "mqtt.site": "second" }])
        await next.api("PATCH", "/config", change);
      await isOnline("second");
      await ears.until(({ topic, text }) => topic.startsWith("zapd/1/second/devices/") && text !== "");
      expect(await kept()).not.toContain("first");
      isOpen = false;
      relay.hangUp();
      for (const site of ["third", "fourth"]) await next.api("PATCH", "/config", { "mqtt.site": site });
      isOpen = true;
      await next.api("PATCH", "/config", { "mqtt.commands": "control" });
      await isOnline("fourth");
      await until("the second is cleared", async () => !(await kept()).includes("second"));
    } finally {
      await next.dispose();
      await relay.stop();
    }
  });

  test("after a lost connection a site is online once it hears commands, whatever changes before that", async () => {
    let isFirst = true;
    const subscribing = Promise.withResolvers<() => void>();
    // Of the second connection nothing is let through but that it was accepted, until the test wants it.
    const relay = await listening(
      net.createServer((client) => {
        const from = net.connect(broker.port, "127.0.0.1");
        client.pipe(from).once("data", (accepted) => {
          client.write(accepted);
          if (isFirst) return void from.pipe(client);
          from.pause();
          client.once("data", () => subscribing.resolve(() => from.pipe(client)));
        });
      }),
    );
    const mqtt = { url: `mqtt://127.0.0.1:${relay.port}`, site: "held" };
    const next = await startTestDaemon({ config: { mqtt, discovery: { interfaces: ["none"] } } });
    try {
      const isOnline = ({ topic, json }: Heard) => topic === "zapd/1/held/status" && json.online === true;
      await ears.until(isOnline);
      isFirst = false;
      relay.hangUp();
      const letThrough = await subscribing.promise;
      await succeed(next, "addDevice", { body: { host: set.host, port: set.port, name: "Den" } });
      await succeed(next, "pressKey", { id: "Den", body: { key: "info" } });
      await ears.until(({ topic, json }) => topic === "zapd/1/held/events" && json.type === "action.finished");
      expect(ears.all.filter(isOnline)).toHaveLength(1);
      letThrough();
      await ears.until((one) => isOnline(one) && one.json.devices === 1);
    } finally {
      await next.dispose();
      await relay.stop();
    }
  });

  test("who waits for a lease over a connection that ends is not given it: the token would reach nobody", async () => {
    const relay = await listening(
      net.createServer((client) => void client.pipe(net.connect(broker.port, "127.0.0.1")).pipe(client)),
    );
    const mqtt = { url: `mqtt://127.0.0.1:${relay.port}`, site: "waits" };
    const next = await startTestDaemon({ config: { mqtt, discovery: { interfaces: ["none"] } } });
    const rpc = "zapd/1/waits/rpc";
    const isOnline = ({ topic, json }: Heard) => topic === "zapd/1/waits/status" && json.online === true;
    try {
      await succeed(next, "addDevice", { body: { host: set.host, port: set.port, name: "Den" } });
      await succeed(next, "takeLease", { id: "Den", body: { owner: "me", ttl_s: 60 } });
      await ears.until(isOnline);
      const args = { device: "Den", owner: "ci", ttl_s: 60, wait_s: 60 };
      await broker.say(rpc, JSON.stringify({ op: "take_lease", args, reply_to: "answers/none" }));
      // Calls are taken in their order.
      expect((await broker.ask(rpc, { op: "health" })).ok).toBe(true);
      const before = ears.all.filter(isOnline).length;
      relay.hangUp();
      await until("it is back", () => ears.all.filter(isOnline).length > before);
      await succeed(next, "freeLease", { id: "Den", query: "force=true" });
      const { lease } = await succeed(next, "getDevice", { id: "Den" });
      expect(lease).toBeNull();
    } finally {
      await next.dispose();
      await relay.stop();
    }
  });

  test("a broker that forbids reading is used after a lost connection too; it does not delay the end", async () => {
    const subscribe = (topic: string) => ({ acltype: "subscribeLiteral", topic, allow: false });
    const acls = [`${base}/status`, `${base}/devices/+`, `${base}/devices/+/state`].map(subscribe);
    const actions = ["publishClientSend", "publishClientReceive", "subscribe", "unsubscribe"];
    const security = {
      defaultACLAccess: Object.fromEntries(actions.map((action) => [action, true])),
      roles: [{ rolename: "writer", acls }],
      groups: [{ groupname: "all", roles: [{ rolename: "writer" }] }],
      anonymousGroup: "all",
    };
    const strict = await Mosquitto.start((folder) => {
      const file = join(folder, "security.json");
      writeFileSync(file, JSON.stringify(security));
      return ["allow_anonymous true", `plugin ${plugin}`, `plugin_opt_config_file ${file}`];
    });
    const mqtt = { url: `mqtt://127.0.0.1:${strict.port}`, site: "lab" };
    let next = await startTestDaemon({ config: { mqtt, discovery: { interfaces: ["none"] } }, speed: 1 });
    try {
      await next.api("POST", "/devices", { host: set.host, port: set.port, name: "Den" });
      const isPublished = ({ topic, json }: Heard) => topic === `${base}/devices/${id}` && json.name === "Den";
      const emptied = async () => {
        await strict.end();
        await strict.begin();
      };
      // The quickest of three: a busy machine may end one late, and a farewell that waits takes a second each time.
      const took: number[] = [];
      for (;;) {
        await strict.hear("zapd/1/lab/#").until(isPublished);
        await emptied();
        await strict.hear("zapd/1/lab/#").until(isPublished);
        expect((await next.api("GET", "/health")).body.data.warnings).toEqual([]);
        const since = performance.now();
        await next.stop();
        if (took.push(performance.now() - since) === 3) break;
        await emptied();
        next = await startTestDaemon({ folder: next.folder, speed: 1 });
      }
      expect(Math.min(...took)).toBeLessThan(800);
    } finally {
      await next.dispose();
      await strict.dispose();
    }
  });

  test("what the broker forbids is a warning; a status from an earlier run is not taken for another daemon's", async () => {
    const old = await Mosquitto.start((folder) => {
      writeFileSync(join(folder, "acl"), "topic readwrite zapd/#\n");
      return ["allow_anonymous true", "persistence true", `persistence_location ${folder}/`, `acl_file ${folder}/acl`];
    });
    const mqtt = { url: `mqtt://127.0.0.1:${old.port}`, site: "lab", home_assistant: true };
    await old.say(`${base}/status`, '{"online":true,"boot":"before"}', "-r");
    process.kill(old.pid, "SIGUSR1");
    const kept = join(old.folder, "mosquitto.db");
    await until("the status is on disk", () => existsSync(kept));
    const next = await startTestDaemon({ config: { mqtt, discovery: { interfaces: ["none"] } } });
    try {
      await succeed(next, "addDevice", { body: { host: set.host, port: set.port, name: "Den" } });
      const stands = async () => (await next.api("GET", "/daemon/status")).body.data.mqtt;
      await until("there is a problem", async () => typeof (await stands())?.problem === "string");
      expect(await stands()).toMatchObject({
        state: "connected",
        problem: expect.stringContaining("does not allow zapd to publish to homeassistant/device/"),
        hint: expect.stringContaining("ACL"),
      });
      expect((await next.api("GET", "/health")).body.data.warnings[0]).toContain("homeassistant/device/");
      // It waits until the earlier status was heard, which it would replace before that on a busy machine.
      next.process.kill("SIGSTOP");
      await old.end();
      await old.begin();
      const later = old.hear(`${base}/status`);
      await later.until(({ json }) => json.boot === "before");
      next.process.kill("SIGCONT");
      await later.until(({ json }) => json.online === true && json.boot !== "before");
      expect((await stands()).state).toBe("connected");
    } finally {
      await next.dispose();
      await old.dispose();
    }
  });
});
