/**
 * Strangers at the address of a paired LG set: whatever they are, they get neither the pairing key nor typed text. All bytes
 * that they are sent are searched for both.
 */
import { describe, expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createCertificate } from "../../src/simulators/webos.ts";
import { accepted, ask, type Data, refuse, succeed, until } from "../blackbox/checked.ts";
import { daemonForFile } from "../blackbox/daemon-for-file.ts";
import { type FakeSet, type FakeSetOptions, fakeSet } from "../blackbox/fake-webos.ts";
import { freePort, startTestDaemon } from "../support/daemon.ts";
import { freeHost } from "../support/lane.ts";
import { sampleOf, slowConcurrentTest } from "../support/whole.ts";

const typed = "correct-horse-battery-staple";
/** Every set shows the same one (smart-tvs.md 1.3). */
const shared = createCertificate();
const { daemon, atEnd } = await daemonForFile({
  config: { devices: { request_timeout_ms: 2_500 }, discovery: { timeout_ms: 250 } },
  // The real clock: a handshake takes as long as ever.
  speed: 1,
});

async function plugIn(options: FakeSetOptions): Promise<FakeSet> {
  const set = await fakeSet(options);
  atEnd(() => set.stop());
  return set;
}

interface Home {
  readonly uuid: string;
  readonly id: string;
  readonly real: FakeSet;
  readonly host: string;
  readonly ports: { readonly secure: number; readonly plain: number };
  readonly key: string;
}

/** A set that was paired over its secure port, and driven. */
async function home(of = daemon): Promise<Home> {
  const host = freeHost();
  const uuid = randomUUID();
  const real = await plugIn({ host, uuid, certificate: shared });
  const plain = await freePort(host);
  const ports = { secure: real.port, plain };
  const body = { host, port: real.port, platform: "webos", ports: { plain, wake: await freePort(host) } };
  const { id } = await succeed(of, "addDevice", { body });
  await succeed(of, "pairDevice", { id });
  await succeed(of, "getState", { id });
  return { uuid, id, real, host, ports, key: kept(id, of)["key"] ?? expect.unreachable() };
}

const kept = (id: string, of = daemon): Record<string, string> =>
  JSON.parse(readFileSync(join(of.stateFolder, "credentials.json"), "utf8")).credentials[id];

/** Waits until the set is driven again: reads that come at once share the failure of a moment ago. */
const comesBack = (id: string, of = daemon) =>
  until("it is driven again", async () => {
    const { status, body } = await of.api("GET", `/devices/${id}/state`);
    return status === 200 && body.data.state.power === "on";
  });

/** All that a user, a script and a page may ask of a device; the codes with which it is refused. */
async function refusals(id: string, of = daemon): Promise<string[]> {
  const codes: string[] = [];
  const calls = [
    ["getState", undefined],
    ["pressKey", { key: "home" }],
    ["pressKey", { key: `literal:${typed}` }],
    ["launchApp", { app: "netflix" }],
    ["refreshApps", { clear: true }],
    ["stopApp", undefined],
    ["pressKey", { key: "power-off" }],
    ["pressKeys", { keys: ["up", `literal:${typed}`], delay_ms: 0 }],
  ] as const;
  for (const [name, body] of calls) {
    const { code, message, hint } = await refuse(of, name, { id, body }, "device_unproven", "device_unreachable");
    codes.push(code);
    if (code === "device_unproven")
      expect([message, hint]).toEqual([expect.any(String), expect.stringContaining("zapd pair")]);
  }
  return codes;
}

