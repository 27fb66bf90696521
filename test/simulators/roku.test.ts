import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import type { AccessMode } from "../../src/simulators/roku.ts";
import { sendDatagram } from "./datagrams.ts";
import { ask, exchange, get, header, parseReply, plugIn, post } from "./roku-harness.ts";

const MODES: readonly AccessMode[] = ["enabled", "permissive", "limited", "disabled"];
const LIMITED_TEXT = "ECP command not allowed in Limited mode.";

type Cell = number | [status: number, body: string];

// The table of section 1.2: what is asked, then the answer when open, limited and disabled.
const TABLE: readonly [method: string, path: string, open: Cell, limited: Cell, disabled: Cell][] = [
  ["GET", "/", 200, 200, 200],
  ["GET", "/ecp_SCPD.xml", 200, 200, 200],
  ["GET", "/dial_SCPD.xml", 200, 200, 200],
  ["GET", "/device-image.png", 200, 200, 200],
  ["GET", "/query/device-info", 200, 200, [401, ""]],
  ["GET", "/query/active-app", 200, 200, [401, ""]],
  ["GET", "/query/apps", 200, [403, LIMITED_TEXT], [401, ""]],
  ["GET", "/query/media-player", 200, [403, LIMITED_TEXT], [401, ""]],
  ["GET", "/query/icon/12", 200, [403, LIMITED_TEXT], [401, ""]],
  ["GET", "/query/tv-channels", 200, [403, LIMITED_TEXT], [401, ""]],
  ["GET", "/query/tv-active-channel", 200, [403, LIMITED_TEXT], [401, ""]],
  ["GET", "/query/audio-device", 200, [403, LIMITED_TEXT], [401, ""]],
  ["GET", "/query/app-state/12", 200, [403, LIMITED_TEXT], [401, ""]],
  ["GET", "/query/chanperf", [202, ""], [403, LIMITED_TEXT], [401, ""]],
  ["GET", "/query/registry/dev", [202, ""], [403, LIMITED_TEXT], [401, ""]],
  ["GET", "/query/sgnodes/all", [202, ""], [403, LIMITED_TEXT], [401, ""]],
  ["GET", "/query/r2d2-bitmaps", [202, ""], [403, LIMITED_TEXT], [401, ""]],
  ["GET", "/query/app-ui", [202, ""], [403, LIMITED_TEXT], [401, ""]],
  ["POST", "/keypress/Up", [200, ""], [403, ""], [401, ""]],
  ["POST", "/keydown/Up", [200, ""], [403, ""], [401, ""]],
  ["POST", "/keyup/Down", [202, ""], [403, ""], [401, ""]],
  ["POST", "/keypress/Lit_a", [200, ""], [403, ""], [401, ""]],
  ["POST", "/keypress/PowerToggle", [400, ""], [400, ""], [401, ""]],
  ["POST", "/keydown/Sleep", [400, ""], [400, ""], [401, ""]],
  ["POST", "/keyup/nonsense", [400, ""], [400, ""], [401, ""]],
  ["POST", "/launch/12", [200, ""], [200, ""], [401, ""]],
  ["POST", "/launch/999999", [404, ""], [404, ""], [401, ""]],
  ["POST", "/input?x=1", [200, ""], [403, ""], [401, ""]],
  ["POST", "/exit-app/12", [404, ""], [403, ""], [401, ""]],
  ["GET", "/query/nothing", [404, ""], [404, ""], [404, ""]],
  ["GET", "/ecp-session", [404, ""], [404, ""], [404, ""]],
  ["POST", "/keypress/%zz", [404, ""], [404, ""], [404, ""]],
];

describe("the answers of 1.2", () => {
  for (const mode of MODES) {
    test(mode, async () => {
      for (const [method, path, open, limited, disabled] of TABLE) {
        const simulator = await plugIn({ access: mode, developer: { password: "secret" } });
        const cell = mode === "limited" ? limited : mode === "disabled" ? disabled : open;
        const [status, body] = typeof cell === "number" ? [cell, undefined] : cell;
        const reply = await ask(simulator, method, path);
        expect([method, path, reply.status]).toEqual([method, path, status]);
        if (body !== undefined) expect([path, reply.body]).toEqual([path, body]);
        expect(header(reply, "Server")).toBe("Roku/15.2.4 UPnP/1.0 Roku/15.2.4");
        await simulator.stop();
      }
    });
  }

  test("a set that refuses launches in limited mode still says when an app is not there", async () => {
    const simulator = await plugIn({ access: "limited", limitedLaunch: false });
    expect((await post(simulator, "/launch/12")).status).toBe(403);
    expect((await post(simulator, "/launch/999999")).status).toBe(404);
  });

  test("without developer mode its queries and exit-app are refused", async () => {
    const simulator = await plugIn();
    for (const [method, path] of [
      ["GET", "/query/registry/dev"],
      ["GET", "/query/app-state/12"],
      ["POST", "/exit-app/12"],
    ] as const) {
      expect([path, (await ask(simulator, method, path)).status]).toEqual([path, 403]);
    }
  });

  test("the mode changes while the set runs, and device-info tells which it is", async () => {
    const simulator = await plugIn();
    for (const mode of ["limited", "permissive", "enabled"] as const) {
      simulator.setAccess(mode);
      expect((await get(simulator, "/query/device-info")).body).toContain(
        `<ecp-setting-mode>${mode}</ecp-setting-mode>`,
      );
    }
  });
});

