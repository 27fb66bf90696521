/**
 * T27 for Kodi: the user name and the password of its web server are sent only after Kodi's own 401, from the address at which
 * it was paired. All bytes that reach each stranger are searched for them.
 */
import { afterAll, describe, expect, test } from "bun:test";
import net from "node:net";
import { kodi } from "../../src/platforms/kodi/adapter.ts";
import type { Connection } from "../../src/platforms/platform.ts";
import { createKodiSimulator, type KodiSimulator, type KodiSimulatorOptions } from "../../src/simulators/kodi.ts";
import { daemonForFile } from "../blackbox/daemon-for-file.ts";
import { lineTo, never, state, tidy } from "../platforms/harness.ts";
import { startKodi } from "../platforms/kodi/harness.ts";
import { until } from "../support/http-device.ts";
import { listening } from "../support/listening.ts";

tidy(afterAll);

const user = "popcorn-user-71";
const password = "canary-s3cret-71";
const typed = "canary-typed-71";
const secrets = [typed, user, password, ...[user, password, `${user}:${password}`].map((text) => btoa(text))];
const { daemon, atEnd, startSimulator } = await daemonForFile({
  config: { discovery: { interfaces: ["lo"], timeout_ms: 250 }, devices: { request_timeout_ms: 5_000 } },
});

type Rogue = Awaited<ReturnType<typeof startRogue>>;

/** A web server that keeps all that it receives, and gives each request the same answer. */
async function startRogue(answer: string, at: { readonly host?: string; readonly port?: number } = {}) {
  const { host = "127.0.0.1" } = at;
  const pieces: Buffer[] = [];
  const heard = () => Buffer.concat(pieces).toString("latin1");
  const server = net.createServer((socket) => {
    let begun = "";
    socket.on("data", (bytes: Buffer) => {
      pieces.push(bytes);
      begun += bytes.toString("latin1");
      const length = Number(/^content-length: *(\d+)/im.exec(begun)?.[1] ?? 0);
      const end = begun.indexOf("\r\n\r\n");
      if (end === -1 || begun.length < end + 4 + length) return;
      begun = "";
      socket.write(answer);
    });
  });
  const { port, stop } = await listening(server, host, at.port);
  atEnd(stop);
  const requests = () => heard().match(/(GET|POST|HEAD) \S+ HTTP\/1\.1\r\n/g)?.length ?? 0;
  return { host, port, heard, requests, stop };
}

/** Such a server in the place of a set. */
async function replace(set: KodiSimulator, answer: string): Promise<Rogue> {
  const { host, port } = set;
  await set.stop();
  return startRogue(answer, { host, port });
}

/** An answer with a `Content-Length`. */
function web(status: string, headers: readonly string[] = [], body = ""): string {
  return [`HTTP/1.1 ${status}`, ...headers, `Content-Length: ${Buffer.byteLength(body)}`, "", body].join("\r\n");
}

function clean(rogue: Rogue): void {
  for (const secret of secrets) expect([secret, rogue.heard().includes(secret)]).toEqual([secret, false]);
}

let made = 0;
async function locked(options: Partial<KodiSimulatorOptions> = {}): Promise<{ set: KodiSimulator; id: string }> {
  const plain = { name: `Vault ${++made}`, host: `127.0.71.${made}`, port: 0, tcpPort: null, mdns: false };
  const set = await startSimulator(createKodiSimulator({ ...plain, user, password, ...options }));
  const added = await daemon.api("POST", "/devices", { host: set.host, port: set.port, platform: "kodi" });
  expect([added.status, added.body.data?.access]).toEqual([200, "unpaired"]);
  const { id } = added.body.data;
  expect((await daemon.api("POST", `/devices/${id}/pair`, { user, password })).status).toBe(200);
  expect((await daemon.api("GET", `/devices/${id}/state`)).body.data?.state.power).toBe("on");
  return { set, id };
}

