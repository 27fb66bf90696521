/** npm androidtv-remote, a third-party client, works with the simulator, which refuses what hardware refuses. */
import { expect, spyOn, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import type { EventEmitter } from "node:events";
import { join } from "node:path";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import { createCertificateFor } from "../../src/simulators/bench/certificate.ts";
import { until } from "../support/http-device.ts";
import { listen, plugInAndroidTv } from "../support/sets.ts";
import { root } from "../support/sources.ts";

interface Remote extends EventEmitter {
  start(): Promise<boolean | undefined>;
  sendCode(code: string | null): boolean;
  sendKey(key: number, direction: number): void;
  sendAppLink(link: string): void;
  sendPower(): void;
  stop(): void;
  remoteManager: Manager;
}

interface Manager {
  readonly client: TLSSocket;
  start(): Promise<unknown>;
}

/** The sources of the package: its build depends on an old promise library. */
const { AndroidRemote, RemoteKeyCode, RemoteDirection } = (await import(
  join(root, "node_modules/androidtv-remote/src/index.js")
)) as {
  readonly AndroidRemote: new (host: string, options: object) => Remote;
  readonly RemoteKeyCode: Readonly<Record<string, number>>;
  readonly RemoteDirection: Readonly<Record<string, number>>;
};

/** It takes each chunk for one message and stops after two in one chunk, so each message is delivered by itself. */
function bringOneByOne(remote: Remote): void {
  let manager: Manager;
  const bring = ({ client }: Manager) => {
    const [read] = client.listeners("data");
    client.removeAllListeners("data");
    let rest = Buffer.alloc(0);
    client.on("data", (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      for (let end = (rest[0] ?? 0) + 1; rest.length >= end && rest.length > 0; end = (rest[0] ?? 0) + 1) {
        read?.call(client, rest.subarray(0, end));
        rest = rest.subarray(end);
      }
    });
  };
  Object.defineProperty(remote, "remoteManager", {
    get: () => manager,
    set(made: Manager) {
      manager = made;
      const start = made.start.bind(made);
      made.start = () => {
        const started = start();
        bring(made);
        return started;
      };
    },
  });
}

test("npm androidtv-remote pairs with the code and drives the set", async () => {
  const set = await plugInAndroidTv({ pingMs: 200 });
  const remote = new AndroidRemote(set.host, {
    pairing_port: set.ports.pairing,
    remote_port: set.ports.remote,
    service_name: "a client",
  });
  bringOneByOne(remote);
  const events: [string, unknown][] = [];
  for (const event of ["powered", "volume", "current_app", "unpaired"])
    remote.on(event, (value: unknown) => events.push([event, value]));
  remote.on("secret", () => expect(remote.sendCode(set.state.code)).toBe(true));
  const spies = (["debug", "info"] as const).map((word) =>
    spyOn(globalThis.console, word).mockImplementation(() => {}),
  );
  try {
    expect(await remote.start()).toBe(true);
    expect([set.state.paired, set.state.code]).toEqual([1, null]);
    await until("all is reported", () => events.length === 3);
    expect(events.splice(0)).toEqual([
      ["powered", true],
      ["volume", { level: 10, maximum: 25, muted: false }],
      ["current_app", "com.google.android.apps.tv.launcherx"],
    ]);
    const key = (name: string, how = "SHORT") =>
      remote.sendKey(RemoteKeyCode[`KEYCODE_${name}`] ?? 0, RemoteDirection[how] ?? 0);
    key("VOLUME_UP");
    remote.sendAppLink("https://www.youtube.com");
    await until("the changes are reported", () => events.length === 2);
    expect(events.splice(0)).toEqual([
      ["volume", { level: 11, maximum: 25, muted: false }],
      ["current_app", "com.google.android.youtube.tv"],
    ]);
    key("DPAD_UP", "START_LONG");
    key("DPAD_UP", "END_LONG");
    await until("it has held a key", () => set.keys.length === 3);
    expect(set.keys.slice(1)).toEqual([
      { code: 19, direction: 1 },
      { code: 19, direction: 2 },
    ]);
    // It answers the pings, or it would have been disconnected.
    await Bun.sleep(900);
    remote.sendPower();
    await until("the power is reported", () => events.length === 1);
    expect(events).toEqual([["powered", false]]);
    expect(set.state).toMatchObject({ clients: 1, power: "standby" });
  } finally {
    // It would reconnect forever.
    remote.remoteManager.start = async () => {};
    remote.stop();
    await until("it has hung up", () => set.state.clients === 0);
    for (const spy of spies) spy.mockRestore();
  }
});

test("as on hardware unpaired clients, keys before the handshake, silence, and frames that are too long are refused", async () => {
  const known = createCertificateFor("known", "rsa");
  const { raw } = new X509Certificate(known.cert);
  const set = await plugInAndroidTv({ paired: [raw], pingMs: 40 });
  const talk = (port: number, shown: ConnectionOptions, bytes: Uint8Array) => {
    const line = listen(set.host, port, shown);
    line.socket.write(bytes);
    return { ...line, over: () => until("it is hung up on", line.closed) };
  };
  const home = Buffer.from([6, 0x52, 4, 8, 3, 16, 3]);
  const stranger = talk(set.ports.remote, createCertificateFor("stranger", "rsa"), home);
  await stranger.over();
  expect([stranger.text(), set.state.rejected]).toEqual(["", 1]);
  await talk(set.ports.pairing, {}, home).over();
  const rude = talk(set.ports.remote, known, home);
  await until("it is spoken to", () => rude.text() !== "");
  await Bun.sleep(50);
  expect(set.keys).toEqual([]);
  await talk(set.ports.remote, known, Buffer.from([0xff, 0xff, 0xff, 0x7f, 1])).over();
  // Silent after the handshake: it is disconnected after three pings.
  const features = Buffer.from([5, 10, 3, 8, 239, 4, 2, 18, 0]);
  await talk(set.ports.remote, known, features).over();
  expect(set.state.clients).toBe(1);
});
