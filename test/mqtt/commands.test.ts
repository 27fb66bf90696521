/** Calls over the bus: a log that is published ends with its lease and its connection, and no message takes long to read. */
import { expect, spyOn, test } from "bun:test";
import { BusError } from "../../src/mqtt/bus.ts";
import { Commands, type CommandsOptions } from "../../src/mqtt/commands.ts";
import { topicsOf } from "../../src/mqtt/topics.ts";
import { createLog } from "../../src/system/log.ts";
import { until } from "../support/http-device.ts";
import { MemoryBroker } from "./memory-bus.ts";

const topics = topicsOf("zapd", "home");
const nothing = { retained: false, expiresInS: null, sentAt: null, replyTo: null, correlation: null };
const call = { op: "take_lease", args: { device: "Den", owner: "ci", ttl_s: 60, log: true } };
const take = Buffer.from(JSON.stringify(call));
const asked = { ...nothing, topic: topics.rpc, replyTo: "answers" };
const done = async () => Response.json({ ok: true, data: {} });
const options = (events: object[] = [], fetch: (request: Request) => Promise<Response> = done): CommandsOptions => ({
  topics,
  level: "developer",
  api: { url: "http://zapd/v1", fetch },
  log: createLog({ level: "error", format: "text", colour: false, write() {} }),
  artifacts: { origins: () => [], folder: "none", ca: () => undefined },
  publish: (event) => events.push(event),
});

test("logs of leases end with the connection, and leave no listener on it", async () => {
  const followed: AbortSignal[] = [];
  let token = "";
  const fetch = async (request: Request) => {
    if (request.method === "POST") return Response.json({ ok: true, data: { device: { id: "d1" }, token } });
    followed.push(request.signal);
    return new Response(new ReadableStream());
  };
  const commands = new Commands(options([], fetch));
  const bus = new MemoryBroker().client();
  const waiting = spyOn(bus.ended, "then");
  for (let lease = 1; lease <= 3; lease++) {
    token = `t${lease}`;
    commands.handle({ ...asked, payload: take }, bus);
    await until("its log is followed", () => followed.length === lease);
  }
  // A lease that is renewed goes on, and tells no line again.
  commands.handle({ ...asked, payload: take }, bus);
  await Bun.sleep(20);
  expect(followed.map(({ aborted }) => aborted)).toEqual([true, true, false]);
  expect(waiting).not.toHaveBeenCalled();
  commands.detach();
  expect(followed.at(-1)?.aborted).toBe(true);
});

/** What is asked of the API, which answers once a lease is `given`. */
function leasing(): { readonly sent: Request[]; readonly given: () => void; readonly options: CommandsOptions } {
  const sent: Request[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const fetch = async (request: Request) => {
    sent.push(request);
    if (request.method === "POST") await promise;
    return Response.json({ ok: true, data: { device: { id: "d1" }, token: "new" } });
  };
  return { sent, given: resolve, options: options([], fetch) };
}

const cut = async () => {
  throw new BusError("closed", "The connection is gone");
};

test.each(["detach", "end"] as const)(
  "who waits for a lease no longer does after %s, and other calls go on",
  async (ended) => {
    const { sent, options } = leasing();
    const commands = new Commands(options);
    const bus = new MemoryBroker().client();
    const wait = Buffer.from(JSON.stringify({ op: "take_lease", args: { owner: "ci", ttl_s: 60, wait_s: 60 } }));
    const press = Buffer.from(JSON.stringify({ op: "press_key", args: { key: "up" } }));
    for (const payload of [wait, press]) commands.handle({ ...asked, payload }, bus);
    await until("both are asked", () => sent.length === 2);
    commands[ended]();
    expect(sent.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    if (ended === "end") return;
    // Over the next connection another may wait.
    commands.handle({ ...asked, payload: wait }, bus);
    await until("it is asked", () => sent.length === 3);
    expect(sent[2]?.signal.aborted).toBe(false);
  },
);

test.each([
  ["a new lease whose token is not told is freed", undefined, cut, ["POST -", "DELETE new"]],
  ["one that is told is kept", undefined, async () => {}, ["POST -"]],
  ["one that was renewed is kept: its holder has the token", "new,other", cut, ["POST new,other"]],
] as const)("%s", async (_what, lease, publish, expected) => {
  const { sent, given, options } = leasing();
  given();
  const bus = Object.assign(new MemoryBroker().client(), { publish });
  const payload = Buffer.from(JSON.stringify({ ...call, args: { device: "Den", owner: "ci", ttl_s: 60 }, lease }));
  new Commands(options).handle({ ...asked, payload }, bus);
  await until("all is sent", () => sent.length >= expected.length);
  await Bun.sleep(20);
  expect(sent.map(({ method, headers }) => `${method} ${headers.get("zapd-lease") ?? "-"}`)).toEqual([...expected]);
});

test("lines that are too many bytes for one message are counted, and the log goes on", async () => {
  const batches = [1, 2, 3].map((n) => `${JSON.stringify({ id: `c.${n}`, lines: [`${n}`, "more"] })}\n`).join("");
  const log = () => new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode(batches)) });
  const fetch = async ({ method }: Request) =>
    method === "POST"
      ? Response.json({ ok: true, data: { device: { id: "d1" }, token: "t" } })
      : new Response(log(), { headers: { "content-type": "application/x-ndjson" } });
  const published: unknown[] = [];
  const bus = Object.assign(new MemoryBroker().client(), {
    publish: async (_topic: string, json: string) => {
      const told = JSON.parse(json);
      if (!told.lines) return;
      if (told.lines[0] === "2") throw new BusError("too_large", "a packet may have fewer bytes");
      published.push(told);
    },
  });
  const commands = new Commands(options([], fetch));
  commands.handle({ ...asked, payload: take }, bus);
  await until("the last line is published", () => published.length === 2);
  expect(published).toEqual([{ lines: ["1", "more"] }, { lines: ["3", "more"], dropped: 2 }]);
  commands.detach();
});