/** All that the API can ask of a device. */
async function askAll(id: string): Promise<string[]> {
  const asked = [
    () => daemon.api("GET", `/devices/${id}/state`),
    () => daemon.api("POST", `/devices/${id}/remote/key`, { key: "home" }),
    () => daemon.api("POST", `/devices/${id}/remote/key`, { key: `literal:${typed}` }),
    () => daemon.api("POST", `/devices/${id}/remote/sequence`, { keys: ["up", "down"], delay_ms: 0 }),
    () => daemon.api("POST", `/devices/${id}/apps/refresh`),
    () => daemon.api("POST", `/devices/${id}/apps/launch`, { app: "plugin.video.youtube" }),
    () => daemon.api("POST", `/devices/${id}/apps/stop`),
    () => daemon.api("GET", `/devices/${id}/apps/plugin.video.youtube/icon`),
    () => daemon.api("GET", `/devices/${id}/artwork`),
    () => daemon.api("GET", `/devices/${id}/screenshot`),
    () => daemon.api("POST", "/devices/discover"),
    () => daemon.api("GET", `/devices/${id}/state`),
  ];
  const codes: string[] = [];
  for (const ask of asked) codes.push((await ask()).body.error?.code ?? "ok");
  return codes;
}

const page = "<!DOCTYPE html><title>router</title>";
const asking = (...challenges: string[]) =>
  web(
    "401 Unauthorized",
    challenges.map((challenge) => `WWW-Authenticate: ${challenge}`),
  );
/** It needs no login: nothing can be paired there. */
const lettingIn = "another's JSON-RPC";
const strangers: Readonly<Record<string, string>> = {
  "a web server that knows no such page (404)": web("404 Not Found", ["Content-Type: text/html"], page),
  "a web server with a page for everything (200)": web("200 OK", ["Content-Type: text/html"], page),
  "one that answers JSON": web("200 OK", ["Content-Type: application/json"], '{"hello":"world"}'),
  [lettingIn]: web("200 OK", [], '{"jsonrpc":"2.0","id":1,"result":"pong"}'),
  "Kodi's challenge with a 200": web("200 OK", ['WWW-Authenticate: Basic realm="Kodi"'], "{}"),
  "one that fails (500)": web("500 Said", [], "oops"),
  "one that asks for a login of another realm": asking('Basic realm="Router"'),
  "one of a realm that only begins alike": asking('Basic realm="Kodi NAS"'),
  "one of a realm that only ends alike": asking('Basic realm="XKodi"'),
  "one of the realm in other letters": asking('Basic realm="kodi"'),
  "one of no realm": asking("Basic"),
  "one that asks for a digest of that realm": asking('Digest realm="Kodi", nonce="a", qop="auth"'),
  "one that asks for a token of that realm": asking('Bearer realm="Kodi"'),
  "one that asks for what nobody knows": asking('X-Basic realm="Kodi"'),
  "one that asks for either": asking('Digest realm="Kodi", nonce="a"', 'Basic realm="Kodi"'),
  "one of two realms": asking('Basic realm="Router", Basic realm="Kodi"'),
  "one of the realm in another word": asking('Basic foo="realm=Kodi", realm="Router"'),
  "one of the realm in quotes within another": asking('Basic realm="Router\\", realm=\\"Kodi"'),
  "one that asks without saying how": web("401 Unauthorized"),
  "one that forbids (403) in Kodi's words": web("403 Forbidden", ['WWW-Authenticate: Basic realm="Kodi"']),
  "a proxy that asks (407)": web("407 Proxy Authentication Required", ['Proxy-Authenticate: Basic realm="Kodi"']),
  "one that leads elsewhere": web("302 Found", [
    "Location: http://127.0.0.1:1/",
    'WWW-Authenticate: Basic realm="Kodi"',
  ]),
};

