/** Rows of SECURITY.md 2.2 that are about the request itself: its Host, its target, its method, its marker, its listener. */
import { describe, expect, test } from "bun:test";
import { roomForFile } from "../blackbox/daemon-for-file.ts";
import { codeOf, type RawAnswer, refusal, requestOf, send } from "../support/raw-http.ts";

const room = await roomForFile({
  config: { daemon: { cors_enabled: true, cors_allowed_origins: ["http://app.test:3000"] } },
});

/** Where the runtimes differ, the test expects what each does today, so that a change in a new version is noticed. */
const keyPath = "/v1/devices/set/remote/key";
const press = { method: "POST", target: keyPath, body: '{"key":"info"}' };

/** `{port}` stands for the port of the daemon. */
function call(method: string, target: string, headers: readonly string[], body?: string): Promise<RawAnswer> {
  const { port } = room.daemon;
  const own = headers.map((line) => line.replaceAll("{port}", String(port)));
  const bytes = requestOf(method, target.replaceAll("{port}", String(port)), ["Connection: close", ...own], body);
  return send(bytes, { to: port, bodyless: method === "HEAD" });
}

const good = "Host: 127.0.0.1:{port}";

describe("T2 Host", () => {
  const ours = ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}", "127.0.0.1", "localhost", "[::1]"];
  test.each([...ours, "localhost:1", "127.0.0.1:8022", "127.0.0.1:65535"])("%s is ours", async (host) => {
    const before = room.countOf("key");
    expect((await call("GET", "/v1/devices", [`Host: ${host}`])).status).toBe(200);
    expect((await call(press.method, press.target, [`Host: ${host}`], press.body)).status).toBe(200);
    expect(room.countOf("key")).toBe(before + 1);
  });

  const rebound = [
    "evil.test:{port}",
    "evil.test",
    "127.0.0.1.evil.test",
    "localhost.evil.test:{port}",
    "127.0.0.1.nip.io",
  ];
  const spelled = ["evil@127.0.0.1", "evil@127.0.0.1:{port}", "127.0.0.1:{port}@evil.test", "user:pw@localhost"];
  const numbers = [
    "0.0.0.0:{port}",
    "0:{port}",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "127.0.0.01",
    "127.0.0.2",
  ];
  const six = [
    "[::]",
    "::1",
    "[::1%lo]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::1].evil.test",
    "::ffff:127.0.0.1",
  ];
  const ports = [
    "127.0.0.1:65536",
    "127.0.0.1:99999",
    "127.0.0.1:123456",
    "127.0.0.1:",
    "127.0.0.1:80:80",
    "localhost:-1",
  ];
  const odd = [
    "127.0.0.1:0",
    "localhost:00",
    "[::1]:00000",
    "127.0.0.1.",
    "localhost.",
    "LOCALHOST",
    "ip6-localhost",
    "127.0.0.1:0x50",
    "127.0.0.1/",
    "127.0.0.1#x",
  ];
  const more = [
    "127.0.0.1:{port}, evil.test",
    "evil.test, 127.0.0.1",
    "127.0.0.1 evil.test",
    "127。0。0。1",
    "127.0.0.1%00",
    "",
  ];
  test.each([...rebound, ...spelled, ...numbers, ...six, ...ports, ...odd, ...more])(
    "%s is refused, to read as to write",
    (host) => refused([`Host: ${host}`]),
  );

  test.each([
    { what: "none", headers: [] },
    { what: "doubled", headers: [good, "Host: evil.test"] },
    { what: "doubled, ours last", headers: ["Host: evil.test", good] },
    { what: "the same twice", headers: [good, good] },
    { what: "X-Forwarded-Host in its place", headers: ["Host: evil.test", "X-Forwarded-Host: 127.0.0.1:{port}"] },
    { what: "Forwarded in its place", headers: ["Host: evil.test", "Forwarded: host=127.0.0.1"] },
    { what: "a listed page behind a foreign Host", headers: ["Host: evil.test", "Origin: http://app.test:3000"] },
    { what: "a page that is its own Host", headers: ["Host: evil.test", "Origin: http://evil.test"] },
  ])("$what: refused", ({ headers }) => refused(headers));

  test("a foreign X-Forwarded-Host changes nothing", async () => {
    const answer = await call("GET", "/v1/devices", [
      good,
      "X-Forwarded-Host: evil.test",
      "Forwarded: host=evil.test;for=9.9.9.9",
    ]);
    expect(answer.status).toBe(200);
  });

  async function refused(headers: readonly string[]): Promise<void> {
    const reached = await room.requestsDuring(async () => {
      for (const [method, target, body] of [
        ["GET", "/v1/devices"],
        ["GET", "/nothing"],
        ["POST", keyPath, press.body],
      ] as const) {
        const answer = await call(method, target, headers, body);
        // What is no HTTP at all ends in the runtime, without an envelope.
        if (answer.body === "") expect([400, 431, 505]).toContain(answer.status);
        else expect(refusal(answer)).toBe("403 forbidden_host");
      }
    });
    expect(reached).toBe(0);
  }
});

