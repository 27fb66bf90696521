/** Hostile renderers: documents and answers without end, XML bombs, thousands of event calls; another renderer is driven meanwhile. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import net from "node:net";
import { dlna } from "../../src/platforms/dlna/adapter.ts";
import { createDlnaSimulator, type DlnaSimulator } from "../../src/simulators/dlna.ts";
import { codeOf } from "../support/failure.ts";
import { until } from "../support/http-device.ts";
import { listening } from "../support/listening.ts";
import { platformHostOf, targetOf } from "../support/platform-host.ts";
import { pour, repeated } from "../support/pour.ts";
import { isQuick } from "../support/whole.ts";
import { notify } from "../transport/notify.ts";

const never = new AbortController().signal;
const cleanups: (() => unknown)[] = [];
let good: Driven;
beforeEach(async () => {
  const set = createDlnaSimulator({ name: "Good", uuid: randomUUID(), stack: "kodi", ssdp: false });
  await set.start();
  cleanups.push(() => set.stop());
  good = { set, ...(await connect(set.host, set.port, "/")) };
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Driven extends Awaited<ReturnType<typeof connect>> {
  readonly set: DlnaSimulator;
}

async function connect(host: string, port: number, path: string) {
  const lead = { host, port, path };
  const platformHost = platformHostOf({ timeout: 1_000 });
  const sighting = await dlna.identify(lead, platformHost, never);
  const { target, told } = targetOf(sighting, lead);
  const connection = dlna.connect(target, platformHost, told.emit);
  cleanups.push(() => connection.close());
  const { state, volume } = connection;
  if (!state?.readParts || !volume?.set) throw new Error("a renderer has a state and a volume");
  return { connection, told, state, readParts: state.readParts.bind(state), setVolume: volume.set };
}

/** A rogue's answer to a request, by its path and its action; `pour` is sent without an end. */
type Say = (path: string, action: string, headers: ReadonlyMap<string, string>) => string | { readonly pour: string };

const usn = randomUUID();
const type = "urn:schemas-upnp-org:device:MediaRenderer:1";
const description = `<root><device><deviceType>${type}</deviceType><friendlyName>Bad</friendlyName><UDN>uuid:${usn}</UDN><serviceList>${[
  "AVTransport",
  "RenderingControl",
]
  .map(
    (name) =>
      `<service><serviceType>urn:schemas-upnp-org:service:${name}:1</serviceType><controlURL>/c</controlURL><eventSubURL>/e</eventSubURL></service>`,
  )
  .join("")}</serviceList></device></root>`;
const soap = (inner: string) =>
  `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>${inner}</s:Body></s:Envelope>`;
