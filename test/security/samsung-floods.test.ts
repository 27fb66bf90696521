/**
 * Sets that say too much (SECURITY.md T8 to T10): events without end, a list that fills memory, documents that grow, another
 * set's name. Each ends with a reason or goes on in bounded memory, and another set is driven meanwhile.
 */
import { expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { createServer as createHttp } from "node:http";
import { createServer } from "node:https";
import { type WebSocket, WebSocketServer } from "ws";
import { samsung } from "../../src/platforms/samsung/adapter.ts";
import { createCertificateFor } from "../../src/simulators/bench/certificate.ts";
import { has } from "../contract/bench.ts";
import { failure, lineTo, never, press, tidy } from "../platforms/harness.ts";
import { line } from "../platforms/samsung/harness.ts";
import { listening } from "../support/listening.ts";

tidy();

const certificate = createCertificateFor("rogue");

interface Manner {
  /** What it says over HTTP, but for who it is. */
  rest?(path: string): string | null;
  /** What it does once its channel is open. */
  channel?(socket: WebSocket): void;
  /** What its renderer answers; `null`: nothing, ever. */
  renderer?: string | null;
}

/** A set that is one, but for what it says then, and a connection to it; it may say from some time on that it is another. */
async function rogue({ rest = () => null, channel = () => {}, renderer = "" }: Manner) {
  let duid = randomUUID();
  const info = () => ({
    device: { duid: `uuid:${duid}`, modelName: "QE55", name: "[TV] Rogue", PowerState: "on", TokenAuthSupport: "true" },
  });
  const server = createServer({ ...certificate }, (request, response) => {
    const body = request.url === "/api/v2/" ? JSON.stringify(info()) : rest(request.url ?? "");
    response.writeHead(body === null ? 404 : 200).end(body ?? "");
  });
  const upgrades = new WebSocketServer({ server });
  upgrades.on("connection", (socket) => {
    socket.on("error", () => {});
    socket.send(JSON.stringify({ event: "ms.channel.connect", data: {} }));
    channel(socket);
  });
  const sound = createHttp((request, response) => {
    request.resume();
    if (renderer !== null) response.writeHead(200, { "Content-Type": "text/xml" }).end(renderer);
  });
  const [control, speaker] = [await listening(server), await listening(sound)];
  const stop = async () => void (await Promise.all([control.stop(), speaker.stop()]));
  const become = (next: string) => {
    duid = next as typeof duid;
  };
  const set = { stop, become };
  return lineTo(samsung, set, {
    lead: { host: "127.0.0.1", port: control.port },
    ports: { renderer: speaker.port },
    given: (shown) => ({ token: "12345678", certificate: shown }),
    timeout: 2_000,
  });
}

const mebibytes = () => process.memoryUsage.rss() / 2 ** 20;

/** Says the same again and again, as fast as it is taken, for so long. */
function pour(text: string, ms: number): (socket: WebSocket) => void {
  return (socket) => {
    const end = performance.now() + ms;
    const more = () => {
      if (performance.now() > end || socket.readyState !== socket.OPEN) return;
      if (socket.bufferedAmount < 1024 * 1024) for (let round = 0; round < 200; round++) socket.send(text);
      setTimeout(more, 1);
    };
    more();
  };
}

test("T10 events without end, each of another kind, are read and kept nowhere; another set is driven meanwhile", async () => {
  const real = await line();
  const events = ["ms.remote.imeStart", "ms.remote.imeEnd", "ed.installedApp.get", "ed.apps.launch", "ms.error", "x"];
  const flood = (socket: WebSocket) => {
    for (const event of events) pour(JSON.stringify({ event, data: "y".repeat(1_000) }), 3_000)(socket);
  };
  const one = await rogue({ channel: flood });
  await has(one.connection.keys).press("home", never);
  const before = mebibytes();
  const begun = performance.now();
  while (performance.now() - begun < 3_000) await press(real, "up");
  expect(real.set.received.keys.length).toBeGreaterThan(5);
  // The set is of this process too: what it pours is among the figure.
  expect(mebibytes() - before).toBeLessThan(96);
  const { learned, remembered } = one.told;
  expect(learned.length + remembered.length).toBeLessThan(10);
}, 60_000);

test("T10 a list of apps of two mebibytes ends the line, and one of ten thousand is cut", async () => {
  const answering = (count: number, name: string) => (socket: WebSocket) =>
    socket.on("message", (asked) => {
      if (!String(asked).includes("installedApp")) return;
      const data = Array.from({ length: count }, (_, at) => ({ appId: String(32_010_000_000 + at), name }));
      socket.send(JSON.stringify({ event: "ed.installedApp.get", data: { data } }));
    });
  const huge = await rogue({ channel: answering(2, "x".repeat(1024 * 1024)) });
  await has(huge.connection.keys).press("home", never);
  const error = await failure(has(huge.connection.apps?.list)(never));
  expect(["device_error", "device_unreachable"]).toContain(error.code);
  const many = await rogue({ channel: answering(10_000, "App") });
  await has(many.connection.state).read(never);
  expect((await has(many.connection.apps?.list)(never)).length).toBe(200);
  expect(many.target.memory.apps?.length).toBe(200);
}, 60_000);

test("T8 T9 what it says of apps and of its volume is bounded, and a part of its state at most", async () => {
  const before = mebibytes();
  const bombs = [
    '<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb">]><a>&b;</a>',
    `<a>${"<b>".repeat(100_000)}`,
    `<a b="${"x".repeat(300_000)}"/>`,
    "not xml",
  ];
  for (const renderer of bombs) {
    const one = await rogue({ renderer, rest: () => "x".repeat(8 * 1024 * 1024) });
    const state = await has(one.connection.state).read(never);
    expect([state.power, state.app, state.volume]).toEqual(["on", null, null]);
    expect((await failure(has(one.connection.volume?.set)(20, never))).code).toBe("device_error");
  }
  expect(mebibytes() - before).toBeLessThan(192);
}, 60_000);

test("T9 a renderer that never answers keeps the rest of the state from nobody", async () => {
  const one = await rogue({ renderer: null, rest: (path) => JSON.stringify({ id: path, name: "App", visible: true }) });
  const begun = performance.now();
  const state = await has(one.connection.state).read(never);
  expect([state.power, state.app?.name, state.volume]).toEqual(["on", "App", null]);
  expect(performance.now() - begun).toBeLessThan(1_900);
});

test("T27 one that says that it is another is told nothing from then on", async () => {
  const heard: string[] = [];
  const one = await rogue({ channel: (socket) => void socket.on("message", (text) => heard.push(String(text))) });
  await has(one.connection.keys).press("home", never);
  one.set.become(randomUUID());
  // What it said a moment ago is not asked again at once.
  await Bun.sleep(2_100);
  for (const work of [
    has(one.connection.keys).press("up", never),
    has(one.connection.text).type("secret", never),
    has(one.connection.apps?.launch)("3201907018807", {}, never),
    has(one.connection.state).read(never),
  ])
    expect((await failure(work)).code).toBe("device_unreachable");
  expect(heard).toHaveLength(1);
}, 60_000);
