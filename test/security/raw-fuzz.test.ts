/**
 * Requests with random changes (SECURITY.md, bad inputs): the daemon lives and has no internal error, and a request without a Host of
 * this machine does nothing.
 */
import { expect, test } from "bun:test";
import { roomForFile } from "../blackbox/daemon-for-file.ts";
import { hear } from "../support/raw-http.ts";
import { isQuick, runs, seed } from "../support/whole.ts";
import { dice } from "./dice.ts";

const room = await roomForFile();

const body = '{"key":"info"}';
const press = (host: string, more = "") =>
  `POST /v1/devices/set/remote/key HTTP/1.1\r\n${host}${more}Content-Length: ${body.length}\r\n\r\n${body}`;
const ours = () => `Host: 127.0.0.1:${room.daemon.port}\r\n`;
/** No change by the words below makes these name this machine. */
const foreign = () => [
  press("Host: evil.test\r\n"),
  press("Host: 10.0.0.1:7272\r\n", "Origin: null\r\n"),
  press("Host: evil.test:80\r\n", "X-Forwarded-Host: here\r\n"),
  `DELETE /v1/devices/set HTTP/1.1\r\nHost: evil.test\r\n\r\n`,
];
const own = () => [
  press(ours()),
  press(ours(), "Origin: http://evil.test\r\n"),
  `GET /v1/devices?a=b HTTP/1.1\r\n${ours()}\r\n`,
  `PATCH /v1/config HTTP/1.1\r\n${ours()}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  `POST /v1/devices/set/dev/install HTTP/1.1\r\n${ours()}Content-Type: multipart/form-data; boundary=B\r\nContent-Length: 9\r\n\r\n--B--\r\nxx`,
];
/** What is put between the bytes of a request: single characters, pieces of addresses and numbers, headers. */
const words = [
  ..."\n\r\0 \t:,/?#\x7f\xffé{[",
  ..."\r\n|//|%00|%2e%2e|..|0|-1|99999999999|0x10|HTTP/2.0|PRI * |CONNECT ".split("|"),
  ...["Transfer-Encoding: chunked", "Content-Length: 3", "Host: evil.test", "Origin: null"].map(
    (line) => `${line}\r\n`,
  ),
  ...["Upgrade: websocket", "Expect: 100-continue", "Connection: upgrade"].map((line) => `${line}\r\n`),
];

function mangled(source: string, roll: (most: number) => number): Buffer {
  let text = source;
  for (let times = 1 + roll(3); times > 0; times--) {
    const at = roll(text.length + 1);
    const kind = roll(5);
    const word = words[roll(words.length)] ?? "";
    if (kind === 0) text = text.slice(0, at) + word + text.slice(at);
    else if (kind === 1) text = text.slice(0, at) + text.slice(at + 1 + roll(12));
    else if (kind === 2) text = text.slice(0, at) + String.fromCharCode(roll(256)) + text.slice(at + 1);
    else if (kind === 3) text = text.slice(0, at) + text.slice(Math.max(0, at - roll(60)));
    else text = text.slice(0, at) + word.repeat(1 + roll(400)) + text.slice(at);
  }
  return Buffer.from(text, "latin1");
}

async function fuzz(sources: readonly string[], count: number): Promise<Map<string, number>> {
  const roll = dice(seed);
  const said = new Map<string, number>();
  const failed: string[] = [];
  let left = count;
  const lane = async () => {
    while (left-- > 0 && failed.length === 0) {
      const bytes = mangled(sources[roll(sources.length)] ?? "", roll);
      // Few get no answer, so waiting longer for it costs little. The body follows the head.
      const heard = await hear(room.daemon.port, bytes, 400, 5);
      const status = /^HTTP\/1\.1 (\d{3})/.exec(heard)?.[1] ?? "none";
      said.set(status, (said.get(status) ?? 0) + 1);
      if (/"(internal_error|storage_error)"/.test(heard))
        failed.push(`${JSON.stringify(bytes.toString("latin1"))}: ${heard}`);
    }
  };
  await Promise.all(Array.from({ length: 48 }, lane));
  expect(failed).toEqual([]);
  expect(room.daemon.process.exitCode).toBeNull();
  expect((await room.daemon.api("GET", "/health")).status).toBe(200);
  return said;
}

test(`T2 T18 mangled requests that do not name this machine move nothing (seed ${seed})`, async () => {
  const count = runs(isQuick ? 2_000 : 10_000, 50_000);
  const reached = await room.requestsDuring(async () => {
    const said = await fuzz(foreign(), count);
    expect(said.get("200") ?? 0).toBe(0);
    expect(said.get("403") ?? 0).toBeGreaterThan(count / 20);
  });
  expect(reached).toBe(0);
  expect((await room.daemon.api("GET", "/devices")).body.data).toHaveLength(1);
});

test(`T18 mangled requests from this machine are answered or disconnected, and break nothing (seed ${seed})`, async () => {
  const count = runs(isQuick ? 3_000 : 10_000, 50_000);
  const said = await fuzz(own(), count);
  expect(said.get("200") ?? 0).toBeGreaterThan(count / 200);
  expect(said.get("400") ?? 0).toBeGreaterThan(count / 200);
  expect(room.daemon.log()).not.toMatch(/"level":"error"/);
});
