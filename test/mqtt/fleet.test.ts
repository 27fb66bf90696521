/** Many sites as one client sees them, and the same command to many devices. */
import { afterEach, expect, test } from "bun:test";
import { BusError } from "../../src/mqtt/bus.ts";
import { eachOnce, Fleet, type FleetDevice, type FleetResult, type FleetSite } from "../../src/mqtt/fleet.ts";
import { topicsOf } from "../../src/mqtt/topics.ts";
import { MemoryBroker, type MemoryBus } from "./memory-bus.ts";

type Answer = (body: { op?: unknown; args?: { id?: string } }) => unknown;

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** A site with devices `0` to `count - 1`, which answers as it is told to; `null`: not at all. */
async function site(
  broker: MemoryBroker,
  name: string,
  count: number,
  answer: Answer | null = took,
): Promise<MemoryBus> {
  const topics = topicsOf("zapd", name);
  const bus = broker.client({ topic: topics.status, payload: `{"online":false}` });
  const retain = { retain: true };
  const status = {
    online: true,
    boot: "b",
    version: "1.2.3",
    devices: count,
    labels: [`at=${name}`],
    commands: "control",
  };
  await bus.publish(topics.status, JSON.stringify(status), retain);
  for (let n = count - 1; n >= 0; n--) {
    const device = { id: `${name}-${n}`, name: `Set ${n}`, labels: n === 0 ? ["lab"] : [], site_labels: status.labels };
    await bus.publish(topics.device(device.id), JSON.stringify(device), retain);
    await bus.publish(topics.state(device.id), JSON.stringify({ seq: n, state: { power: "on" }, changed: [] }), retain);
  }
  await bus.subscribe([topics.rpc], async ({ payload, replyTo, correlation }) => {
    if (answer === null || replyTo === null) return;
    await bus.publish(replyTo, JSON.stringify(answer(JSON.parse(Buffer.from(payload).toString()))), { correlation });
  });
  return bus;
}

const took: Answer = ({ op, args }) => ({ ok: true, data: { did: `${op} ${args?.id}` } });

async function fleetOf(broker: MemoryBroker, states = false, settleMs = 30): Promise<Fleet> {
  const bus = broker.client();
  const fleet = await Fleet.open(bus, "zapd", { states, settleMs });
  open.push(() => bus.close());
  return fleet;
}

const namesOf = (fleet: Fleet, ...selection: Parameters<Fleet["select"]>) =>
  fleet.select(...selection).map(({ id }) => id);

function running(fleet: Fleet, ids: readonly string[], timeoutMs = 5_000): Promise<readonly FleetResult[]> {
  const targets = fleet.select().filter(({ id }) => ids.includes(id));
  return fleet.run(targets, (send, { id }) => send({ op: "press_key", args: { id, key: "home" } }), {
    timeoutMs,
    replyTo: (one) => topicsOf("zapd", one).reply("me"),
    onResult: () => {},
  });
}

test("devices are selected by their labels and those of their site, by site, name and id", async () => {
  const broker = new MemoryBroker();
  for (const name of ["b", "a"]) await site(broker, name, 2);
  const fleet = await fleetOf(broker, true);
  expect(namesOf(fleet)).toEqual(["a-0", "a-1", "b-0", "b-1"]);
  expect(namesOf(fleet, { labels: ["lab"] })).toEqual(["a-0", "b-0"]);
  expect(namesOf(fleet, { labels: ["lab", "at=b"] })).toEqual(["b-0"]);
  expect(namesOf(fleet, { site: "b" })).toEqual(["b-0", "b-1"]);
  expect(namesOf(fleet, { device: "Set 1" })).toEqual(["a-1", "b-1"]);
  for (const device of ["b-1", "B-1"]) expect(namesOf(fleet, { device })).toEqual(["b-1"]);
  // As with one daemon: a name that matches without case, unless there is exactly that one.
  expect(namesOf(fleet, { device: "sET 1 " })).toEqual(["a-1", "b-1"]);
  await broker.client().publish("zapd/1/a/devices/a-1", `{"name":"Sét 1"}`, { retain: true });
  await broker.client().publish("zapd/1/b/devices/b-1", `{"name":"sét 1"}`, { retain: true });
  expect(["sét 1", " se\u0301t 1", "SÉT 1"].map((device) => namesOf(fleet, { device }))).toEqual([
    ["b-1"],
    ["b-1"],
    ["a-1", "b-1"],
  ]);
  expect(namesOf(fleet, { device: "all", labels: ["nothing"] })).toEqual([]);
  expect(fleet.select()[0]?.state).toEqual({ power: "on" });
  expect(fleet.sites.map(({ site, online, version, commands }) => [site, online, version, commands])).toEqual([
    ["a", true, "1.2.3", "control"],
    ["b", true, "1.2.3", "control"],
  ]);
});