describe("T18 target", () => {
  test("in absolute form, the Host header alone decides, and it runs once", async () => {
    const before = room.countOf("key");
    const answer = await call("POST", `http://127.0.0.1:{port}${keyPath}`, [good], press.body);
    expect(answer.status).toBe(200);
    expect(room.countOf("key")).toBe(before + 1);
    const foreign = await call("POST", `http://127.0.0.1:{port}${keyPath}`, ["Host: evil.test"], press.body);
    expect(codeOf(foreign)).toBe("forbidden_host");
    const origin = await call("POST", `http://evil.test${keyPath}`, [good, "Origin: http://evil.test"], press.body);
    expect(codeOf(origin)).toBe("forbidden_origin");
    const https = await call(
      "POST",
      `https://127.0.0.1${keyPath}`,
      [good, `Origin: https://${good.slice(6)}`],
      press.body,
    );
    expect(codeOf(https)).toBe("forbidden_origin");
    expect(room.countOf("key")).toBe(before + 1);
  });

  test.each([
    "ftp://evil.test/v1/devices",
    "v1/devices",
    "@evil.test/v1/devices",
    ":80/v1/devices",
    "?x",
    "//evil.test/v1/devices",
  ])("%s leads nowhere", async (target) => {
    for (const headers of [[good], ["Host: evil.test"]]) {
      const answer = await call("GET", target, headers);
      expect([400, 403, 404, 505]).toContain(answer.status);
    }
  });
});

