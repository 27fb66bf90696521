/**
 * Samsung sets that send too much (SECURITY.md T8 to T10, T27): events without end, a list that fills memory, documents that
 * grow, another set's identity. Each connection ends with a reason or goes on in bounded memory, and another set is driven meanwhile.
 */
import { expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { createServer as createHttp } from "node:http";
import { createServer } from "node:https";
import { type WebSocket, WebSocketServer } from "ws";
import { samsung } from "../../src/platforms/samsung/adapter.ts";
import { createCertificateFor } from "../../src/simulators/bench/certificate.ts";
import { has } from "../contract/bench.ts";
import { failure, lineTo, never, passing, press, tidy } from "../platforms/harness.ts";
import { line } from "../platforms/samsung/harness.ts";
import { until } from "../support/http-device.ts";
import { listening } from "../support/listening.ts";
import { isQuick } from "../support/whole.ts";

tidy();
const passed = passing();

const certificate = createCertificateFor("rogue");

interface Manner {
  /** What it answers over HTTP, but for who it is. */
  rest?(path: string): string | null;
  /** What it does once its channel is open. */
  channel?(socket: WebSocket): void;
  /** What its renderer answers; `null`: nothing, ever. */
  renderer?: string | null;
}

/** A connection to a set that says who it is as a real one does, until it is told to become another. */
async function rogue({ rest = () => null, channel = () => {}, renderer = "" }: Manner) {
  let duid: string = randomUUID();
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
  const set = {
    stop: async () => void (await Promise.all([control.stop(), speaker.stop()])),
    become(next: string) {
      duid = next;
    },
  };
  return lineTo(samsung, set, {
    lead: { host: "127.0.0.1", port: control.port },
    ports: { renderer: speaker.port },
    given: (shown) => ({ token: "12345678", certificate: shown }),
    timeout: 2_000,
  });
}

const mebibytes = () => process.memoryUsage.rss() / 2 ** 20;

/** How often another set is driven beside the flood. */
const presses = isQuick ? 6 : 20;

test("T10 endless events of many kinds are read and not kept; another set is driven meanwhile", async () => {
  const real = await line();
  const events = ["ms.remote.imeStart", "ms.remote.imeEnd", "ed.installedApp.get", "ed.apps.launch", "ms.error", "x"];
  const texts = events.map((event) => JSON.stringify({ event, data: "y".repeat(1_000) }));
  const flood = (socket: WebSocket) => {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount < 1024 * 1024)
      for (let round = 0; round < 200; round++) for (const text of texts) socket.send(text);
    setTimeout(flood, 1, socket);
  };
  const one = await rogue({ channel: flood });
  await has(one.connection.keys).press("home", never);
  const before = mebibytes();
  const begun = performance.now();
  for (let count = 0; count < presses; count++) await press(real, "up");
  expect(performance.now() - begun).toBeLessThan(presses * 1_000);
  await until("all have come", () => real.set.received.keys.length >= presses);
  expect(real.set.received.keys.length).toBe(presses);
  // The set runs in this process: what it pours is part of the figure.
  expect(mebibytes() - before).toBeLessThan(96);
  const { learned, remembered } = one.told;
  expect(learned.length + remembered.length).toBeLessThan(10);
});

test("T10 a list of apps of 2 MiB closes the connection, and one of 10,000 apps is cut to 200", async () => {
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
});

test("T8 T9 oversized or malformed answers about apps and volume cost bounded memory and only their part of the state", async () => {
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
});

test("T9 a renderer that never answers does not delay the rest of the state", async () => {
  const one = await rogue({ renderer: null, rest: (path) => JSON.stringify({ id: path, name: "App", visible: true }) });
  const begun = performance.now();
  const state = await has(one.connection.state).read(never);
  expect([state.power, state.app?.name, state.volume]).toEqual(["on", "App", null]);
  expect(performance.now() - begun).toBeLessThan(1_900);
});

test("T27 a set that claims another identity is sent nothing from then on", async () => {
  const heard: string[] = [];
  const one = await rogue({ channel: (socket) => void socket.on("message", (text) => heard.push(String(text))) });
  await has(one.connection.keys).press("home", never);
  one.set.become(randomUUID());
  // An identity that was read less than two seconds ago is not read again.
  passed.ms = 2_100;
  const works = [
    has(one.connection.keys).press("up", never),
    has(one.connection.text).type("secret", never),
    has(one.connection.apps?.launch)("3201907018807", {}, never),
    has(one.connection.state).read(never),
  ];
  for (const { code } of await Promise.all(works.map(failure))) expect(code).toBe("device_unreachable");
  expect(heard).toHaveLength(1);
});
