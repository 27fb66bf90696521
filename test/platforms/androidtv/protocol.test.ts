/** Messages of the remote service in bytes: what clients and sets of others have sent, in; the values that they mean, out. */
import { describe, expect, test } from "bun:test";
import { createHash, X509Certificate } from "node:crypto";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { rsaNumbersOf, subjectOf } from "../../../src/platforms/androidtv/certificate.ts";
import { describeState } from "../../../src/platforms/androidtv/device.ts";
import { isStreamingBox } from "../../../src/platforms/androidtv/identity.ts";
import {
  frameOf,
  framing,
  pairingMessages,
  secretOf,
  messages as write,
} from "../../../src/platforms/androidtv/protocol.ts";
import { isAndroidAppId, linkOf, packagesOf } from "../../../src/platforms/androidtv/services.ts";
import { createCertificateFor } from "../../../src/simulators/bench/certificate.ts";
import { Message } from "../../../src/transport/protobuf.ts";

const { headBytes, readHead } = framing;

interface Messages {
  decodeDelimited(bytes: Uint8Array): { toJSON(): object };
  encode(message: object): { finish(): Uint8Array };
  fromObject(message: object): object;
}

/** The messages of npm androidtv-remote, by the library of its own. */
const theirs = dirname(createRequire(import.meta.url).resolve("androidtv-remote/package.json"));
const { loadSync } = createRequire(join(theirs, "package.json"))("protobufjs") as {
  loadSync(file: string): { lookupType(name: string): Messages };
};
const messages = loadSync(join(theirs, "src/remote/remotemessage.proto")).lookupType("remote.RemoteMessage");
const questions = loadSync(join(theirs, "src/pairing/pairingmessage.proto")).lookupType("pairing.PairingMessage");
const readRemote = (frame: Uint8Array) => messages.decodeDelimited(frame).toJSON();
const readPairing = (frame: Uint8Array) => questions.decodeDelimited(frame).toJSON();
const written = (message: object) => new Message(Buffer.from(messages.encode(messages.fromObject(message)).finish()));

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const message = (text: string) => new Message(Buffer.from(text.replaceAll(" ", ""), "hex"));

describe("messages to a TV", () => {
  test("is decoded by another client's definitions: keys, links, the greeting, and pairing", () => {
    expect(readRemote(write.key(26, 3))).toEqual({ remoteKeyInject: { keyCode: "KEYCODE_POWER", direction: "SHORT" } });
    expect(readRemote(write.key(19, 1))).toEqual({
      remoteKeyInject: { keyCode: "KEYCODE_DPAD_UP", direction: "START_LONG" },
    });
    expect(readRemote(write.link("plex://"))).toEqual({ remoteAppLinkLaunchRequest: { appLink: "plex://" } });
    expect(readRemote(write.pong(44))).toEqual({ remotePingResponse: { val1: 44 } });
    expect(readRemote(write.setActive(615))).toEqual({ remoteSetActive: { active: 615 } });
    expect(readRemote(write.configure(615))).toMatchObject({
      remoteConfigure: { code1: 615, deviceInfo: { packageName: "zapd" } },
    });
    const ok = { protocolVersion: 2, status: "STATUS_OK" };
    const encoding = { type: "ENCODING_TYPE_HEXADECIMAL", symbolLength: 6 };
    expect(
      [
        pairingMessages.request(),
        pairingMessages.options(),
        pairingMessages.configuration(),
        pairingMessages.secret(Buffer.from("x")),
      ].map(readPairing),
    ).toEqual([
      { ...ok, pairingRequest: { serviceName: "atvremote", clientName: "zapd" } },
      { ...ok, pairingOption: { inputEncodings: [encoding], preferredRole: "ROLE_TYPE_INPUT" } },
      { ...ok, pairingConfiguration: { encoding, clientRole: "ROLE_TYPE_INPUT" } },
      { ...ok, pairingSecret: { secret: "eA==" } },
    ]);
  });

  test("a text carries the TV's counters, and the index of its last character twice", () => {
    // players.md 4.4: hello goes out with 4 and 4, and counters that are zero are left out.
    expect(hex(write.text("hello", { ime: 0, field: 0 }))).toBe("14aa01111a0f0801120b080410041a0568656c6c6f");
    expect(hex(write.text("💡", { ime: 1, field: 2 }))).toEndWith("08011002" + "1a0e0801120a" + "080110011a04f09f92a1");
  });

  test("numbers of any size survive encoding", () => {
    fc.assert(
      fc.property(
        fc.nat(2 ** 31 - 1),
        fc.string({ unit: "binary", minLength: 1, maxLength: 300, size: "max" }),
        (number, text) => {
          const frame = frameOf({ 1: number, 90: { 7: text }, 3: false });
          const head = readHead(frame);
          const said = new Message(frame.subarray(head?.head));
          expect([head?.body, said.number(1), said.message(90)?.text(7), said.number(3)]).toEqual([
            frame.length - (head?.head ?? 0),
            number,
            Buffer.from(text).toString(),
            0,
          ]);
        },
      ),
    );
  });
});

