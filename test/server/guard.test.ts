/**
 * The table of SECURITY.md 2.2, row by row, with CORS off and on: bytes on a raw socket, effects counted at a set. What is
 * refused never reaches the set; what is allowed does so once.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type DaemonWithRoku, startDaemonWithRoku, validPackage } from "../support/daemon-with-roku.ts";
import { callTo, type RawAnswer, refusal } from "../support/raw-http.ts";

const listed = "http://app.test:3000";
const json = "Content-Type: application/json";

/** A write that a caller tries. */
interface Act {
  readonly method: string;
  readonly path: string;
  readonly headers?: readonly string[];
  readonly body?: string | Uint8Array;
  /** How often it has been done, by the set's or the daemon's account. */
  done?(room: DaemonWithRoku): number | Promise<number>;
  /** What is needed before it can be done again. */
  again?(room: DaemonWithRoku): Promise<unknown>;
}

const key = '{"key":"info"}';
const at = "/v1/devices/set";
const form = Buffer.concat([
  Buffer.from('--B\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n'),
  validPackage,
  Buffer.from("\r\n--B--\r\n"),
]);
const keys = (room: DaemonWithRoku) => room.countOf("key");
const named = async (room: DaemonWithRoku) =>
  (await room.daemon.api("GET", "/devices")).body.data[0]?.name === "set" ? 0 : 1;
const multipart = "Content-Type: multipart/form-data; boundary=B";

/** What a page can send without a preflight, and what it cannot. */
const acts = {
  "key, JSON": { method: "POST", path: `${at}/remote/key`, headers: [json], body: key, done: keys },
  "key, text/plain": {
    method: "POST",
    path: `${at}/remote/key`,
    headers: ["Content-Type: text/plain"],
    body: key,
    done: keys,
  },
  "key, a form": {
    method: "POST",
    path: `${at}/remote/key`,
    body: key,
    done: keys,
    headers: ["Content-Type: application/x-www-form-urlencoded"],
  },
  "key, no type": { method: "POST", path: `${at}/remote/key`, body: key, done: keys },
  "key, no body": { method: "POST", path: `${at}/remote/key` },
  sequence: { method: "POST", path: `${at}/remote/sequence`, headers: [json], body: '{"keys":["info"]}', done: keys },
  launch: {
    method: "POST",
    path: `${at}/apps/launch`,
    headers: [json],
    body: '{"app":"netflix"}',
    done: (room) => room.countOf("launch"),
    again: (room) => room.daemon.api("POST", "/devices/set/remote/key", { key: "home" }),
  },
  stop: { method: "POST", path: `${at}/apps/stop` },
  refresh: { method: "POST", path: `${at}/apps/refresh` },
  install: {
    method: "POST",
    path: `${at}/dev/install`,
    headers: [multipart],
    body: form,
    // The same package again is not unpacked again: what counts is that its bytes arrived.
    done: ({ set }) => set.requests.filter(({ path, bytes }) => path.includes("plugin_install") && bytes > 0).length,
  },
  reload: { method: "POST", path: `${at}/dev/reload` },
  discover: { method: "POST", path: "/v1/devices/discover" },
  rename: {
    method: "PATCH",
    path: at,
    headers: [json],
    body: '{"name":"other"}',
    done: named,
    again: (room) => room.daemon.api("PATCH", "/devices/other", { name: "set" }),
  },
  remove: { method: "DELETE", path: at, done: named, again: (room) => room.addSet() },
  "config, patch": {
    method: "PATCH",
    path: "/v1/config",
    headers: [json],
    body: '{"discovery.timeout_ms":800}',
    done: async (room: DaemonWithRoku) =>
      (await room.daemon.api("GET", "/config")).body.data.discovery.timeout_ms === 800 ? 1 : 0,
    again: (room: DaemonWithRoku) => room.daemon.api("PATCH", "/config", { "discovery.timeout_ms": 700 }),
  },
  "config, reload": { method: "POST", path: "/v1/config/reload" },
  add: { method: "POST", path: "/v1/devices", headers: [json], body: '{"host":"127.0.0.1"}' },
  put: { method: "PUT", path: `${at}/remote/key`, headers: [json], body: key },
} as const satisfies Record<string, Act>;
type ActName = keyof typeof acts;
const everyAct = Object.keys(acts) as ActName[];
const counted = everyAct.filter((name) => "done" in acts[name]);
/** Even a listed page must declare its body as JSON. */
const typed: ActName[] = ["key, JSON", "sequence", "launch", "install", "rename", "remove", "config, patch"];

interface Caller {
  readonly who: string;
  /** `{port}` is the daemon's. */
  readonly headers: readonly string[];
  /** The acts that run, each once; `none`: 403 `forbidden_origin` for each there is. */
  readonly off: readonly ActName[] | "none";
  readonly on: readonly ActName[] | "none";
}

const foreign = (who: string, ...headers: string[]): Caller => ({ who, headers, off: "none", on: "none" });