test("each device has its own result: done, refused, its site offline, or no answer", async () => {
  const broker = new MemoryBroker();
  await site(broker, "good", 1);
  const refused = {
    ok: false,
    error: { code: "unsupported_key", message: "Set 0 has no home key", hint: "It has: up" },
  };
  await site(broker, "picky", 1, () => refused);
  await site(broker, "odd", 1, () => ({ something: "else" }));
  await site(broker, "wordless", 1, () => ({ ok: false, error: { code: "device_error" } }));
  await site(broker, "codeless", 1, () => ({ ok: false, error: { message: "No" } }));
  await site(broker, "mute", 1, null);
  (await site(broker, "off", 1)).cut();
  const closed = await site(broker, "closed", 1);
  await closed.publish("zapd/1/closed/status", `{"online":true,"devices":1,"commands":"none"}`, { retain: true });
  const fleet = await fleetOf(broker);
  const results = await running(fleet, namesOf(fleet), 100);
  const told = results.map((one) => `${one.device.id}: ${one.ok ? JSON.stringify(one.data) : one.error.code}`);
  expect(told.sort()).toEqual([
    "closed-0: unsupported_operation",
    "codeless-0: internal_error",
    `good-0: {"did":"press_key good-0"}`,
    "mute-0: device_timeout",
    "odd-0: internal_error",
    "off-0: site_offline",
    "picky-0: unsupported_key",
    "wordless-0: internal_error",
  ]);
  // The will of a site has no labels.
  expect(namesOf(fleet, { labels: ["at=off"] })).toEqual(["off-0"]);
  const picky = results.find(({ device }) => device.id === "picky-0");
  expect(picky).toMatchObject({ error: { message: "Set 0 has no home key", hint: "It has: up" } });
});

test.each(["site", "caller"])("a %s that loses the broker during a call is reported at once", async (who) => {
  const broker = new MemoryBroker();
  const silent = await site(broker, "silent", 1, null);
  const own = broker.client();
  const fleet = await Fleet.open(own, "zapd", { settleMs: 30 });
  const waiting = running(fleet, ["silent-0"], 60_000);
  setTimeout(() => (who === "site" ? silent : own).cut(), 20);
  const hint = expect.stringContaining("The command may have taken effect all the same");
  expect(await waiting).toMatchObject([{ ok: false, error: { code: "site_offline", hint } }]);
  // What it was stays known.
  expect(fleet.sites).toMatchObject([
    { site: "silent", online: who === "caller", version: "1.2.3", labels: ["at=silent"], commands: "control" },
  ]);
});

test("of what the broker does not take, it is not said that it may have worked", async () => {
  const broker = new MemoryBroker();
  await site(broker, "a", 1);
  const own = broker.client();
  const fleet = await Fleet.open(own, "zapd", { settleMs: 30 });
  for (const reason of ["forbidden", "too_large"] as const) {
    own.request = () => Promise.reject(new BusError(reason, "It was refused", { hint: "Allow it" }));
    expect(await running(fleet, ["a-0"])).toMatchObject([{ error: { code: "site_offline", hint: "Allow it" } }]);
  }
});

