/** `dev_install`: what is judged before a package is fetched, and what reaches the API. */
import { beforeEach, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Sideload } from "../../src/mqtt/sideload.ts";
import { testFolder } from "../support/folder.ts";
import { packageServer } from "./package-server.ts";

const content = Buffer.from("PK: bytes that stand for a ZIP");
const { server, artifact } = await packageServer(content);
const folder = testFolder();
/** What came to the API. */
let installed: { lease: string | null; text: string }[] = [];
let underWay = 0;
let most = 0;
const device = { id: "d1", name: "Den", capabilities: ["dev"], lease: { owner: "me", until: "", note: null } };
let shown: object = device;
/** What an installation waits for, before it takes its 10 ms. */
let meeting: () => Promise<void> = async () => {};

async function api(request: Request): Promise<Response> {
  if (request.method === "GET") return Response.json({ ok: true, data: shown });
  most = Math.max(most, ++underWay);
  const text = await request.text();
  installed.push({ lease: request.headers.get("zapd-lease"), text });
  await meeting();
  await new Promise((resolve) => setTimeout(resolve, 10));
  underWay--;
  return Response.json({ ok: true, data: { action: "install" } });
}

beforeEach(() => {
  [installed, shown, server.asked, most] = [[], device, 0, 0];
  meeting = async () => {};
});

function sideload(): Sideload {
  const artifacts = { origins: () => [server.origin], folder: join(folder, "uploads"), ca: () => server.ca };
  return new Sideload({ api: { url: "http://zapd/v1", fetch: api }, artifacts });
}
const args = (more: object = {}) => ({ device: "Den", ...artifact, ...more });
const none = new AbortController().signal;
const outcome = (running: Promise<string>) =>
  running.then(
    (text) => JSON.parse(text).data.action,
    ({ code }: { code: string }) => code,
  );

test("a package reaches the API with the lease and its deep link, and no file stays", async () => {
  const params = { content_id: "42" };
  expect(await outcome(sideload().install(args({ params }), "a-token", none))).toBe("install");
  const [{ lease, text } = { lease: "", text: "" }] = installed;
  expect(lease).toBe("a-token");
  expect(text).toContain(content.toString());
  expect(text).toContain(JSON.stringify(params));
  expect(readdirSync(join(folder, "uploads"))).toEqual([]);
});

test("nothing is downloaded for a call that must fail", async () => {
  const cases: readonly (readonly [object, string | undefined, object, string])[] = [
    [args(), undefined, device, "invalid_payload"],
    [args({ url: "https://elsewhere.test/a.zip" }), "t", device, "forbidden_origin"],
    [args({ url: 7 }), "t", device, "invalid_payload"],
    [args({ bytes: "7" }), "t", device, "invalid_payload"],
    [args({ device: "" }), "t", device, "invalid_payload"],
    [args({ more: 1 }), "t", device, "invalid_payload"],
    [args({ params: { a: 1 } }), "t", device, "invalid_payload"],
    [args(), "t", { ...device, capabilities: ["keys"] }, "unsupported_operation"],
    [args(), "t", { ...device, lease: null }, "device_leased"],
  ];
  for (const [given, lease, as, code] of cases) {
    shown = as;
    expect([given, await outcome(sideload().install(given as Record<string, unknown>, lease, none))]).toEqual([
      given,
      code,
    ]);
  }
  expect([server.asked, installed]).toEqual([0, []]);
});

test("two run at a time, and an aborted one does not block the others", async () => {
  const one = sideload();
  // However long each download takes, the first meets a second.
  const two = Promise.withResolvers<void>();
  meeting = () => {
    if (underWay > 1) two.resolve();
    return two.promise;
  };
  const caller = new AbortController();
  const all = Array.from({ length: 5 }, () => one.install(args(), "t", none));
  const gone = one.install(args(), "t", caller.signal).catch(({ message }: Error) => message);
  caller.abort(new Error("gone"));
  expect(await Promise.all(all.map(outcome))).toEqual(Array(5).fill("install"));
  expect(await gone).toBe("gone");
  expect([most, installed.length]).toEqual([2, 5]);
  expect(await outcome(one.install(args(), "t", none))).toBe("install");
});

test("one whose lease has ended is fetched no longer, nor later, and leaves its turn to others", async () => {
  const one = sideload();
  const held = Promise.withResolvers<void>();
  server.answer = () => held.resolve();
  const old = Array.from({ length: 3 }, () => outcome(one.install(args(), "old", none)));
  await held.promise;
  one.leaseEnded("d1");
  server.answer = server.whole;
  expect(await outcome(one.install(args(), "new", none))).toBe("install");
  expect([await Promise.all(old), installed.map(({ lease }) => lease)]).toEqual([
    Array(3).fill("device_leased"),
    ["new"],
  ]);
});