test("a call that is not run is answered: one of too many, one that was retained, and one that has expired", async () => {
  const events: object[] = [];
  const commands = new Commands(options(events, () => new Promise(() => {})));
  const bus = new MemoryBroker().client();
  const told: { readonly error: { readonly message: string } }[] = [];
  await bus.subscribe(["#"], ({ payload }) => told.push(JSON.parse(Buffer.from(payload).toString())));
  const press = { op: "press_key", args: { device: "Den", key: "up" } };
  const message = { ...asked, payload: Buffer.from(JSON.stringify(press)) };
  commands.handle({ ...message, retained: true }, bus);
  commands.handle({ ...message, expiresInS: 0 }, bus);
  for (let count = 0; count < 65; count++) commands.handle(message, bus);
  // They are reported, but a value is not answered, and nothing is told to a topic of commands.
  commands.handle({ ...message, topic: topics.set("d1; ls", "key"), retained: true }, bus);
  commands.handle({ ...message, replyTo: topics.set("d1", "text") }, bus);
  // A retained command that was cleared is none.
  commands.handle({ ...message, payload: Buffer.alloc(0), retained: true }, bus);
  await until("all five are reported", () => events.length >= 5);
  expect(events).toHaveLength(5);
  const hint = expect.stringMatching(/ -t "\S+\/d1; ls\/set\/key"$/);
  expect(events).toContainEqual(expect.objectContaining({ error: expect.objectContaining({ hint }) }));
  expect(told.map(({ error }) => error.message)).toEqual([
    expect.stringMatching(/^A retained command is not run/),
    expect.stringMatching(/has expired$/),
    expect.stringMatching(/64 commands from the broker are running already$/),
  ]);
});

test("who waits for a lease keeps no command from running, so that its holder can free it", async () => {
  const { sent, options } = leasing();
  const commands = new Commands(options);
  const bus = new MemoryBroker().client();
  const told: { readonly ok: boolean; readonly error?: { readonly message: string } }[] = [];
  await bus.subscribe(["answers"], ({ payload }) => told.push(JSON.parse(Buffer.from(payload).toString())));
  for (let count = 1; count <= 256; count++) {
    // No more come at once than are taken.
    if (count === 190) await Bun.sleep(1_000);
    commands.handle({ ...asked, payload: take }, bus);
  }
  await until("all are asked", () => sent.length === 256);
  commands.handle({ ...asked, payload: take }, bus);
  commands.handle({ ...asked, payload: Buffer.from('{"op":"free_lease","lease":"t"}') }, bus);
  await until("both are answered", () => told.length === 2);
  expect(sent[256]?.method).toBe("DELETE");
  expect(told.map(({ ok, error }) => error?.message ?? ok)).toEqual([
    "The command was not run: 256 calls from the broker wait for a lease already",
    true,
  ]);
});