/** What answers at the secure and at the plain port, with the set's own uuid where none is given, and what zapd says of it. */
type Stranger = readonly [
  what: string,
  doors: { readonly secure?: Partial<FakeSetOptions>; readonly plain?: Partial<FakeSetOptions> },
  says: string,
];
const another = { certificate: createCertificate() };
const strangers: readonly Stranger[] = [
  ["the plain port alone, with the uuid", { plain: {} }, "plain port"],
  ["the plain port alone, an empty uuid", { plain: { uuid: "" } }, "plain port"],
  ["the plain port alone, no uuid", { plain: { uuid: null } }, "plain port"],
  ["the plain port alone, another uuid", { plain: { uuid: "another" } }, "another device"],
  ["another certificate, the uuid", { secure: another }, "a different certificate"],
  ["another certificate, an empty uuid", { secure: { ...another, uuid: "" } }, "a different certificate"],
  ["another certificate, another uuid", { secure: { ...another, uuid: "another" } }, "another device"],
  ["another certificate beside the plain port", { secure: another, plain: {} }, "a different certificate"],
  ["clear text at the secure port", { secure: {}, plain: {} }, "plain port"],
  [
    "the certificate that all sets have, an empty uuid",
    { secure: { certificate: shared, uuid: "" } },
    "no longer reports its identity",
  ],
  [
    "the certificate that all sets have, no uuid",
    { secure: { certificate: shared, uuid: null } },
    "no longer reports its identity",
  ],
  [
    "the certificate that all sets have, another uuid",
    { secure: { certificate: shared, uuid: "another" } },
    "another device",
  ],
];

