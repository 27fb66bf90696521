/** The digest of the developer password goes to the realm that has accepted it, and to nobody else (SECURITY.md 2.4, T27). */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { accepted, add, refused, succeed } from "../blackbox/checked.ts";
import { FakeRoku } from "../blackbox/fake-roku.ts";
import { install, sound } from "../blackbox/packages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

const password = "correct-horse-4711";

let daemon: TestDaemon;
const fakes: FakeRoku[] = [];

beforeAll(async () => {
  daemon = await startTestDaemon({
    config: { devices: { request_timeout_ms: 1_500 }, dev: { vendor_password: password } },
  });
});

afterAll(async () => {
  await daemon.dispose();
  await Promise.all(fakes.map((fake) => fake.stop()));
});

async function start(options: Parameters<typeof FakeRoku.start>[0] = {}): Promise<{ set: FakeRoku; id: string }> {
  const set = await FakeRoku.start(options);
  set.installer.password = password;
  fakes.push(set);
  return { set, id: (await add(daemon, set)).id };
}

/** All that a set was sent, on both doors, in every spelling in which the password could stand in it. */
function secretsAt(set: FakeRoku): string[] {
  const spelled = [
    password,
    Buffer.from(password).toString("base64").replace(/=+$/, ""),
    Buffer.from(`rokudev:${password}`).toString("base64").replace(/=+$/, ""),
    Buffer.from(password).toString("hex"),
    createHash("md5").update(password).digest("hex"),
    encodeURIComponent(password),
    "response=",
    "Authorization",
  ];
  const sent = [...set.wire.requests, ...set.installer.wire.requests].map(
    ({ head, body }) => `${head}\n${body.toString("latin1")}`,
  );
  return spelled.filter((one) => sent.some((text) => text.toLowerCase().includes(one.toLowerCase())));
}

/** Ways in which a stranger may ask, and what the error must name. */
const strangers: Readonly<Record<string, readonly [(set: FakeRoku) => void, RegExp]>> = {
  "another realm": [(set) => (set.installer.realm = "evil"), /realm "evil"/],
  "the realm of an emulator": [(set) => (set.installer.realm = "Roku Simulator"), /realm "Roku Simulator"/],
  "the realm in another case": [(set) => (set.installer.realm = "RokuDev"), /realm "RokuDev"/],
  "no realm": [(set) => (set.installer.asks = 'Digest qop="auth", nonce="1"'), /realm ""/],
  "no qop": [(set) => (set.installer.qop = false), /without qop/],
  "an empty qop": [(set) => (set.installer.asks = 'Digest realm="rokudev", qop="", nonce="1"'), /qop/],
  "a qop that nobody knows": [
    (set) => (set.installer.asks = 'Digest realm="rokudev", qop="auth-int", nonce="1"'),
    /qop/,
  ],
  "the password in clear": [(set) => (set.installer.asks = 'Basic realm="rokudev"'), /another way/],
  "both, for another realm": [
    (set) => (set.installer.asks = 'Basic realm="rokudev", Digest qop="auth", realm="x", nonce="1"'),
    /realm "x"/,
  ],
  "two realms": [
    (set) =>
      (set.installer.asks = 'Digest qop="auth", realm="rokudev", nonce="1", Digest qop="auth", realm="y", nonce="2"'),
    /realm "y"/,
  ],
};

for (const [what, [turn, named]] of Object.entries(strangers)) {
  test(`T27 a first meeting with a set that asks with ${what}: no digest, and the answer says why`, async () => {
    const { set, id } = await start();
    turn(set);
    const error = refused(await install(daemon, id, sound(what)), "dev_auth_failed");
    expect(`${error.message}`).toMatch(named);
    expect(error.hint ?? "").not.toBe("");
    expect(secretsAt(set)).toEqual([]);
    expect(set.installer.uploads).toEqual([]);
  });

  test(`T27 a known set that asks with ${what} later gets no digest, and neither does who has its address`, async () => {
    const { set, id } = await start();
    accepted("installPackage", await install(daemon, id, sound("first")));
    set.forget();
    turn(set);
    const error = refused(await install(daemon, id, sound(what)), "dev_auth_failed");
    expect(error.message).toMatch(named);
    expect(secretsAt(set)).toEqual([]);

    // The same identity and ports on a machine of somebody else.
    const { host, port } = set;
    const { installer } = set.address.ports;
    await set.stop();
    const rogue = await FakeRoku.start({ host, port, serial: set.serial, name: set.identity.name });
    fakes.push(rogue);
    await rogue.installer.wire.close();
    await rogue.installer.wire.listen(host, installer);
    turn(rogue);
    refused(await install(daemon, id, sound(`${what} again`)), "dev_auth_failed");
    expect(secretsAt(rogue)).toEqual([]);
    expect(rogue.installer.uploads).toEqual([]);
  });
}

test("T27 another set at the address gets neither digest nor package", async () => {
  const { set, id } = await start();
  accepted("installPackage", await install(daemon, id, sound("first")));
  const { host, port } = set;
  const { installer } = set.address.ports;
  await set.stop();
  const other = await FakeRoku.start({ host, port });
  fakes.push(other);
  await other.installer.wire.close();
  await other.installer.wire.listen(host, installer);
  refused(await install(daemon, id, sound("second")), "device_unreachable");
  expect(secretsAt(other)).toEqual([]);
  expect(other.installer.wire.requests).toEqual([]);
});

test("T27 the realm that was accepted is known after a restart, and a refused password makes none known", async () => {
  const { set, id } = await start();
  set.installer.password = "something else";
  refused(await install(daemon, id, sound("refused")), "dev_auth_failed");
  set.installer.password = password;
  accepted("installPackage", await install(daemon, id, sound("accepted")));
  // A reading of the console is not cut off by what was learned.
  expect((await succeed(daemon, "readLogs", { id })).lines.length).toBeGreaterThan(0);
  expect(await daemon.stop()).toBe(0);
  const again = await startTestDaemon({ folder: daemon.folder });
  try {
    accepted("installPackage", await install(again, id, sound("after the restart")));
    set.installer.realm = "evil";
    set.forget();
    const error = refused(await install(again, id, sound("realm")), "dev_auth_failed");
    expect(error.message).toContain('accepted it as "rokudev" before');
    expect(secretsAt(set)).toEqual([]);
  } finally {
    await again.stop();
  }
});