/** All that a connection can do; each fails, or comes to nothing, at a web server that is no Kodi. */
const commands: readonly ((connection: Connection) => unknown)[] = [
  ({ state }) => state?.read(never),
  ({ keys }) => keys?.press("home", never),
  ({ text }) => text?.type(typed, never),
  ({ volume }) => volume?.set?.(20, never),
  ({ playback }) => playback?.do("pause", never),
  ({ media }) => media?.play({ url: "http://127.0.0.1:1/film.mp4" } as never, never),
  ({ channels }) => channels?.list(never),
  ({ apps }) => apps?.list?.(never),
  ({ apps }) => apps?.launch?.("plugin.video.youtube", {}, never),
  ({ apps }) => apps?.stop?.(never),
  ({ notify }) => notify?.("message", never),
  (connection) => connection.icon?.("plugin.video.youtube", never),
  (connection) => connection.artwork?.(never),
  (connection) => connection.screenshot?.(never, () => expect.unreachable()),
  ({ state }) => state?.read(never),
];

test.concurrent.each(Object.entries(strangers))(
  "T27 a stranger at a known address gets no login: %s",
  async (name, answer) => {
    const set = await startKodi({ user, password, tcpPort: null });
    const { host, port } = set;
    const line = await lineTo(kodi, set, { lead: { host, port }, given: { user, password }, timeout: 10_000 });
    expect((await state(line)).power).toBe("on");
    const rogue = await replace(set, answer);
    // Each over a connection of its own: those of one connection share the failure of a moment ago.
    await Promise.all(commands.map(async (command) => command(line.again())).map((asked) => asked.catch(() => {})));
    const pairing = await line.begin().catch(() => null);
    if (pairing?.step === "login") expect(await pairing.enter(user, "another").catch(() => null)).toBeNull();
    expect(rogue.requests()).toBeGreaterThanOrEqual(commands.length);
    clean(rogue);
    expect(rogue.heard().toLowerCase()).not.toContain("authorization:");
    expect([name, line.kept()]).toEqual([name, { user, password }]);
  },
);

describe.concurrent("T27 a stranger at a known address: any web server where a Kodi was", () => {
  test("gets no login from the daemon, whatever is called; the real Kodi is logged in to again", async () => {
    const { set, id } = await locked();
    const rogue = await replace(set, strangers["one that asks for either"] ?? "");
    // The scan alone has succeeded.
    expect((await askAll(id)).filter((code) => code === "ok").length).toBe(1);
    for (const body of [{ user, password: "another" }, undefined])
      expect((await daemon.api("POST", `/devices/${id}/pair`, body)).status).toBe(500);
    expect(rogue.requests()).toBeGreaterThan(0);
    clean(rogue);
    expect(rogue.heard().toLowerCase()).not.toContain("authorization:");
    await rogue.stop();
    await set.start();
    await until(
      "it is on",
      async () => (await daemon.api("GET", `/devices/${id}/state`)).body.data?.state.power === "on",
    );
  });

  test("a stranger that appears in the middle of calls gets no login either", async () => {
    const { set, id } = await locked();
    for (let round = 0; round < 3; round++) await daemon.api("POST", `/devices/${id}/remote/key`, { key: "up" });
    const calling = Array.from({ length: 10 }, () => daemon.api("POST", `/devices/${id}/remote/key`, { key: "down" }));
    const rogue = await replace(set, strangers["a web server that knows no such page (404)"] ?? "");
    await Promise.all(calling);
    await askAll(id);
    clean(rogue);
  });

  test("another Kodi that asks in Kodi's words, and announces another id, gets no login", async () => {
    const { set, id } = await locked({ mdns: true, host: "127.0.0.1" });
    const { port } = set;
    await set.stop();
    const other = await startSimulator(
      createKodiSimulator({ name: "Stranger", host: "127.0.0.1", port, tcpPort: null, mdns: true, user, password }),
    );
    // The scan alone has succeeded.
    expect((await askAll(id)).filter((code) => code === "ok").length).toBe(1);
    // It has the same login: had it been sent, calls would have come through.
    expect(other.calls).toEqual([]);
    await other.stop();
  });

  test("one that takes the place of a Kodi with a socket, and has another name there, gets no login", async () => {
    const { set, id } = await locked({ tcpPort: 0 });
    const ports = { websocket: set.ports.tcp };
    expect((await daemon.api("PATCH", `/devices/${id}`, { ports })).status).toBe(200);
    expect((await daemon.api("GET", `/devices/${id}/state`)).body.data?.state.power).toBe("on");
    const { host, port } = set;
    await set.stop();
    const other = await startSimulator(
      createKodiSimulator({ name: "Stranger 2", host, port, tcpPort: ports.websocket, mdns: false, user, password }),
    );
    for (let round = 0; round < 3; round++) {
      await daemon.api("GET", `/devices/${id}/state`);
      await daemon.api("POST", `/devices/${id}/remote/key`, { key: "home" });
    }
    expect(other.calls.filter(({ via }) => via === "http")).toEqual([]);
    await other.stop();
  });
});