describe.concurrent("T27 a stranger at a known address", () => {
  test.each(sampleOf(strangers, 4))(
    "with a pin kept hears nothing secret, pairs anew without the old key, and the real set comes back: %s",
    async (_what, doors, says) => {
      // Whoever says that it is another device is none that could be paired in the place of this one.
      const [code, pairs] = says === "another device" ? ["device_unreachable", false] : ["device_unproven", true];
      const { uuid, id, real, host, ports, key } = await home();
      await real.stop();
      const rogues: FakeSet[] = [];
      for (const door of ["secure", "plain"] as const) {
        const options = doors[door];
        if (options) rogues.push(await plugIn({ uuid, ...options, host, port: ports[door] }));
      }
      const leaked = () => rogues.map(({ heard }) => [heard.includes(key), heard.includes(typed)]);
      const clean = rogues.map(() => [false, false]);

      // Until the daemon sees the set hang up, what it pushed last is the answer.
      await until("it has hung up", async () => (await daemon.api("GET", `/devices/${id}/state`)).status !== 200);
      const codes = await refusals(id);
      expect(new Set(codes)).toEqual(new Set([code]));
      const { message } = await refuse(daemon, "getState", { id }, code);
      expect(message).toContain(says);
      expect(leaked()).toEqual(clean);
      expect(rogues.some(({ asked }) => asked.some(({ type }) => type === "register"))).toBe(false);
      expect(kept(id)["key"]).toBe(key);

      if (pairs) {
        await succeed(daemon, "pairDevice", { id });
        expect(kept(id)["key"]).not.toBe(key);
        expect(
          rogues.flatMap(({ asked }) =>
            asked.filter(({ payload }) => "client-key" in payload).map(({ payload }) => payload["client-key"]),
          ),
        ).not.toContain(key);
        // Its user has accepted it: had the set really been replaced, this is how it is driven from then on.
        await comesBack(id);
      } else await refuse(daemon, "pairDevice", { id }, "device_unreachable");
      expect(leaked()).toEqual(clean);

      for (const rogue of rogues) await rogue.stop();
      await real.start();
      if (pairs) await succeed(daemon, "pairDevice", { id });
      await comesBack(id);
      expect(leaked()).toEqual(clean);
    },
  );

  test("a pairing over the plain port, accepted there, replaces the pin: the set was really replaced", async () => {
    const { uuid, id, real, host, ports, key } = await home();
    expect(kept(id)["certificate"]).toMatch(/^[0-9a-f]{64}$/);
    await real.stop();
    const next = await plugIn({ host, uuid, port: ports.plain });
    await succeed(daemon, "pairDevice", { id });
    expect(Object.keys(kept(id))).toEqual(["key"]);
    expect((await succeed(daemon, "getState", { id })).state.power).toBe("on");
    await succeed(daemon, "pressKey", { id, body: { key: `literal:${typed}` } });
    expect([next.heard.includes(key), next.heard.includes(typed)]).toEqual([false, true]);
  });

  test("a pairing that a stranger denies leaves the key and the pin as they were", async () => {
    const { uuid, id, real, host, ports, key } = await home();
    const before = kept(id);
    await real.stop();
    const answer: FakeSetOptions["answer"] = ({ type }) =>
      type === "register" ? { error: "403 User denied access" } : "usual";
    const rogue = await plugIn({ host, uuid, port: ports.secure, certificate: createCertificate(), answer });
    await refuse(daemon, "pairDevice", { id }, "pairing_failed");
    expect([kept(id), rogue.heard.includes(key)]).toEqual([before, false]);
    await rogue.stop();
    await real.start();
    await comesBack(id);
  });

  slowConcurrentTest(
    "the connection that comes back by itself with a pin kept, and a daemon that starts anew, tell nothing either",
    async () => {
      await using own = await startTestDaemon();
      const { uuid, id, real, host, ports, key } = await home(own);
      const rogue = await plugIn({ host, uuid, port: ports.plain });
      await real.stop();
      // Nobody asks: it is the daemon that calls again, after a second and after two.
      await until("it has looked who is there", () => rogue.connections > 0);
      await refuse(own, "getState", { id }, "device_unproven");
      await own.stop();
      await using again = await startTestDaemon({ folder: own.folder });
      await refusals(id, again);
      expect([rogue.heard.includes(key), rogue.heard.includes(typed)]).toEqual([false, false]);
      await rogue.stop();
      await real.start();
      await comesBack(id, again);
    },
  );

  test("power-on while the plain port alone is open calls and waits, and sends the key once the secure port has its fingerprint", async () => {
    const { uuid, id, real, host, ports, key } = await home();
    await real.stop();
    const rogue = await plugIn({ host, uuid, port: ports.plain });
    const turned = succeed(daemon, "pressKey", { id, body: { key: "power-on" } });
    await until("it was looked at", () => rogue.connections > 1);
    await real.start();
    await turned;
    expect(rogue.heard).not.toContain(key);
    expect(real.heard).toContain(key);
  });

  test("a set whose secure port opens a moment after the plain one is driven, and is not told its key over the plain one", async () => {
    const { uuid, id, real, host, ports, key } = await home();
    await real.stop();
    const plain = await plugIn({ host, uuid, port: ports.plain });
    const read = async (): Promise<Data<"getState">> => {
      const answered = await ask(daemon, "getState", { id });
      // One that used the connection that has just ended fails with it, and looks at no port.
      return plain.connections > 0 ? accepted("getState", answered) : read();
    };
    const asked = read();
    await until("the plain port is looked at", () => plain.connections > 0);
    await real.start();
    expect((await asked).state.power).toBe("on");
    expect(plain.heard).not.toContain(key);
  });

  slowConcurrentTest(
    "a set that never had a pin goes on as it did: with its uuid the key is said, with none or another it is not",
    async () => {
      const host = freeHost();
      const uuid = randomUUID();
      const real = await plugIn({ host, uuid });
      const body = { host, port: real.port, platform: "webos", ports: { wake: await freePort(host) } };
      const { id } = await succeed(daemon, "addDevice", { body });
      await succeed(daemon, "pairDevice", { id });
      const { key = "" } = kept(id);
      expect(Object.keys(kept(id))).toEqual(["key"]);
      expect((await succeed(daemon, "getState", { id })).state.power).toBe("on");
      for (const [said, code] of [
        [null, "device_unproven"],
        ["", "device_unproven"],
        ["another", "device_unreachable"],
        ["aa:bb", "device_unreachable"],
      ] as const) {
        await real.stop();
        const rogue = await plugIn({ host, uuid: said, port: real.port });
        await refuse(daemon, "pressKey", { id, body: { key: "home" } }, code);
        await refuse(daemon, "pressKey", { id, body: { key: `literal:${typed}` } }, code);
        expect([rogue.heard.includes(key), rogue.heard.includes(typed)]).toEqual([false, false]);
        await rogue.stop();
        await real.start();
        await comesBack(id);
      }
    },
  );
});
