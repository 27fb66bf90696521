/** The digest of the developer password goes to the realm that has accepted it, and to nobody else (SECURITY.md 2.4, T27). */
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { accepted, add, refused, succeed } from "../blackbox/checked.ts";
import { daemonForFile } from "../blackbox/daemon-for-file.ts";
import { install, packageWith } from "../blackbox/packages.ts";
import { startTestDaemon } from "../support/daemon.ts";
import type { WiredRoku } from "../support/wired-roku.ts";
import { formsOf } from "./canaries.ts";

const password = "correct-horse-4711";
const { daemon, startRoku } = await daemonForFile({
  config: {
    devices: { request_timeout_ms: 1_500 },
    discovery: { timeout_ms: 250 },
    dev: { vendor_password: password },
  },
});

/** A set that has been added; it keeps the requests of that. */
async function start(): Promise<{ set: WiredRoku; id: string }> {
  const set = await startRoku({ developer: { password } });
  return { set, id: (await add(daemon, set)).id };
}

/** The forms of the password that were sent to a set, on either port. */
function secretsAt(set: WiredRoku): string[] {
  const digest = createHash("md5").update(password).digest("hex");
  const spelled = [...formsOf(password), ...formsOf(`rokudev:${password}`), digest, "response=", "authorization"];
  const sent = [...set.wire.requests, ...set.installer.requests].map(
    ({ head, body }) => `${head}\n${body.toString("latin1")}`,
  );
  return spelled.filter((one) => sent.some((text) => text.toLowerCase().includes(one)));
}

/** The challenge of a stranger, and what the error must name. */
const strangers: Readonly<Record<string, readonly [string, RegExp]>> = {
  "another realm": ['Digest qop="auth", realm="evil", nonce="1"', /realm "evil"/],
  "the realm of an emulator": ['Digest qop="auth", realm="Roku Simulator", nonce="1"', /realm "Roku Simulator"/],
  "the realm in another case": ['Digest qop="auth", realm="RokuDev", nonce="1"', /realm "RokuDev"/],
  "the realm with a blank behind it": ['Digest qop="auth", realm="rokudev ", nonce="1"', /realm "rokudev "/],
  "the realm in what is none": [
    'Digest qop="auth", realm="emulator", nonce="1", domain="realm=rokudev"',
    /realm "emulator"/,
  ],
  "an empty realm": ['Digest qop="auth", realm="", nonce="1"', /realm ""/],
  "no realm": ['Digest qop="auth", nonce="1"', /realm ""/],
  "no qop": ['Digest realm="rokudev", nonce="1"', /without qop/],
  "an empty qop": ['Digest realm="rokudev", qop="", nonce="1"', /qop/],
  "a qop that nobody knows": ['Digest realm="rokudev", qop="auth-int", nonce="1"', /qop/],
  "the password in clear": ['Basic realm="rokudev"', /without Digest/],
  "both, for another realm": ['Basic realm="rokudev", Digest qop="auth", realm="x", nonce="1"', /realm "x"/],
  "two realms": ['Digest qop="auth", realm="rokudev", nonce="1", Digest qop="auth", realm="y", nonce="2"', /realm "y"/],
};

/** The developer page answers every request with this challenge from now on. */
const turn = (set: WiredRoku, asks: string) =>
  set.installer.answers.set("/plugin_install", { status: 401, headers: { "WWW-Authenticate": asks } });

test.each(Object.entries(strangers))(
  "T27 a set that asks with %s gets no digest at a first meeting or later, nor does who has its address; the answer says why",
  async (what, [asks, problem]) => {
    const { set, id } = await start();
    /** Installs while the set asks so: it is sent nothing secret, and the error says why. */
    const isRefused = async (at: WiredRoku, fields = {}) => {
      turn(at, asks);
      const before = at.uploads.length;
      const error = refused(await install(daemon, id, packageWith(crypto.randomUUID()), fields), "dev_auth_failed");
      expect(`${error.message}`).toMatch(problem);
      expect(error.hint ?? "").not.toBe("");
      expect(secretsAt(at)).toEqual([]);
      expect(at.uploads).toHaveLength(before);
    };
    await isRefused(set);
    set.installer.answers.clear();
    accepted("installPackage", await install(daemon, id, packageWith(what)));
    set.forget();
    await isRefused(set);
    await isRefused(set, { password });

    // Another machine with the same identity and ports.
    const { host, port } = set;
    const { installer } = set.address.ports;
    await set.stop();
    const rogue = await startRoku({ host, port, ...set.identity });
    await rogue.installer.close();
    await rogue.installer.listen(host, installer);
    await isRefused(rogue);
  },
);

test("T27 another set at the address gets neither digest nor package", async () => {
  const { set, id } = await start();
  accepted("installPackage", await install(daemon, id, packageWith("first")));
  const { host, port } = set;
  const { installer } = set.address.ports;
  await set.stop();
  const other = await startRoku({ host, port });
  await other.installer.close();
  await other.installer.listen(host, installer);
  refused(await install(daemon, id, packageWith("second")), "device_unreachable");
  expect(secretsAt(other)).toEqual([]);
  expect(other.installer.requests).toEqual([]);
});

test("T27 the realm that was accepted is known after a restart, and a refused password makes none known", async () => {
  const { set, id } = await start();
  await succeed(daemon, "patchConfig", { body: { "dev.vendor_password": "something else" } });
  refused(await install(daemon, id, packageWith("refused")), "dev_auth_failed");
  await succeed(daemon, "patchConfig", { body: { "dev.vendor_password": password } });
  accepted("installPackage", await install(daemon, id, packageWith("accepted")));
  // What was learned does not close the console.
  expect((await succeed(daemon, "readLogs", { id })).lines.length).toBeGreaterThan(0);
  expect(await daemon.stop()).toBe(0);
  const again = await startTestDaemon({ folder: daemon.folder });
  try {
    accepted("installPackage", await install(again, id, packageWith("after the restart")));
    turn(set, 'Digest qop="auth", realm="evil", nonce="1"');
    set.forget();
    const error = refused(await install(again, id, packageWith("realm")), "dev_auth_failed");
    expect(error.message).toContain('accepted it for the realm "rokudev" before');
    expect(secretsAt(set)).toEqual([]);
  } finally {
    await again.stop();
  }
});