describe("T27 a login is sent as little as can be", () => {
  const kodis = web("401 Unauthorized", ['WWW-Authenticate: Basic realm="Kodi"', "Connection: close"]);

  test("once for a reading of many questions, however many read at once, and not before it is asked for", async () => {
    const { set, id } = await locked();
    // Kodi's own words, whoever answers: the login goes out, and is refused.
    const rogue = await replace(set, kodis);
    const states = await Promise.all(Array.from({ length: 5 }, () => daemon.api("GET", `/devices/${id}/state`)));
    for (const { body } of states) expect(body.error?.code).toBe("pairing_required");
    expect(rogue.heard().match(/^authorization:/gim)?.length ?? 0).toBeLessThanOrEqual(1);
    expect(rogue.heard().toLowerCase().indexOf("authorization:")).toBeGreaterThan(rogue.heard().indexOf("\r\n\r\n"));
  });

  test("pairing sends it to the address that is being paired, after its 401 alone, and never twice", async () => {
    const rogue = await startRogue(kodis);
    const added = await daemon.api("POST", "/devices", { host: rogue.host, port: rogue.port, platform: "kodi" });
    const { id } = added.body.data;
    clean(rogue);
    const paired = await daemon.api("POST", `/devices/${id}/pair`, { user, password });
    expect(paired.body.error?.code).toBe("pairing_failed");
    expect(rogue.heard().match(/^authorization:/gim)?.length).toBe(1);
    await daemon.api("DELETE", `/devices/${id}`);
  });
});

test("T27 a forged announcement that leads a known Kodi to another machine gets no login there", async () => {
  const { set, id } = await locked({ mdns: true, host: "127.0.0.1" });
  await set.stop();
  // The same id, name and words, at another address of this machine.
  const same = { name: `Vault ${made}`, uuid: set.uuid, mac: set.mac, user, password };
  const forged = await startSimulator(
    createKodiSimulator({ ...same, host: "127.0.71.200", port: 0, tcpPort: null, mdns: true }),
  );
  await daemon.api("POST", "/devices/discover");
  await askAll(id);
  expect(forged.calls.map(({ method }) => method)).toEqual([]);
  await forged.stop();
});

test.each([true, false])(
  "T27 one in a Kodi's place that does not announce its id gets no login; a socket that only seems to be open: %p",
  async (isOpen) => {
    const { set, id } = await locked({ mdns: true, host: "127.0.0.1", tcpPort: isOpen ? 0 : null });
    // Open and silent once the Kodi is gone, as after it was unplugged.
    const line = net.createServer((client) => {
      const device = net.connect(set.ports.tcp ?? 0, set.host).on("error", () => {});
      client.pipe(device).pipe(client, { end: false });
    });
    const { port: websocket, stop } = await listening(line);
    atEnd(stop);
    if (isOpen) await daemon.api("PATCH", `/devices/${id}`, { ports: { websocket } });
    expect((await daemon.api("GET", `/devices/${id}/state`)).body.data?.state.power).toBe("on");
    const rogue = await replace(set, asking('Basic realm="Kodi"'));
    await daemon.api("POST", `/devices/${id}/remote/key`, { key: "home" });
    expect(rogue.requests()).toBeGreaterThan(0);
    expect(rogue.heard().toLowerCase()).not.toContain("authorization:");
  },
);