const ok = (body: string, headers = "") => `HTTP/1.1 200 OK\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;

async function rogue(say: Say): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = [];
  const server = net.createServer((socket) => {
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString();
      const end = text.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (end < 0 || text.length < end + 4 + length) return;
      const [first = "", ...lines] = text.slice(0, end).split("\r\n");
      text = text.slice(end + 4 + length);
      const headers = new Map(
        lines.map((line) => {
          const [name = "", ...rest] = line.split(":");
          return [name.toLowerCase(), rest.join(":").trim()] as const;
        }),
      );
      const [method = "", path = ""] = first.split(" ");
      const action = /#(\w+)/.exec(headers.get("soapaction") ?? "")?.[1] ?? method;
      asked.push(action);
      const said = path === "/d.xml" && asked.length < 2 ? ok(description) : say(path, action, headers);
      if (typeof said === "string") return void socket.write(said);
      socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n\r\n");
      pour(repeated(Math.ceil(65_536 / said.pour.length), Buffer.from(said.pour)))(socket);
    });
  });
  const { port, stop } = await listening(server);
  cleanups.push(stop);
  return { port, asked };
}

/** The most memory in MiB that `work` takes, while the good renderer is driven. */
async function cost(work: () => Promise<unknown>): Promise<number> {
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  let [most, isOver, level] = [0, false, 1];
  const watching = (async () => {
    while (!isOver) {
      level = (level % 99) + 1;
      await good.setVolume(level, never);
      expect((await good.state.read(never)).volume?.level).toBe(level);
      most = Math.max(most, process.memoryUsage.rss() - before);
      await Bun.sleep(20);
    }
  })();
  await work().finally(() => {
    isOver = true;
  });
  await watching;
  return most / 2 ** 20;
}

const deep = (depth: number) => `${"<a>".repeat(depth)}${"</a>".repeat(depth)}`;
/** Describes itself as a renderer does, and answers so to all else. */
const then =
  (said: ReturnType<Say>): Say =>
  (path) =>
    path === "/d.xml" ? ok(description) : said;
const bombs: Readonly<Record<string, Say>> = {
  "a description without end": (path) => (path === "/d.xml" ? { pour: "<a>" } : ok(soap(""))),
  "answers without end": then({ pour: "<a>x</a>" }),
  "an answer of a hundred thousand elements": then(ok(soap("<a/>".repeat(100_000)))),
  "an answer that is too deep": then(ok(soap(deep(5_000)))),
  "entities that grow": then(
    ok(`<!DOCTYPE x [<!ENTITY a "xxxxxxxxxx"><!ENTITY b "&a;&a;&a;&a;">]>${soap("<x>&b;</x>")}`),
  ),
  "a redirect": then("HTTP/1.1 302 X\r\nLocation: http://127.0.0.1:7272/\r\nContent-Length: 0\r\n\r\n"),
  garbage: then("\0\0\0\0 garbage\r\n\r\n"),
};

for (const [what, say] of Object.entries(bombs))
  test(`T8 T9 ${what}: an error in time, in bounded memory, and another renderer is driven meanwhile`, async () => {
    const { port } = await rogue(say);
    const bad = await connect("127.0.0.1", port, "/d.xml");
    const took = await cost(async () => {
      for (let round = 0; round < 4; round++) {
        const start = performance.now();
        expect(["device_error", "device_timeout"]).toContain(await codeOf(bad.state.read(never)));
        expect(["device_error", "device_timeout"]).toContain(await codeOf(bad.setVolume(3, never)));
        expect(performance.now() - start).toBeLessThan(8_000);
      }
    });
    expect(took).toBeLessThan(96);
  });

test("T9 a renderer with an endless description is refused, as is one with endless service descriptions", async () => {
  const endless = await rogue(() => ({ pour: "<root>" }));
  const platformHost = platformHostOf({ timeout: 1_000 });
  const lead = (port: number) => ({ host: "127.0.0.1", port, path: "/x.xml" });
  expect(await codeOf(dlna.identify(lead(endless.port), platformHost, never))).toBe("device_error");
  const told = description.replaceAll("</service>", "<SCPDURL>/s.xml</SCPDURL></service>");
  const talker = await rogue((path) => (path === "/x.xml" ? ok(told) : { pour: "<scpd>" }));
  const { memory } = await dlna.identify(lead(talker.port), platformHost, never);
  // An unreadable description leaves the defaults.
  expect([memory.actions, memory.volume]).toEqual([undefined, undefined]);
});

test("T34 T36 a renderer that calls back without a pause is read twice a second, and strangers not at all", async () => {
  let callback = "";
  const values: Readonly<Record<string, string>> = {
    GetTransportInfo: "<CurrentTransportState>PLAYING</CurrentTransportState>",
    GetPositionInfo: "<RelTime>0:00:01</RelTime>",
    GetVolume: "<CurrentVolume>9</CurrentVolume>",
    GetMute: "<CurrentMute>0</CurrentMute>",
  };
  const { port, asked } = await rogue((path, action, headers) => {
    if (path === "/d.xml") return ok(description);
    if (action === "SUBSCRIBE") callback = /<(.*)>/.exec(headers.get("callback") ?? "")?.[1] ?? callback;
    if (path === "/e") return ok("", `SID: uuid:${headers.get("sid") ?? "mine"}\r\nTIMEOUT: Second-300\r\n`);
    return ok(soap(`<u:${action}Response xmlns:u="x">${values[action] ?? ""}</u:${action}Response>`));
  });
  const bad = await connect("127.0.0.1", port, "/d.xml");
  await bad.readParts(["playback"], never);
  await until("it is asked to call", () => callback !== "");
  const to = new URL(callback);
  const call = (from: string, path = to.pathname) =>
    notify(to, { SID: "uuid:mine" }, { from, path, body: "<a>".repeat(300) });
  // A first event follows every subscription.
  await call("127.0.0.1");
  await until("it is subscribed to", () => (bad.state.pushes?.size ?? 0) > 0);
  const flood = (times: number, ...how: Parameters<typeof call>) =>
    Promise.all(
      Array.from({ length: 10 }, async () => {
        for (let round = 0; round < times / 10; round++) await call(...how);
      }),
    );
  const reads = () => asked.filter((action) => action === "GetTransportInfo").length;
  await Bun.sleep(600);
  const before = reads();
  const start = performance.now();
  const took = await cost(() => flood(isQuick ? 600 : 3_000, "127.0.0.1"));
  await until("it is read", () => reads() > before);
  expect(reads() - before).toBeLessThanOrEqual(3 + (performance.now() - start) / 500);
  expect(took).toBeLessThan(96);
  let after: number;
  do {
    after = reads();
    await Bun.sleep(700);
  } while (reads() !== after);
  await flood(isQuick ? 300 : 1_000, "127.0.0.9");
  await flood(isQuick ? 100 : 300, "127.0.0.1", "/0123456789abcdef0123456789abcdef/");
  await Bun.sleep(700);
  expect(reads()).toBe(after);
});
