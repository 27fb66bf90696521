/** npm androidtv-remote, which others wrote, has to be content with the simulator; where the notes say that hardware refuses, so does it. */
import { expect, spyOn, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import type { EventEmitter } from "node:events";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { createCertificateFor } from "../../src/simulators/bench/certificate.ts";
import { until } from "../support/http-device.ts";
import { plugInAndroidTv } from "../support/sets.ts";
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

/** As its author wrote it: what is built from that wants a package of old promises beside it. */
const { AndroidRemote, RemoteKeyCode, RemoteDirection } = (await import(
  join(root, "node_modules/androidtv-remote/src/index.js")
)) as {
  readonly AndroidRemote: new (host: string, options: object) => Remote;
  readonly RemoteKeyCode: Readonly<Record<string, number>>;
  readonly RemoteDirection: Readonly<Record<string, number>>;
};

/** It takes what comes at once for one message, and reads no more after two of them: each is brought by itself, as from a quiet network. */
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

test("npm androidtv-remote is paired by the code, and drives", async () => {
  const set = await plugInAndroidTv({ pingMs: 200 });
  const remote = new AndroidRemote(set.host, {
    pairing_port: set.ports.pairing,
    remote_port: set.ports.remote,
    service_name: "a client",
  });
  bringOneByOne(remote);
  const told: [string, unknown][] = [];
  for (const event of ["powered", "volume", "current_app", "unpaired"])
    remote.on(event, (said: unknown) => told.push([event, said]));
  remote.on("secret", () => expect(remote.sendCode(set.state.code)).toBe(true));
  const spies = (["debug", "info"] as const).map((word) =>
    spyOn(globalThis.console, word).mockImplementation(() => {}),
  );
  try {
    expect(await remote.start()).toBe(true);
    expect([set.state.paired, set.state.code]).toEqual([1, null]);
    await until("it is told all", () => told.length === 3);
    expect(told.splice(0)).toEqual([
      ["powered", true],
      ["volume", { level: 10, maximum: 25, muted: false }],
      ["current_app", "com.google.android.apps.tv.launcherx"],
    ]);
    const key = (name: string, how = "SHORT") =>
      remote.sendKey(RemoteKeyCode[`KEYCODE_${name}`] ?? 0, RemoteDirection[how] ?? 0);
    key("VOLUME_UP");
    remote.sendAppLink("https://www.youtube.com");
    await until("it is told what has changed", () => told.length === 2);
    expect(told.splice(0)).toEqual([
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
    // It answers the pings, or it would have been hung up on.
    await Bun.sleep(900);
    remote.sendPower();
    await until("it is told that it is off", () => told.length === 1);
    expect(told).toEqual([["powered", false]]);
    expect(set.state).toMatchObject({ clients: 1, power: "standby" });
  } finally {
    // It would call again for ever.
    remote.remoteManager.start = async () => {};
    remote.stop();
    await until("it has hung up", () => set.state.clients === 0);
    for (const spy of spies) spy.mockRestore();
  }
});

test("what hardware refuses is refused: strangers before the first message, keys before the greeting, silence, frames that are too long", async () => {
  const known = createCertificateFor("known", "rsa");
  const { raw } = new X509Certificate(known.cert);
  const set = await plugInAndroidTv({ paired: [raw], pingMs: 40 });
  const talk = (port: number, shown: object, bytes: Uint8Array) => {
    let heard = 0;
    const socket: TLSSocket = connect({ host: set.host, port, rejectUnauthorized: false, ...shown });
    socket.on("data", (piece: Buffer) => {
      heard += piece.length;
    });
    socket.on("error", () => {});
    const over = new Promise<void>((resolve) => socket.on("close", () => resolve()));
    socket.write(bytes);
    return { over, heard: () => heard };
  };
  const home = Buffer.from([6, 0x52, 4, 8, 3, 16, 3]);
  const stranger = talk(set.ports.remote, createCertificateFor("stranger", "rsa"), home);
  await stranger.over;
  expect([stranger.heard(), set.state.rejected]).toEqual([0, 1]);
  await talk(set.ports.pairing, {}, home).over;
  const rude = talk(set.ports.remote, known, home);
  await until("it is spoken to", () => rude.heard() > 0);
  await Bun.sleep(50);
  expect(set.keys).toEqual([]);
  const { over } = talk(set.ports.remote, known, Buffer.from([0xff, 0xff, 0xff, 0x7f, 1]));
  await over;
  // Greeted, and then silent: after three pings it is hung up on.
  const features = Buffer.from([5, 10, 3, 8, 239, 4, 2, 18, 0]);
  await talk(set.ports.remote, known, features).over;
  expect(set.state.clients).toBe(1);
});