test("text that is not typed is in no report, however it came", async () => {
  const events: object[] = [];
  const error = { code: "invalid_key", message: '"literal:secret" cannot be held', hint: "not the secret" };
  const refused = async () => Response.json({ ok: false, error }, { status: 400 });
  const commands = new Commands(options(events, refused));
  const bus = new MemoryBroker().client();
  const call = { op: "press_keys", args: { device: "d1", keys: ["up", "literal:secret"] } };
  for (const [topic, text] of [
    [topics.rpc, JSON.stringify(call)],
    [topics.set("d1", "key"), "literal:secret"],
    [topics.set("d1", "text"), "secret"],
  ] as const)
    commands.handle({ ...nothing, topic, payload: Buffer.from(text) }, bus);
  await until("all are reported", () => events.length === 3);
  const told = { code: "invalid_key", message: "The text was not typed" };
  expect(events).toEqual(Array(3).fill(expect.objectContaining({ error: told })));
});

test("of a flood some two hundred commands are run, and the others are answered", async () => {
  const commands = new Commands(options());
  const bus = new MemoryBroker().client();
  const told: string[] = [];
  await bus.subscribe(["answers"], ({ payload }) =>
    told.push(JSON.parse(Buffer.from(payload).toString()).error.message),
  );
  for (let count = 0; count < 600; count++) {
    commands.handle({ ...nothing, topic: topics.rpc, payload: Buffer.from("x"), replyTo: "answers" }, bus);
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  }
  const notRun = "The command was not run: more than 100 commands a second arrive from the broker";
  // A few more than two hundred: it goes on with a hundred a second.
  expect([told.length, told.indexOf(notRun) >= 200, told[0]]).toEqual([600, true, "The call is not JSON"]);
});

test("the transaction of a call is answered as it was given, whatever it is", async () => {
  const bus = new MemoryBroker().client();
  const told: unknown[] = [];
  await bus.subscribe(["answers"], ({ payload }) => told.push(JSON.parse(Buffer.from(payload).toString()).transaction));
  const given = ["a", 7, { job: [1] }, null, false, undefined];
  for (const transaction of given) {
    const payload = Buffer.from(JSON.stringify({ op: "health", reply_to: "answers", transaction }));
    new Commands(options()).handle({ ...nothing, topic: topics.rpc, payload }, bus);
    await until("it is answered", () => told.length > given.indexOf(transaction));
  }
  expect(told).toEqual(given);
});

test("the arguments of a query may be lists", async () => {
  const sent: string[] = [];
  const fetch = async ({ url }: Request) => {
    sent.push(decodeURIComponent(new URL(url).search));
    return done();
  };
  const commands = new Commands(options([], fetch));
  const args = { device: "Den", wait_for: ["power:on", "app:none"], timeout_ms: 50 };
  const payload = Buffer.from(JSON.stringify({ op: "get_state", args }));
  commands.handle({ ...nothing, topic: topics.rpc, payload }, new MemoryBroker().client());
  await until("it is asked", () => sent.length === 1);
  expect(sent).toEqual(["?wait_for=power:on&wait_for=app:none&timeout_ms=50"]);
});

/** What a message leads to: the request to the API, or why it is refused. */
async function outcomeOf(topic: string, message: unknown): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const fetch = async (request: Request) => {
    const { pathname, search } = new URL(request.url);
    resolve(`${request.method} ${pathname}${search} ${await request.text()}`.trim());
    return done();
  };
  const publish = (event: object) => resolve((event as { error: { message: string } }).error.message);
  const payload = Buffer.from(typeof message === "string" ? message : JSON.stringify(message));
  const commands = new Commands({ ...options([], fetch), publish });
  commands.handle({ ...nothing, topic, payload }, new MemoryBroker().client());
  return promise;
}

const nested = (depth: number) => ({
  op: "press_key",
  args: { key: JSON.parse(`${"[".repeat(depth - 2)}${"]".repeat(depth - 2)}`) },
});
const deepest = JSON.stringify(nested(16).args);