describe("what a TV sends", () => {
  test("is read: features, off as an empty message, volume, the app on the screen", () => {
    const deviceInfo = { model: "BRAVIA 4K", vendor: "Sony", unknown1: 1, packageName: "com.google" };
    const offer = written({ remoteConfigure: { code1: 639, deviceInfo } }).message(1);
    expect([offer?.number(1), offer?.message(2)?.text(1), offer?.message(2)?.text(2)]).toEqual([
      639,
      "BRAVIA 4K",
      "Sony",
    ]);
    expect(message("c2 02 02 08 01").message(40)?.number(1)).toBe(1);
    expect(message("c2 02 00").message(40)?.number(1)).toBe(0);
    const sound = { playerModel: "BRAVIA 4K", volumeMax: 100, volumeLevel: 30, volumeMuted: true };
    const volume = written({ remoteSetVolumeLevel: sound }).message(50);
    expect([6, 7, 8].map((field) => volume?.number(field))).toEqual([100, 30, 1]);
    const appInfo = { counter: 3, label: "x", appPackage: "com.netflix.ninja" };
    expect(written({ remoteImeKeyInject: { appInfo } }).message(20)?.message(1)?.text(12)).toBe("com.netflix.ninja");
    const edit = written({ remoteImeBatchEdit: { imeCounter: 12, fieldCounter: 3 } }).message(21);
    expect([edit?.number(1), edit?.number(2)]).toEqual([12, 3]);
    // Ten bytes of a number below zero are one that is none.
    expect(
      written({ remotePingRequest: { val1: -1, val2: 5 } })
        .message(8)
        ?.number(1),
    ).toBe(0);
  });

  test("malformed messages fail, at a cost bounded by their length: too many fields, unknown kinds, endless lengths", () => {
    for (const bytes of ["0a", "0a ff", "0b", "0a 05 01", "ff ff ff ff ff ff ff ff ff ff 01", "08 80", "09 01"])
      expect(() => message(bytes)).toThrow();
    expect(() => new Message(Buffer.alloc(2_000, Buffer.from([8, 1])))).toThrow("too many fields");
    expect(() =>
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
          try {
            new Message(Buffer.from(bytes)).message(1)?.text(1);
          } catch (error) {
            expect(error).toBeInstanceOf(Error);
          }
        }),
      ),
    ).not.toThrow();
    // A message in a message in a message is read no deeper than somebody asks.
    let deep = Buffer.alloc(0);
    for (let depth = 0; depth < 200; depth++)
      deep = Buffer.concat([Buffer.from([0x0a, 0x80 + (deep.length % 128), Math.floor(deep.length / 128)]), deep]);
    expect(new Message(deep).message(1)).not.toBeNull();
    expect(readHead(Buffer.from([0x80, 0x80]))).toBeNull();
    expect(readHead(Buffer.from([0xff, 0xff, 0xff, 0x7f]))).toBeNull();
    expect(headBytes).toBe(3);
  });

  test("its certificate: name and address, in the new form, the old one, or neither", () => {
    const of = (commonName: string) => subjectOf(new X509Certificate(createCertificateFor(commonName).cert).raw);
    expect(of("atvremote/darcy/darcy/SHIELD Android TV/AA:BB:CC:00:11:22")).toEqual({
      isRemote: true,
      name: "SHIELD Android TV",
      mac: "aa:bb:cc:00:11:22",
    });
    expect(of("atvremote/AA:BB:CC:00:11:22")).toEqual({ isRemote: true, name: null, mac: "aa:bb:cc:00:11:22" });
    expect(of("atvremote/x/y/Hidden, really/02:00:00:00:00:00")).toEqual({
      isRemote: true,
      name: "Hidden, really",
      mac: null,
    });
    // What stands in for an address that is hidden is no name.
    const noAddress = ["", "0b5c9a3e-52f4-4c8e-9d0e-6f1c2a7b8d90"];
    for (const id of noAddress) {
      expect(of(`atvremote/p/d/UHD Google TV STB/${id}`)).toMatchObject({ name: "UHD Google TV STB", mac: null });
      expect(of(`atvremote/${id}`)).toEqual({ isRemote: true, name: null, mac: null });
    }
    expect(of("router.example.org")).toEqual({ isRemote: false, name: null, mac: null });
    expect(subjectOf(Buffer.from("nonsense"))).toEqual({ isRemote: false, name: null, mac: null });
    expect(rsaNumbersOf(new X509Certificate(createCertificateFor("x").cert).raw)).toBeNull();
  });
});

