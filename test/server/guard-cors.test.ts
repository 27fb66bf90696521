/** The headers of the guard: the fixed ones of every answer, CORS headers only for listed origins, preflights. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { type DaemonWithRoku, startDaemonWithRoku } from "../support/daemon-with-roku.ts";
import { callTo, codeOf, type RawAnswer, refusal } from "../support/raw-http.ts";

const listed = "http://app.test:3000";
const key = "/v1/devices/set/remote/key";
const fixed = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
};
const cors = (on: boolean, origins = [listed]) => ({ daemon: { cors_enabled: on, cors_allowed_origins: origins } });

const call = (room: DaemonWithRoku, method: string, target: string, headers: readonly string[], body?: string) =>
  callTo(room.daemon.port, method, target, headers, body);

const accessHeaders = (answer: RawAnswer) => [...answer.headers].filter(([name]) => name.startsWith("access-control-"));

describe("T4 answers of every status", () => {
  const broken = '{"key":';
  const requests: readonly { status: number; what: string; headers?: readonly string[]; body?: string }[] = [
    { status: 200, what: "GET /v1/devices" },
    { status: 200, what: "HEAD /v1/devices" },
    { status: 200, what: `POST ${key}`, body: '{"key":"info"}' },
    { status: 400, what: `POST ${key}`, body: broken },
    { status: 400, what: "GET /v1/devices/%25" },
    { status: 403, what: "GET /v1/devices", headers: ["Host: evil.test"] },
    { status: 403, what: "GET /v1/devices", headers: ["zapd-call: 1"] },
    { status: 404, what: "GET /v1/devices/nobody" },
    { status: 404, what: "GET /nothing" },
    { status: 404, what: "GET /v2/devices" },
    { status: 405, what: "PUT /v1/devices" },
    { status: 413, what: `POST ${key}`, headers: ["Content-Length: 9000000"] },
    { status: 500, what: "GET /v1/config" },
    { status: 500, what: "POST /v1/config/reload" },
  ];

  describe.each([{ on: true }, { on: false }])("CORS on: $on", ({ on }) => {
    let room: DaemonWithRoku;
    beforeAll(async () => {
      room = await startDaemonWithRoku({ config: cors(on) });
      writeFileSync(room.daemon.configFile, "broken");
    });
    afterAll(() => room.dispose());

    test.each([...requests])("$status to $what", async ({ status, what, headers = [], body }) => {
      const [method = "", target = ""] = what.split(" ");
      for (const origin of [undefined, listed, "http://evil.test", "null"]) {
        const page = origin === undefined ? [] : [`Origin: ${origin}`, "Content-Type: application/json"];
        const answer = await call(room, method, target, [...headers, ...page], body);
        const foreign = origin !== undefined && !(on && origin === listed) && method !== "GET" && method !== "HEAD";
        expect(answer.status).toBe(foreign ? 403 : status);
        expect(Object.fromEntries(answer.headers)).toMatchObject(fixed);
        expect(answer.headers.get("content-type")).toBe("application/json");
        expect(answer.headers.get("vary")).toBe(on ? "Origin" : undefined);
        expect(accessHeaders(answer)).toEqual(on && origin === listed ? [["access-control-allow-origin", listed]] : []);
        if (method !== "HEAD" && answer.status >= 400) codeOf(answer);
      }
    });
  });
});

describe("T3 preflights", () => {
  let room: DaemonWithRoku;
  beforeAll(async () => {
    room = await startDaemonWithRoku({ config: cors(true) });
  });
  afterAll(() => room.dispose());
  const asks = ["Access-Control-Request-Method: PATCH", "Access-Control-Request-Headers: content-type, x-other"];
  const preflight = (origin: string, target = key, more: string[] = []) =>
    call(room, "OPTIONS", target, [`Origin: ${origin}`, ...asks, ...more]);

  test.each([key, "/v1/config", "/v1/devices/set", "/v1/nothing", "/"])(
    "the listed origin may, at %s",
    async (target) => {
      const answer = await preflight(listed, target);
      expect([answer.status, answer.body, answer.headers.has("content-length")]).toEqual([204, "", false]);
      // Deno repeats that the caller wants to be hung up on.
      const { date: _, connection: __, ...headers } = Object.fromEntries(answer.headers);
      expect(headers).toEqual({
        ...fixed,
        vary: "Origin",
        "access-control-allow-origin": listed,
        "access-control-allow-methods": "GET, HEAD, POST, PATCH, DELETE",
        "access-control-allow-headers": "content-type, zapd-lease",
        "access-control-max-age": "600",
      });
    },
  );

  test("a page that reads may send the id of the last event", async () => {
    const asked = ["Access-Control-Request-Method: GET", "Access-Control-Request-Headers: last-event-id"];
    const answer = await call(room, "OPTIONS", "/v1/events", [`Origin: ${listed}`, ...asked]);
    expect(answer.headers.get("access-control-allow-headers")).toBe("content-type, zapd-lease, last-event-id");
  });

  test("access to the private network is granted only when asked for", async () => {
    const answer = await preflight(listed, key, ["Access-Control-Request-Private-Network: true"]);
    expect(answer.headers.get("access-control-allow-private-network")).toBe("true");
    expect((await preflight(listed)).headers.has("access-control-allow-private-network")).toBe(false);
  });

  test.each([
    "http://evil.test",
    "null",
    `${listed}/`,
    "https://app.test:3000",
    "http://localhost:3000",
    `${listed}, null`,
  ])("%s may not", async (origin) => {
    const answer = await preflight(origin, key, ["Access-Control-Request-Private-Network: true"]);
    expect([refusal(answer), accessHeaders(answer)]).toEqual(["403 forbidden_origin", []]);
  });

  test("only OPTIONS that names a method is one; GET with that header is an ordinary read", async () => {
    const asks = ["Access-Control-Request-Method: POST"];
    const answers = [
      await call(room, "OPTIONS", key, [`Origin: ${listed}`]),
      await call(room, "OPTIONS", key, asks),
      await call(room, "GET", "/v1/devices", [`Origin: ${listed}`, ...asks]),
    ];
    const granted = answers.map(({ status, headers }) => [status, headers.has("access-control-allow-methods")]);
    expect(granted).toEqual([
      [405, false],
      [405, false],
      [200, false],
    ]);
  });

  test("a listed origin behind a foreign Host may not", async () => {
    const answer = await preflight(listed, key, ["Host: evil.test"]);
    expect(answer.status).toBe(403);
    expect(answer.headers.has("access-control-allow-methods")).toBe(false);
  });
});

describe("T3 changes take effect at once", () => {
  let room: DaemonWithRoku;
  beforeAll(async () => {
    room = await startDaemonWithRoku({ config: cors(false, []) });
  });
  afterAll(() => room.dispose());
  const may = async (origin: string) => {
    const answer = await call(
      room,
      "POST",
      key,
      [`Origin: ${origin}`, "Content-Type: application/json"],
      '{"key":"info"}',
    );
    return [answer.status, answer.headers.get("access-control-allow-origin")];
  };
  const refused = [403, undefined];

  test("by patch", async () => {
    expect(await may(listed)).toEqual(refused);
    await room.daemon.api("PATCH", "/config", { "daemon.cors_enabled": true });
    expect(await may(listed)).toEqual(refused);
    await room.daemon.api("PATCH", "/config", { "daemon.cors_allowed_origins": `http://other.test, ${listed}` });
    expect(await may(listed)).toEqual([200, listed]);
    await room.daemon.api("PATCH", "/config", { "daemon.cors_allowed_origins": null });
    expect(await may(listed)).toEqual(refused);
    await room.daemon.api("PATCH", "/config", { "daemon.cors_allowed_origins": listed, "daemon.cors_enabled": false });
    expect(await may(listed)).toEqual(refused);
  });

  test("by reload, and not before", async () => {
    const text = await Bun.file(room.daemon.configFile).text();
    writeFileSync(room.daemon.configFile, text.replace("cors_enabled = false", "cors_enabled = true"));
    expect(await may(listed)).toEqual(refused);
    expect((await room.daemon.api("POST", "/config/reload")).status).toBe(200);
    expect(await may(listed)).toEqual([200, listed]);
  });
});