test.each<[call: unknown, outcome: string]>([
  [{ op: "health" }, "GET /v1/health"],
  [{ op: "health", args: { device: "Den" } }, "health is not for a device or a group"],
  [{ op: "health", args: { one: 1 } }, 'Unknown argument of health: "one"'],
  [{ op: "run_scene", args: { scene: "film", device: "Den" } }, 'POST /v1/scenes/film {"device":"Den"}'],
  ...[{}, { scene: "" }, { scene: 7 }].map((args): [unknown, string] => [
    { op: "run_scene", args },
    'run_scene needs "scene", such as {"scene":"movie-night"}',
  ]),
  [{ op: "stop_app" }, "POST /v1/devices/default/apps/stop"],
  [{ op: "stop_app", args: { device: "Den" } }, "POST /v1/devices/Den/apps/stop"],
  [{ op: "list_apps", args: { group: "bar" } }, "list_apps is for one device, not for a group"],
  [{ op: "press_key", args: { group: "bar", key: "up" } }, 'POST /v1/groups/bar/remote/key {"key":"up"}'],
  [{ op: "press_key", args: { group: "bar", device: "Den" } }, "A call is for a device or for a group, not for both"],
  ...["", 7].map((device): [unknown, string] => [
    { op: "press_key", args: { device } },
    "device and group must be non-empty texts",
  ]),
  [{ op: "press_key" }, "POST /v1/devices/default/remote/key {}"],
  [{ op: "refresh_apps" }, "POST /v1/devices/default/apps/refresh"],
  [{ op: "refresh_apps", args: { clear: true } }, 'POST /v1/devices/default/apps/refresh {"clear":true}'],
  [{ op: "get_state", args: { wait_for: {} } }, "The arguments of get_state must be plain values, or lists of them"],
  [
    { op: "take_lease", args: { device: "Den", owner: "ci" } },
    "take_lease needs a topic for its answer, which has the token of the lease",
  ],
  [{ op: "take_lease", args: { device: "Den", owner: "ci" }, lease: "t" }, 'POST /v1/devices/Den/lease {"owner":"ci"}'],
  ...["tok1\ntok2", "\u2026", 7].map((lease): [unknown, string] => [
    { op: "press_key", args: { key: "up" }, lease },
    "lease must be the token of a lease",
  ]),
  [[], "The call must be a JSON object"],
  [{ op: "z".repeat(80) }, `Unknown operation "${"z".repeat(64)}"`],
  [nested(16), `POST /v1/devices/default/remote/key ${deepest}`],
  [nested(17), "The call is nested deeper than 16 levels"],
  [`{"op":"health","x":[${"[],{},".repeat(20)}0]}`, 'Unknown in a call: "x"'],
])("the call %j: %s", async (call, outcome) => {
  expect(await outcomeOf(topics.rpc, call)).toBe(outcome);
});

test.each([
  ["power", " ON\n", 'POST /v1/devices/d1/remote/key {"key":"power-on"}'],
  ["power", "constructor", "power must be one of on, off, toggle"],
  ["mute", "true", 'POST /v1/devices/d1/volume {"muted":true}'],
  ["mute", "off", 'POST /v1/devices/d1/volume {"muted":false}'],
  ["volume", " 20 ", 'POST /v1/devices/d1/volume {"level":20}'],
  ["app", "None", "POST /v1/devices/d1/apps/stop"],
  ["app", "x".repeat(8_192), `POST /v1/devices/d1/apps/launch {"app":"${"x".repeat(8_192)}"}`],
  ["app", "x".repeat(8_193), "The message has 8193 bytes, and at most 8192 are accepted"],
  ["text", " a ", 'POST /v1/devices/d1/remote/key {"key":"literal: a "}'],
] as const)("a value of %s", async (field, value, outcome) => {
  expect(await outcomeOf(topics.set("d1", field), value)).toBe(outcome);
});

test("a value for no device names the topic, which its sender knows, and no route", async () => {
  const told = "The topic names no device: its id belongs between devices/ and /set";
  expect(await outcomeOf(topics.set("", "key"), "home")).toBe(told);
});

test("a call of nothing but quotes is read in one pass", async () => {
  const events: object[] = [];
  const commands = new Commands(options(events));
  const payload = Buffer.from(`"${'\\"'.repeat(32_000)}`);
  const took = [1, 2, 3].map(() => {
    const since = performance.now();
    commands.handle({ ...nothing, topic: topics.rpc, payload }, new MemoryBroker().client());
    return performance.now() - since;
  });
  await until("they are refused", () => events.length === 3);
  // The quickest: a busy machine may hold one up. A pass from each quote on takes 400 ms.
  expect(Math.min(...took)).toBeLessThan(100);
  expect(events).toMatchObject(Array(3).fill({ error: { code: "invalid_payload", message: "The call is not JSON" } }));
});