describe("T18 method", () => {
  const set = "/v1/devices/set";
  const deno = process.env["ZAPD_TEST_RUNTIME"] === "deno";
  const named = [
    ["TRACE", keyPath, "POST"],
    ["PUT", keyPath, "POST"],
    ["GET", keyPath, "POST"],
    ["HEAD", keyPath, "POST"],
    ["OPTIONS", keyPath, "POST"],
    ["TRACE", set, "GET, PATCH, DELETE, HEAD"],
    ["POST", set, "GET, PATCH, DELETE, HEAD"],
    ["OPTIONS", "/v1/config", "GET, PATCH, HEAD"],
  ] as const;
  test.each(named)("%s %s is 405 and names what is taken", namesWhatIsTaken);
  test.skipIf(deno)(
    `CONNECT ${keyPath} is 405 and names what is taken${deno ? " (skipped: Deno's server answers 400 of itself)" : ""}`,
    () => namesWhatIsTaken("CONNECT", keyPath, "POST"),
  );

  test("a path with dots is read as one without, or is unknown: the 405 never names the method that was used", async () => {
    expect((await call("GET", "/v1/nothing/../health", [good])).status).toBe(deno ? 404 : 200);
  });

  async function namesWhatIsTaken(method: string, path: string, allowed: string): Promise<void> {
    const reached = await room.requestsDuring(async () => {
      const answer = await call(method, path, [good], method === "PUT" ? press.body : undefined);
      expect(answer.status).toBe(405);
      expect(answer.headers.get("allow")?.split(", ").toSorted()).toEqual(allowed.split(", ").toSorted());
      if (method !== "HEAD") expect(codeOf(answer)).toBe("method_not_allowed");
    });
    expect(reached).toBe(0);
  }

  test.each([
    ["CONNECT", "127.0.0.1:80"],
    ["CONNECT", "evil.test:443"],
    ["CONNECT", keyPath],
    ["PROPFIND", "/v1/devices"],
    ["FROB", keyPath],
    ["post", keyPath],
    ["G\u00cbT", "/v1/devices"],
  ])("%s %s is refused", async (method, target) => {
    const reached = await room.requestsDuring(async () => {
      const answer = await call(method, target, [good]);
      // Bun hangs up on words that it does not know.
      expect([0, 400, 404, 405, 501, 505]).toContain(answer.status);
      if (answer.body !== "") codeOf(answer);
    });
    expect(reached).toBe(0);
    expect((await room.daemon.api("GET", "/health")).status).toBe(200);
  });
});

test("T1 an upgrade from a foreign page is refused; from others it is an ordinary read", async () => {
  const upgrade = [
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ];
  for (const line of ["Origin: http://evil.test", "Origin: null", "Sec-Fetch-Site: cross-site"]) {
    const answer = await call("GET", "/v1/devices", [good, line, ...upgrade]);
    expect(refusal(answer)).toBe("403 forbidden_origin");
  }
  for (const line of ["Origin: http://app.test:3000", "Accept: */*"]) {
    expect((await call("GET", "/v1/devices", [good, line, ...upgrade])).status).toBe(200);
  }
});

test("T31 a picture of a listed page is refused without its Origin, with how it is sent, and shown with it", async () => {
  const picture = "/v1/devices/set/apps/netflix/icon";
  const image = [good, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: image"];
  const plain = await call("GET", picture, [...image, "Sec-Fetch-Mode: no-cors"]);
  expect(refusal(plain)).toBe("403 forbidden_origin");
  expect(JSON.parse(plain.body).error.hint).toEndWith(
    "in daemon.cors_allowed_origins. Its pictures need the attribute crossorigin: without it a browser does not say whose they are",
  );
  const told = await call("GET", picture, [...image, "Sec-Fetch-Mode: cors", "Origin: http://app.test:3000"]);
  expect(told.headers.get("access-control-allow-origin")).toBe("http://app.test:3000");
  expect(told.status).not.toBe(403);
});

test("T5 zapd's own calls that a device sends back are refused", async () => {
  const reached = await room.requestsDuring(async () => {
    for (const marker of ["zapd-call: 1", "Zapd-Call:", "ZAPD-CALL: no"])
      for (const [method, target, body] of [
        ["GET", "/v1/devices"],
        ["GET", "/x"],
        ["POST", keyPath, press.body],
      ] as const) {
        const answer = await call(method, target, [good, marker], body);
        expect(refusal(answer)).toBe("403 loop_detected");
      }
  });
  expect(reached).toBe(0);
});

test.each(["Host: zapd", "Host:"])(
  "T15 the control socket requires no Host or Origin of this machine: %s",
  async (host) => {
    const bytes = requestOf(
      "POST",
      keyPath,
      [host, "Origin: http://evil.test", "Connection: close", "Content-Type: application/json"],
      press.body,
    );
    const before = room.countOf("key");
    const answer = await send(bytes, { to: `${room.daemon.stateFolder}/zapd.sock` });
    expect(answer.status).toBe(200);
    expect(room.countOf("key")).toBe(before + 1);
  },
);
