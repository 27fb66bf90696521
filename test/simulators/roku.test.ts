/** Facts of roku.md that no other test covers: the table of refusals, the captured reply, the installer that closes early. */
import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import type { AccessMode } from "../../src/simulators/roku.ts";
import { until } from "../support/http-device.ts";
import { listen, plugInRoku as plugIn } from "../support/sets.ts";
import { search } from "./datagrams.ts";

const LIMITED_TEXT = "ECP command not allowed in Limited mode.";
const refusedText: Cell = [403, LIMITED_TEXT];

type Cell = number | [status: number, body: string];

// The table of section 1.2: what is asked, then the answer when open, limited and disabled.
const TABLE: readonly [method: string, path: string, open: Cell, limited: Cell, disabled: Cell][] = [
  ["GET", "/", 200, 200, 200],
  ["GET", "/ecp_SCPD.xml", 200, 200, 200],
  ["GET", "/query/device-info", 200, 200, [401, ""]],
  ["GET", "/query/active-app", 200, 200, [401, ""]],
  ["GET", "/query/apps", 200, refusedText, [401, ""]],
  ["GET", "/query/media-player", 200, refusedText, [401, ""]],
  ["GET", "/query/icon/12", 200, refusedText, [401, ""]],
  ["GET", "/query/tv-active-channel", 200, refusedText, [401, ""]],
  ["GET", "/query/audio-device", 200, refusedText, [401, ""]],
  ["GET", "/query/app-state/12", 200, refusedText, [401, ""]],
  ["GET", "/query/chanperf", [202, ""], refusedText, [401, ""]],
  ["POST", "/keypress/Up", [200, ""], [403, ""], [401, ""]],
  ["POST", "/keydown/Up", [200, ""], [403, ""], [401, ""]],
  ["POST", "/keyup/Down", [202, ""], [403, ""], [401, ""]],
  ["POST", "/keypress/Lit_a", [200, ""], [403, ""], [401, ""]],
  ["POST", "/keypress/PowerToggle", [400, ""], [400, ""], [401, ""]],
  ["POST", "/launch/12", [200, ""], [200, ""], [401, ""]],
  ["POST", "/launch/999999", [404, ""], [404, ""], [401, ""]],
  ["POST", "/exit-app/12", [404, ""], [403, ""], [401, ""]],
  ["GET", "/query/nothing", [404, ""], [404, ""], [404, ""]],
  ["GET", "/ecp-session", [404, ""], [404, ""], [404, ""]],
  ["POST", "/keypress/%zz", [404, ""], [404, ""], [404, ""]],
];

describe("the answers of 1.2", () => {
  for (const mode of ["enabled", "permissive", "limited", "disabled"] satisfies AccessMode[])
    test(mode, async () => {
      for (const [method, path, open, limited, disabled] of TABLE) {
        const told: string[] = [];
        const onEvent = ({ type }: { type: string }) => void told.push(type);
        const set = await plugIn({ access: mode, developer: { password: "secret" }, onEvent });
        const cell = mode === "limited" ? limited : mode === "disabled" ? disabled : open;
        const [status, body] = typeof cell === "number" ? [cell, undefined] : cell;
        const reply = await fetch(`http://${set.host}:${set.port}${path}`, { method });
        expect([method, path, reply.status]).toEqual([method, path, status]);
        if (body !== undefined) expect([path, await reply.text()]).toEqual([path, body]);
        expect(reply.headers.get("server")).toBe("Roku/15.2.4 UPnP/1.0 Roku/15.2.4");
        // The demo prints what is told, and reads are polled.
        if (method === "GET") expect([path, told]).toEqual([path, []]);
        await set.stop();
      }
    });

  test("the shape of an answer is the captured one; a name in Host is refused", async () => {
    const set = await plugIn();
    const asked = async (head: string, host: string) => {
      const line = listen(set.host, set.port);
      line.socket.write(`${head} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      await until("it is answered", line.closed);
      return line.text().split("\r\n");
    };
    const server = "Server: Roku/15.2.4 UPnP/1.0 Roku/15.2.4";
    expect((await asked("GET /query/apps", "127.0.0.1:8060")).slice(0, 4)).toEqual([
      "HTTP/1.1 200 OK",
      server,
      'Content-Type: text/xml; charset="utf-8"',
      "Cache-Control: no-cache",
    ]);
    const key = await asked("POST /keypress/Home", "[::1]:8060");
    expect(key).toEqual(["HTTP/1.1 200 OK", server, "Content-Length: 0", "", ""]);
    expect((await asked("GET /", "living-room.local:8060"))[0]).toBe("HTTP/1.1 403 Forbidden");
  });
});

test("the answer to a search is what a set was captured saying, in order and case", async () => {
  const set = await plugIn({ ssdp: true, mac: "02:11:22:33:44:55" });
  const answers = await search("roku:ecp", (found) => found.some(({ text }) => text.includes(set.serial)));
  const found = answers.find(({ text }) => text.includes(set.serial));
  expect([found?.port, found?.text.replace(/(device-group.roku.com: )[0-9A-F]{20}\r/, "$1GROUP\r")]).toEqual([
    1900,
    [
      "HTTP/1.1 200 OK",
      "Cache-Control: max-age=3600",
      "ST: roku:ecp",
      `USN: uuid:roku:ecp:${set.serial}`,
      "BOOTID.UPNP.ORG: 42",
      "Ext: ",
      "Server: Roku/15.2.4 UPnP/1.0 Roku/15.2.4",
      `LOCATION: http://127.0.0.1:${set.port}/`,
      "device-group.roku.com: GROUP",
      "WAKEUP: MAC=02:11:22:33:44:55;Timeout=10",
      "",
      "",
    ].join("\r\n"),
  ]);
});

test("a package sent without credentials is not read: the installer's socket closes under it (2.1)", async () => {
  const set = await plugIn({ developer: { password: "secret" } });
  const socket = connect(set.ports.installer ?? 0, set.host);
  const size = 64 * 1024 * 1024;
  let [said, sent, closed] = ["", 0, false];
  socket.on("data", (bytes: Uint8Array) => {
    said += Buffer.from(bytes).toString();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    closed = true;
  });
  socket.write(`POST /plugin_install HTTP/1.1\r\nHost: ${set.host}\r\nContent-Length: ${size}\r\n\r\n`);
  const more = (error?: Error | null) => {
    if (error || closed) return;
    sent += 65_536;
    if (sent < size) socket.write(new Uint8Array(65_536), more);
  };
  more();
  await until("the socket is closed", () => closed);
  expect(sent).toBeLessThan(size);
  expect(said).toMatch(/WWW-Authenticate: Digest qop="auth", realm="rokudev", nonce="\d+"\r\n/);
  expect(set.requests.map(({ status, bytes }) => [status, bytes])).toEqual([[401, 0]]);
});