const callers: readonly Caller[] = [
  { who: "curl, scripts", headers: [], off: counted, on: counted },
  { who: "the listed origin", headers: [`Origin: ${listed}`], off: "none", on: typed },
  {
    who: "the listed origin, cross-site",
    headers: [`Origin: ${listed}`, "Sec-Fetch-Site: cross-site"],
    off: "none",
    on: typed,
  },
  { who: "the same origin", headers: ["Origin: http://127.0.0.1:{port}"], off: typed, on: typed },
  { who: "a page of ours without Origin", headers: ["Sec-Fetch-Site: same-origin"], off: typed, on: typed },
  { who: "the address bar", headers: ["Sec-Fetch-Site: none"], off: typed, on: typed },
  { who: "a listed extension", headers: ["Origin: chrome-extension://abcdef"], off: "none", on: typed },
  foreign("a web page", "Origin: http://evil.test"),
  foreign("a web page with the port", "Origin: http://evil.test:{port}"),
  foreign("an https page, a sandboxed frame, a file", "Origin: null"),
  foreign("null in capitals", "Origin: NULL"),
  foreign("an empty Origin", "Origin:"),
  foreign("a page on another local port", "Origin: http://localhost:3000", "Sec-Fetch-Site: same-site"),
  foreign("a page of this port, by another name", "Origin: http://localhost:{port}"),
  foreign("our address, but https", "Origin: https://127.0.0.1:{port}"),
  foreign("our address without the port", "Origin: http://127.0.0.1"),
  foreign("our address with a slash", "Origin: http://127.0.0.1:{port}/"),
  foreign("a page without Origin", "Sec-Fetch-Site: cross-site"),
  foreign("a same-site page without Origin", "Sec-Fetch-Site: same-site"),
  foreign("an unknown Sec-Fetch-Site", "Sec-Fetch-Site: future-value"),
  foreign("an empty Sec-Fetch-Site", "Sec-Fetch-Site:"),
  foreign("Sec-Fetch-Site in capitals", "Sec-Fetch-Site: SAME-ORIGIN"),
  foreign("two Sec-Fetch-Sites", "Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"),
  foreign("a foreign page that says same-origin", "Origin: http://evil.test", "Sec-Fetch-Site: same-origin"),
  foreign("near: other port", "Origin: http://app.test:3001"),
  foreign("near: no port", "Origin: http://app.test"),
  foreign("near: https", "Origin: https://app.test:3000"),
  foreign("near: trailing slash", `Origin: ${listed}/`),
  foreign("near: suffix", `Origin: ${listed}.evil.test`),
  foreign("near: longer port", `Origin: ${listed}0`),
  foreign("near: prefix", "Origin: http://not-app.test:3000"),
  foreign("near: capitals", "Origin: HTTP://APP.TEST:3000"),
  foreign("near: user", "Origin: http://evil@app.test:3000"),
  foreign("near: a list", `Origin: ${listed} http://evil.test`),
  foreign("near: a star", "Origin: *"),
  foreign("two Origins", `Origin: ${listed}`, "Origin: http://evil.test"),
  foreign("two Origins, the listed one last", "Origin: null", `Origin: ${listed}`),
  foreign("the listed origin twice", `Origin: ${listed}`, `Origin: ${listed}`),
  foreign("another extension", "Origin: moz-extension://abcdef"),
  foreign(
    "X-Forwarded-Host is ignored",
    "Origin: http://evil.test",
    "X-Forwarded-Host: evil.test",
    "X-Forwarded-Proto: http",
  ),
  foreign("Forwarded is ignored", "Origin: http://evil.test", "Forwarded: host=evil.test;proto=http"),
  foreign("a method override is ignored", "Origin: http://evil.test", "X-HTTP-Method-Override: GET"),
];

for (const cors of ["off", "on"] as const) {
  describe(`T1 T3 who may write, CORS ${cors}`, () => {
    let room: DaemonWithRoku;
    beforeAll(async () => {
      const cors_allowed_origins = [listed, "chrome-extension://abcdef"];
      room = await startDaemonWithRoku({ config: { daemon: { cors_enabled: cors === "on", cors_allowed_origins } } });
    });
    afterAll(() => room.dispose());

    const call = async (act: Act, caller: Caller): Promise<RawAnswer> => {
      const { port } = room.daemon;
      const own = caller.headers.map((line) => line.replace("{port}", String(port)));
      return callTo(port, act.method, act.path, [...own, ...(act.headers ?? [])], act.body);
    };

    test.each(callers.filter((caller) => caller[cors] === "none"))("$who: nothing runs", async (caller) => {
      const before = await room.daemon.api("GET", "/devices");
      const reached = await room.requestsDuring(async () => {
        for (const act of Object.values(acts)) {
          expect(refusal(await call(act, caller))).toBe("403 forbidden_origin");
        }
      });
      expect(reached).toBe(0);
      expect((await room.daemon.api("GET", "/devices")).body).toEqual(before.body);
      expect(await acts["config, patch"].done(room)).toBe(0);
    });

    test.each(callers.filter((caller) => caller[cors] !== "none"))("$who: runs once", async (caller) => {
      for (const name of caller[cors] as readonly ActName[]) {
        const act: Act = acts[name];
        const before = await act.done?.(room);
        const answer = await call(act, caller);
        expect([name, answer.status, answer.body.slice(0, 200)]).toEqual([
          name,
          200,
          expect.stringContaining('"ok":true'),
        ]);
        expect([name, await act.done?.(room)]).toEqual([name, Number(before) + 1]);
        await act.again?.(room);
      }
      // From a page, a body that needs no preflight is refused even so; scripts may send what they like.
      const plain = await call(acts["key, text/plain"], caller);
      expect(plain.status).toBe(caller.headers.length === 0 ? 200 : 400);
    });
  });
}