test("invalid and cleared documents are ignored, and later ones are noticed", async () => {
  const broker = new MemoryBroker();
  const bus = await site(broker, "a", 2);
  const retain = { retain: true };
  for (const text of ["no JSON", "[]", "null", "7"]) await bus.publish("zapd/1/a/devices/odd", text, retain);
  await bus.publish(
    "zapd/1/b/status",
    `{"online":"yes","devices":"many","labels":"x","version":7,"commands":""}`,
    retain,
  );
  await bus.publish("zapd/1/a/devices/strange", JSON.stringify({ name: 7, labels: [1, "x"] }), retain);
  const labels = ["x".repeat(257), ...Array.from({ length: 100 }, (_, n) => `${n}`)];
  await bus.publish("zapd/1/a/devices/long", JSON.stringify({ name: "x".repeat(300), labels }), retain);
  const fleet = await fleetOf(broker);
  expect(namesOf(fleet).sort()).toEqual(["a-0", "a-1", "long", "strange"]);
  const long = fleet.select({ labels: ["62"] }).find(({ id }) => id === "long");
  expect([long?.name.length, long?.labels]).toEqual([256, [...labels.slice(1, 64), "at=a"]]);
  await bus.publish("zapd/1/a/devices/long", "", retain);
  expect(fleet.select({ device: "strange" })[0]).toMatchObject({ name: "strange", labels: ["x", "at=a"] });
  expect(fleet.sites.find(({ site }) => site === "b")).toEqual({
    site: "b",
    online: false,
    version: null,
    devices: 0,
    labels: [],
    commands: null,
  });
  await bus.publish("zapd/1/a/devices/a-1", "", retain);
  await bus.publish("zapd/1/a/devices/strange", "", retain);
  await bus.publish("zapd/1/b/status", "", retain);
  expect(namesOf(fleet)).toEqual(["a-0"]);
  expect(fleet.sites.map(({ site }) => site)).toEqual(["a"]);
});

test("documents that a broker drops are requested again, in batches of sites", async () => {
  const broker = new MemoryBroker();
  // One is more than a batch alone; how many devices the last ones have is not known.
  for (let n = 0; n < 30; n++) await site(broker, `s${10 + n}`, n === 20 ? 450 : 10);
  for (let n = 0; n < 40; n++) (await site(broker, `t${10 + n}`, 15)).cut();
  const listeners = broker.subscriptions.size;
  broker.mostAtOnce = 500;
  const plain = await fleetOf(broker);
  expect([plain.sites.length, plain.select().length]).toEqual([70, 1_340]);
  expect(broker.subscriptions.size).toBe(listeners + 1);
  broker.mostAtOnce = 1_000;
  const whole = await fleetOf(broker, true);
  expect(whole.select().filter(({ state }) => state !== null)).toHaveLength(1_340);
});

test("a site that changes all the time, as some do in every large fleet, does not keep the reading from ending", async () => {
  const broker = new MemoryBroker();
  const bus = await site(broker, "a", 1);
  const changes = setInterval(() => bus.publish("zapd/1/a/devices/a-0/state", `{"seq":1}`, { retain: true }), 5);
  open.push(async () => clearInterval(changes));
  expect((await fleetOf(broker, true, 200)).select()).toHaveLength(1);
});

test("a lost connection ends the reading", async () => {
  const bus = new MemoryBroker().client();
  const opening = Fleet.open(bus, "zapd");
  bus.cut();
  expect(await opening.catch(({ reason }) => reason)).toBe("closed");
  const left = Fleet.open(new MemoryBroker().client(), "zapd", { signal: AbortSignal.timeout(50) });
  expect(await left.catch(({ name }) => name)).toBe("TimeoutError");
});

