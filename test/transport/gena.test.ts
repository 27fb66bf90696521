/** Being called back by a device: by that device alone, at a path that nobody knows, under a subscription of ours; and what floods cost. */
import { afterEach, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import net from "node:net";
import { subscribe } from "../../src/transport/gena.ts";
import { DeviceHttp } from "../../src/transport/http.ts";
import { until } from "../support/http-device.ts";
import { isRefused, listening } from "../support/listening.ts";
import { inOwnNetwork } from "../support/own-network.ts";
import { root } from "../support/sources.ts";
import { passTime, wakeUp } from "../support/test-clock.ts";
import { notify } from "./notify.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const never = new AbortController().signal;

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A device that takes subscriptions as it is told: by head lines of its answers. */
async function device(answer: (asked: Asked) => string | Promise<string>) {
  const asked: Asked[] = [];
  const server = net.createServer((socket) => {
    socket.once("data", async (bytes) => {
      const [first = "", ...lines] = bytes.toString().split("\r\n");
      const [method = "", path = ""] = first.split(" ");
      const headers = Object.fromEntries(
        lines.flatMap((line) => {
          const colon = line.indexOf(":");
          return colon > 0 ? [[line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]] : [];
        }),
      );
      asked.push({ method, path, headers });
      socket.end(`${await answer({ method, path, headers })}\r\nContent-Length: 0\r\n\r\n`);
    });
  });
  const { port, stop } = await listening(server);
  cleanups.push(stop);
  const platformHost = { requestTimeoutMs: () => 2_000, isOwnListener: () => false };
  const http = new DeviceHttp({ address: { host: "127.0.0.1", port }, platformHost });
  cleanups.push(() => http.close());
  return { asked, http };
}

const given = ({ path }: Asked) => `HTTP/1.1 200 OK\r\nSID: uuid:${path.slice(1)}\r\nTIMEOUT: Second-300`;

async function subscribed(answer: Parameters<typeof device>[0] = given, paths: readonly string[] = ["/one", "/two"]) {
  const { asked, http } = await device(answer);
  const counts = { events: 0, ends: 0 };
  const session = await subscribe(
    { http, peer: "127.0.0.1", paths, onEvent: () => counts.events++, onEnd: () => counts.ends++ },
    never,
  );
  cleanups.push(() => session.close());
  const callback = new URL(/<(.*)>/.exec(asked[0]?.headers["callback"] ?? "")?.[1] ?? "");
  return { asked, session, callback, counts };
}

describe("a subscription", () => {
  test("ends once this machine has slept: events were missed, and its timers stood still", async () => {
    const { session, counts } = await subscribed();
    passTime(7_000);
    await until("it has ended", () => counts.ends === 1);
    expect(session.alive).toBe(false);
    wakeUp();
  });

  test("is asked for at every service, with a callback on the address that faces the device; a call with its id is an event", async () => {
    const { asked, callback, counts } = await subscribed();
    expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual(["SUBSCRIBE /one", "SUBSCRIBE /two"]);
    expect(asked[0]?.headers).toMatchObject({ nt: "upnp:event", timeout: "Second-300" });
    expect([callback.hostname, callback.pathname.length >= 33]).toEqual(["127.0.0.1", true]);
    expect(await notify(callback, { SID: "uuid:one" })).toBe("HTTP/1.1 200 OK");
    expect(await notify(callback, { SID: "uuid:two" })).toBe("HTTP/1.1 200 OK");
    expect(counts.events).toBe(2);
  });

  test("T36 accepts no other hosts, paths, ids or methods", async () => {
    const { callback, counts } = await subscribed();
    expect(await notify(callback, { SID: "uuid:one" }, { from: "127.0.0.9" })).toBe("");
    for (const path of ["/", "/0123456789abcdef0123456789abcdef/", callback.pathname.slice(0, -3)])
      expect(await notify(callback, { SID: "uuid:one" }, { path })).toContain(" 404 ");
    for (const headers of [
      { SID: "uuid:three" },
      { SID: "" },
      { SID: "uuid:one", NT: "x" },
      { SID: "uuid:one", NTS: "upnp:other" },
    ])
      expect(await notify(callback, headers)).toContain(" 412 ");
    expect(await notify(callback, { SID: "uuid:one" }, { method: "POST" })).toContain(" 405 ");
    expect(await notify(callback, { SID: "uuid:one", "X-Long": "x".repeat(20_000) })).toContain(" 431 ");
    expect(await notify(callback, { SID: "uuid:one" }, { body: "x".repeat(300_000) })).toContain(" 413 ");
    expect(counts.events).toBe(0);
  });

  test("is heard once the device has called for each of its services, before the answer that tells its id or behind it", async () => {
    const { session, callback } = await subscribed();
    expect(session.isConfirmed).toBe(false);
    await notify(callback, { SID: "uuid:three" });
    await notify(callback, { SID: "uuid:one" });
    expect(session.isConfirmed).toBe(false);
    await notify(callback, { SID: "uuid:two" });
    expect(session.isConfirmed).toBe(true);
    const early = await subscribed(async (asked) => {
      const to = /<(.*)>/.exec(asked.headers["callback"] ?? "")?.[1];
      if (to !== undefined) await notify(new URL(to), { SID: `uuid:${asked.path.slice(1)}` });
      return given(asked);
    });
    expect([early.session.isConfirmed, early.counts.events]).toEqual([true, 0]);
  });

  test("is given back when it is closed, and its listener with it", async () => {
    const { asked, session, callback, counts } = await subscribed();
    session.close();
    await until("it is given back", () => asked.length === 4);
    expect(asked.slice(2).map(({ method, headers }) => `${method} ${headers["sid"]}`)).toEqual([
      "UNSUBSCRIBE uuid:one",
      "UNSUBSCRIBE uuid:two",
    ]);
    await until("nobody listens", () => isRefused(callback));
    // Its end is told where the device or the network ends it.
    expect([session.alive, counts.ends]).toEqual([false, 0]);
  });

  test("is cancelled even if no caller waited for the answer with its id", async () => {
    const leaving = new AbortController();
    const { asked, http } = await device((request) => {
      leaving.abort(new Error("left"));
      return given(request);
    });
    const options = { http, peer: "127.0.0.1", paths: ["/one", "/two"], onEvent() {}, onEnd() {} };
    await expect(subscribe(options, leaving.signal)).rejects.toThrow("left");
    await until("it is given back", () => asked.length === 2);
    expect(asked.map(({ method, headers }) => [method, headers["sid"]])).toEqual([
      ["SUBSCRIBE", undefined],
      ["UNSUBSCRIBE", "uuid:one"],
    ]);
  });

  test("that is refused for one service fails whole, and the granted ones are cancelled", async () => {
    const answer = (one: Asked) => (one.path === "/two" ? "HTTP/1.1 503 No" : given(one));
    const { asked, http } = await device(answer);
    const options = { http, peer: "127.0.0.1", paths: ["/one", "/two"], onEvent: () => {}, onEnd: () => {} };
    await expect(subscribe(options, never)).rejects.toMatchObject({ code: "device_error" });
    await until("it is given back", () => asked.some(({ method }) => method === "UNSUBSCRIBE"));
    for (const silly of ["HTTP/1.1 200 OK", `HTTP/1.1 200 OK\r\nSID: ${"x".repeat(300)}`]) {
      const { http: other } = await device(() => silly);
      await expect(subscribe({ ...options, http: other }, never)).rejects.toMatchObject({ code: "device_error" });
    }
  });

  test.skipIf(inOwnNetwork === null)("ends at its renewal when this machine has another address by then", () => {
    // Time passes fifty times as fast there.
    const script = `
      import { execFileSync } from "node:child_process";
      import { subscribe } from "./src/transport/gena.ts";
      const { setTimeout: later } = globalThis;
      globalThis.setTimeout = (work, ms, ...more) => later(work, ms / 50, ...more);
      const route = (own) => execFileSync("ip", ["route", "replace", "local", "10.99.0.2", "dev", "lo", "table", "local", "src", own]);
      for (const own of ["10.99.0.1", "10.99.0.7"]) execFileSync("ip", ["addr", "add", own + "/32", "dev", "lo"]);
      route("10.99.0.1");
      const asked = [];
      const ended = Promise.withResolvers();
      const alone = async ({ method, headers }) => {
        asked.push(headers.CALLBACK ? method + " " + new URL(headers.CALLBACK.slice(1, -1)).hostname : method);
        if (asked.length === 2) route("10.99.0.7");
        return { status: 200, headers: new Map([["sid", "uuid:1"], ["timeout", "Second-1"]]), body: new Uint8Array() };
      };
      await subscribe({ http: { exchangeOnce: alone }, peer: "10.99.0.2", paths: ["/one"], onEvent() {}, onEnd: ended.resolve }, new AbortController().signal);
      await Promise.race([ended.promise, new Promise((resolve) => later(resolve, 20_000))]);
      console.log(asked.join());
      process.exit();`;
    const [program = "", ...words] = inOwnNetwork ?? [];
    const said = execFileSync(program, [...words, process.execPath, "-e", script], { cwd: root, encoding: "utf8" });
    expect(said.trim()).toBe("SUBSCRIBE 10.99.0.1,SUBSCRIBE,UNSUBSCRIBE");
  });

  test("T34 T36 takes thousands of calls, of the device and of strangers, with its memory as it was", async () => {
    const { callback, counts } = await subscribed();
    const flood = (times: number, sid: string, from?: string) =>
      Promise.all(
        Array.from({ length: 20 }, async () => {
          for (let round = 0; round < times / 20; round++)
            await notify(callback, { SID: sid }, { body: "<".repeat(4_000), ...(from && { from }) });
        }),
      );
    const floods = async () => {
      await flood(1_500, "uuid:one");
      await flood(1_500, "uuid:stranger");
      await flood(1_500, "uuid:one", "127.0.0.8");
      Bun.gc(true);
      return process.memoryUsage().rss;
    };
    // The first ones fill what the process keeps for use again, however many tests it has run.
    const before = await floods();
    expect((await floods()) - before).toBeLessThan(32 * 1024 * 1024);
    expect(counts.events).toBeGreaterThan(1_000);
  }, 60_000);
});