test("a code begins with the first byte of a hash over both keys and its rest", () => {
  const [client, server] = [
    { modulus: Buffer.from("c0ffee", "hex"), exponent: Buffer.from("010001", "hex") },
    { modulus: Buffer.from("decade", "hex"), exponent: Buffer.from("010001", "hex") },
  ];
  const hash = createHash("sha256").update(Buffer.from("c0ffee010001decade0100010b5e", "hex")).digest();
  for (let first = 0; first < 256; first++) {
    const code = `${first.toString(16).padStart(2, "0").toUpperCase()}0B5E`;
    const secret = secretOf(client, server, code);
    expect(secret && hex(secret)).toBe(first === hash[0] ? hex(hash) : null);
  }
});

describe("what zapd makes of it", () => {
  const told = { isOn: true, app: null, volume: null, model: null, vendor: null, features: 0 };

  test("state: power, the app by its service, a volume on any scale or none", () => {
    expect(describeState({ ...told, app: "com.netflix.ninja", volume: { level: 5, most: 25, muted: true } })).toEqual({
      power: "on",
      app: { platformId: "com.netflix.ninja", name: "Netflix", type: "app", version: null, id: "netflix" },
      screensaver: null,
      playback: null,
      volume: { level: 20, muted: true },
      input: null,
    });
    // The last two are screen savers, of Android TV and of Google TV (unfoldedcircle/integration-androidtv, apps.py).
    for (const shown of ["apps.tv.launcherx", "tvlauncher", "backdrop", "apps.tv.dreamx"])
      expect([shown, describeState({ ...told, app: `com.google.android.${shown}` }).app]).toEqual([shown, null]);
    expect(describeState({ ...told, app: "org.example" }).app).toMatchObject({ name: "org.example" });
    expect(describeState({ ...told, volume: { level: 0, most: 0, muted: false } }).volume).toBeNull();
    expect(describeState({ ...told, isOn: null }).power).toBe("unknown");
    expect(describeState({ ...told, isOn: false, app: "com.netflix.ninja" })).toMatchObject({
      power: "standby",
      app: null,
    });
  });

  test("links: by service, to one item, by package through the Play store, or as given", () => {
    const youtube = "com.google.android.youtube.tv";
    expect(linkOf(youtube, null)).toBe("https://www.youtube.com");
    expect(linkOf(youtube, "a b&c")).toBe("https://www.youtube.com/watch?v=a%20b%26c");
    expect(linkOf("com.disney.disneyplus", "b-1")).toBe("https://www.disneyplus.com/play/b-1");
    expect(linkOf("tv.emby.embyatv", null)).toBe("embyatv://tv.emby.embyatv/startapp");
    expect(packagesOf("org.jellyfin.androidtv")).toEqual(["org.jellyfin.androidtv"]);
    expect(linkOf("com.plexapp.android", "7")).toBeNull();
    expect(linkOf("com.plexapp.android", "plex://play/7")).toBe("plex://play/7");
    expect(linkOf("org.example.app", null)).toBe("market://launch?id=org.example.app");
    expect(linkOf("https://www.youtube.com/watch?v=1", null)).toBe("https://www.youtube.com/watch?v=1");
    expect(linkOf("https://www.youtube.com", "1")).toBeNull();
    expect(packagesOf("https://www.youtube.com/watch?v=1")).toEqual([youtube]);
    expect(packagesOf("https://example.org/")).toEqual([]);
    const appleTv = ["com.apple.atve.androidtv.appletv", "com.apple.atve.sony.appletv"];
    for (const id of [...appleTv, "https://tv.apple.com/show/1"]) expect(packagesOf(id)).toEqual(appleTv);
    expect(packagesOf("org.example.app")).toEqual(["org.example.app"]);
    for (const id of ["org.example.app", "plex://", "https://a.b/c?d=e"]) expect(isAndroidAppId(id)).toBe(true);
    for (const id of ["netflx", "a.b c", "https://a b", "constructor", "..", "x://\n", `a.${"b".repeat(127)}`])
      expect(isAndroidAppId(id)).toBe(false);
  });

  test("a box has no inputs, an unknown device may", () => {
    for (const model of ["Chromecast HD", "SHIELD Android TV", "Google TV Streamer", "Fire Stick", "MiBox4", "onn. 4K"])
      expect([model, isStreamingBox({ model })]).toEqual([model, true]);
    for (const model of ["BRAVIA 4K", "TCL Smart TV", null])
      expect([model, isStreamingBox({ model })]).toEqual([model, false]);
  });
});