test("the first message may take longer than the others", async () => {
  const broker = new MemoryBroker();
  const found = fleetOf(broker).then(({ sites }) => sites.length);
  await Bun.sleep(100);
  await site(broker, "late", 1);
  expect(await found).toBe(1);
});

test("what has no time left is not sent, but the end of a lease has some of its own", async () => {
  const broker = new MemoryBroker();
  const asked: unknown[] = [];
  await site(broker, "a", 1, (body) => asked.push(body) && took(body));
  const fleet = await fleetOf(broker);
  const send = (extraMs: number) =>
    fleet.run(fleet.select(), (one) => one({ op: "free_lease" }, extraMs), {
      timeoutMs: 0,
      replyTo: () => "me",
      onResult: () => {},
    });
  expect(await send(0)).toMatchObject([{ error: { code: "device_timeout" } }]);
  expect(asked).toEqual([]);
  expect(await send(5_000)).toMatchObject([{ ok: true }]);
});

test("a site with many devices gets some commands at a time and a second, and each device has its result", async () => {
  const broker = new MemoryBroker();
  let underWay = 0;
  let most = 0;
  let sent = 0;
  const topics = topicsOf("zapd", "big");
  const bus = await site(broker, "big", 110, null);
  await bus.subscribe([topics.rpc], async ({ replyTo, correlation }) => {
    // What it says of itself meanwhile ends no call.
    if (sent++ === 0) await bus.publish(topics.status, `{"online":true}`);
    most = Math.max(most, ++underWay);
    await new Promise((resolve) => setTimeout(resolve, 2));
    underWay--;
    await bus.publish(replyTo ?? "", `{"ok":true,"data":null}`, { correlation });
  });
  const fleet = await fleetOf(broker);
  // After a pause it takes as many at once again, and no more.
  expect(await running(fleet, ["big-0"])).toMatchObject([{ ok: true }]);
  await Bun.sleep(400);
  const began = performance.now();
  const results = await running(fleet, namesOf(fleet));
  expect([results.length, results.every(({ ok }) => ok), most]).toEqual([110, true, 32]);
  // The last ten of them 20 ms after each other.
  expect(performance.now() - began).toBeGreaterThan(190);
  // What waits when the site goes offline is not sent.
  const waiting = running(fleet, namesOf(fleet));
  await Bun.sleep(50);
  const before = sent;
  await bus.publish(topics.status, `{"online":false}`);
  await waiting;
  expect(sent).toBe(before);
  await bus.publish(topics.status, `{"online":true}`);
  expect(await running(fleet, ["big-0"])).toMatchObject([{ ok: true }]);
});

test("a set that several sites know is driven by one of them, and two sets with one id are two", () => {
  const known = (name: string, changes: object = {}, site: Partial<FleetSite> = {}): FleetDevice => ({
    site: { site: name, online: true, version: null, devices: 1, labels: [], commands: "control", ...site },
    id: "1",
    name: "Den",
    labels: [],
    document: { host: "10.0.0.2", port: 8060, access: "full", status: "online", ...changes },
    state: null,
  });
  const sitesOf = (...devices: FleetDevice[]) => eachOnce(devices).map(({ site }) => site.site);
  expect(sitesOf(known("a"), known("b"))).toEqual(["a"]);
  expect(sitesOf(known("a", {}, { online: false }), known("b", { access: "unpaired" }))).toEqual(["b"]);
  expect(sitesOf(known("a", {}, { commands: "none" }), known("b", { status: "offline" }))).toEqual(["b"]);
  expect(sitesOf(known("a", { access: "unpaired" }, { commands: "developer" }), known("b"))).toEqual(["b"]);
  expect(sitesOf(known("a"), known("b", {}, { commands: "developer" }), known("c"))).toEqual(["b"]);
  expect(sitesOf(known("a"), known("b", { host: "10.0.0.3" }))).toEqual(["a", "b"]);
  const own = { host: "127.0.0.1" };
  expect(sitesOf(known("a", own), known("b", own))).toEqual(["a", "b"]);
});