describe("the shape of an answer", () => {
  test("documents carry their type and no-cache, in the captured spelling; actions carry nothing", async () => {
    const simulator = await plugIn();
    const query = await get(simulator, "/query/apps");
    expect(query.headers.slice(0, 3)).toEqual([
      ["Server", "Roku/15.2.4 UPnP/1.0 Roku/15.2.4"],
      ["Content-Type", 'text/xml; charset="utf-8"'],
      ["Cache-Control", "no-cache"],
    ]);
    const key = await post(simulator, "/keypress/Home");
    expect(key.headers).toEqual([
      ["Server", "Roku/15.2.4 UPnP/1.0 Roku/15.2.4"],
      ["Content-Length", "0"],
    ]);
  });

  test("a refusal in limited mode is plain text for queries", async () => {
    const simulator = await plugIn({ access: "limited" });
    expect(header(await get(simulator, "/query/apps"), "Content-Type")).toBe("text/plain");
    expect(header(await post(simulator, "/keypress/Home"), "Content-Type")).toBeUndefined();
  });

  test("Host has to be an address, with or without a port", async () => {
    const simulator = await plugIn();
    for (const host of ["127.0.0.1", "127.0.0.1:8060", "192.168.1.40", "[::1]:8060"]) {
      expect([host, (await ask(simulator, "GET", "/", { host })).status]).toEqual([host, 200]);
    }
    for (const host of ["localhost", "living-room.local:8060", "", "256.1.1.1", "[roku]"]) {
      const reply = await ask(simulator, "GET", "/", { host });
      expect([host, reply.status, reply.body]).toEqual([host, 403, ""]);
    }
  });

  test("one connection serves many requests, pipelined or not, and HEAD has no body", async () => {
    const simulator = await plugIn();
    const host = `Host: ${simulator.host}\r\n`;
    const sent = `HEAD / HTTP/1.1\r\n${host}\r\nPOST /keypress/Up HTTP/1.1\r\n${host}Content-Length: 2\r\n\r\nxx`;
    const last = `POST /keypress/Down HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\nx\r\n0\r\n\r\n`;
    const text = await exchange(simulator.host, simulator.port, Buffer.from(sent + last));
    expect(text.match(/^HTTP\/1\.1 200 OK\r$/gm)).toHaveLength(3);
    expect(text).not.toContain("<root");
    expect(simulator.keys).toEqual(["Up", "Down"]);
    expect(simulator.requests.map(({ method, status, bytes }) => [method, status, bytes])).toEqual([
      ["HEAD", 200, 0],
      ["POST", 200, 2],
      ["POST", 200, 1],
    ]);
  });

  test("a websocket is not to be had", async () => {
    const simulator = await plugIn();
    const headers = { Upgrade: "websocket", "Sec-WebSocket-Protocol": "ecp-2" };
    expect((await ask(simulator, "GET", "/ecp-session", { headers })).status).toBe(404);
  });
});

describe("garbage", () => {
  const GARBAGE: Record<string, string> = {
    "no request": "\u0000\u0001\u0002 hello\r\n\r\n",
    "no colon": "GET / HTTP/1.1\r\nHost\r\n\r\n",
    "a length that is none": "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
    "a chunk that is none": "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "an endless head": `GET / HTTP/1.1\r\nX: ${"a".repeat(20_000)}`,
  };
  for (const [name, sent] of Object.entries(GARBAGE)) {
    test(`${name}: 400 and the end of the connection`, async () => {
      const simulator = await plugIn();
      expect(parseReply(await exchange(simulator.host, simulator.port, Buffer.from(sent, "latin1"))).status).toBe(400);
      expect((await get(simulator, "/")).status).toBe(200);
    });
  }

  test("a body no set would read is refused", async () => {
    const simulator = await plugIn();
    const head = "POST /keypress/Up HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000000\r\n\r\nx";
    expect(parseReply(await exchange(simulator.host, simulator.port, Buffer.from(head))).status).toBe(413);
    expect(simulator.keys).toEqual([]);
  });

  test("names of the language are no routes and no keys", async () => {
    const simulator = await plugIn();
    for (const path of ["/__proto__", "/constructor", "/query/__proto__", "/toString"]) {
      expect([path, (await get(simulator, path)).status]).toEqual([path, 404]);
    }
    expect((await post(simulator, "/keypress/__proto__")).status).toBe(400);
    expect((await post(simulator, "/launch/__proto__?__proto__=1")).status).toBe(404);
  });

  test("noise on every port leaves the set as it was", async () => {
    const simulator = await plugIn({ ssdp: true, name: "Noisy", developer: { password: "x" } });
    const { installer, console: consolePort, wake } = simulator.ports;
    for (const port of [simulator.port, installer ?? 0, consolePort ?? 0]) {
      for (let round = 0; round < 20; round += 1) {
        const socket = connect(port, simulator.host);
        socket.on("error", () => {});
        await new Promise<void>((resolve) => socket.on("connect", resolve));
        await new Promise<void>((resolve) => socket.write(randomBytes(2000 * round + 1), () => resolve()));
        socket.destroy();
      }
    }
    for (const port of [1900, wake]) await sendDatagram(randomBytes(1400), port, simulator.host);
    await sendDatagram(Buffer.from("M-SEARCH * HTTP/1.1\r\n:::\r\nST\r\n\r\n"), 1900, simulator.host);
    expect((await get(simulator, "/query/device-info")).status).toBe(200);
    expect(simulator.state).toMatchObject({ power: "on", activeApp: null, discoverable: true });
  });
});
