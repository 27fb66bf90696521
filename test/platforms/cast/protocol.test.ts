/** What Cast devices say, in bytes and in JSON, and what it comes to. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type CastMessage, decode, encode, framing } from "../../../src/platforms/cast/frames.ts";
import {
  abilities,
  describeState,
  isCastAppId,
  readId,
  readMedia,
  readReceiver,
} from "../../../src/platforms/cast/protocol.ts";
import { idsOf } from "../../../src/platforms/cast/services.ts";

const { headBytes, readHead } = framing;

/** PING as it goes over the wire (players.md 3.1): version 0, ids, namespace, payload type 0, the text. */
const ping = Buffer.from(
  "00000054" +
    "0800" +
    `1208${Buffer.from("sender-0").toString("hex")}` +
    `1a0a${Buffer.from("receiver-0").toString("hex")}` +
    `2227${Buffer.from("urn:x-cast:com.google.cast.tp.heartbeat").toString("hex")}` +
    "2800" +
    `320f${Buffer.from('{"type":"PING"}').toString("hex")}`,
  "hex",
);
const pinged: CastMessage = {
  source: "sender-0",
  destination: "receiver-0",
  namespace: "urn:x-cast:com.google.cast.tp.heartbeat",
  text: '{"type":"PING"}',
};

describe("messages in bytes", () => {
  test("are written and read as the wire has them", () => {
    expect(encode(pinged).toString("hex")).toBe(ping.toString("hex"));
    expect(readHead(ping)).toEqual({ head: 4, body: ping.length - 4 });
    expect(readHead(ping.subarray(0, 3))).toBeNull();
    expect(decode(ping.subarray(headBytes))).toEqual(pinged);
  });

  test("fields that are not known are passed over, whatever kind they are", () => {
    const more = Buffer.from([0x40, 0xff, 0x01, 0x4a, 2, 1, 2, 0x51, 1, 2, 3, 4, 5, 6, 7, 8, 0x5d, 1, 2, 3, 4]);
    expect(decode(Buffer.concat([ping.subarray(headBytes), more]))).toEqual(pinged);
  });

  test("survive encoding; other bytes are decoded or rejected", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 400 });
    fc.assert(
      fc.property(text, text, (source, words) => {
        const message = { ...pinged, source, text: words };
        expect(decode(encode(message).subarray(headBytes))).toEqual(message);
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          decode(Buffer.from(bytes));
        } catch (error) {
          expect(String(error)).toMatch(/sent an? (incomplete )?message/);
        }
      }),
      { numRuns: 5_000 },
    );
    // A length of 2 to the 63rd.
    expect(() => decode(Buffer.from("12ffffffffffffffff7f00", "hex"))).toThrow("incomplete message");
  });
});

const volume = {
  controlType: "attenuation",
  level: 0.3499999940395355,
  muted: false,
  stepInterval: 0.05000000074505806,
};
const youtube = {
  appId: "233637DE",
  displayName: "YouTube",
  isIdleScreen: false,
  namespaces: [{ name: "urn:x-cast:com.google.youtube.mdx" }, { name: "urn:x-cast:com.google.cast.media" }],
  sessionId: "a",
  transportId: "b",
};
const receiver = (status: object) => readReceiver({ type: "RECEIVER_STATUS", status: { volume, ...status } });

describe("RECEIVER_STATUS", () => {
  test("tells what is cast, and the volume of 0 to 100", () => {
    const read = receiver({ applications: [youtube], isStandBy: false });
    expect(read.running).toMatchObject({ sessionId: "a", mediaTransport: "b" });
    expect(describeState(read, null)).toEqual({
      power: "on",
      app: { platformId: "233637DE", name: "YouTube", type: "app", version: null, id: "youtube" },
      screensaver: null,
      playback: null,
      volume: { level: 35, muted: false },
      input: null,
    });
  });

  test("an idle device has no app, with a backdrop or without any application", () => {
    for (const idle of [{}, { applications: [] }, { applications: [{ ...youtube, isIdleScreen: true }] }])
      expect(receiver(idle).running).toBeNull();
    expect(receiver({ applications: [{ ...youtube, appId: "E8C28D3C" }] }).running).toBeNull();
  });

  test("an app plays media where it says so, in either form, or says nothing of what it speaks", () => {
    const media = "urn:x-cast:com.google.cast.media";
    const transport = (namespaces: unknown) =>
      receiver({ applications: [{ ...youtube, namespaces }] }).running?.mediaTransport;
    for (const namespaces of [[{ name: media }], [media], undefined]) expect(transport(namespaces)).toBe("b");
    for (const namespaces of [[], [{ name: "urn:x-cast:x" }], [null, "x"]]) expect(transport(namespaces)).toBeNull();
  });

  test("its power is that of standby, and unknown without it", () => {
    const power = (status: object) => describeState(receiver(status), null).power;
    expect([power({ isStandBy: true }), power({ isStandBy: false }), power({}), power({ isStandBy: "no" })]).toEqual([
      "standby",
      "on",
      "unknown",
      "unknown",
    ]);
  });

  test("an app that runs under another id on this device is known by both", () => {
    const { universalAppId, ...own } = { ...youtube, appId: "AAAAAAAA", universalAppId: youtube.appId };
    const { running } = receiver({ applications: [{ ...own, universalAppId, displayName: "" }] });
    expect(running).toMatchObject({ ids: ["AAAAAAAA", "233637DE"], app: { id: "youtube", name: "AAAAAAAA" } });
    expect(receiver({ applications: [own] }).running?.ids).toEqual(["AAAAAAAA"]);
  });

  test("a step that is none is the usual one", () => {
    const steps = [0.02, 1, 0, -1, 2, "x", undefined].map(
      (stepInterval) => receiver({ volume: { stepInterval } }).step,
    );
    expect(steps).toEqual([0.02, 1, 0.05, 0.05, 0.05, 0.05, 0.05]);
  });

  test("values of the wrong type are ignored", () => {
    for (const status of [
      null,
      7,
      "x",
      { volume: { level: 7, muted: "no", stepInterval: -1 }, applications: [null, 4] },
    ])
      expect(describeState(readReceiver({ status }), null)).toMatchObject({
        app: null,
        volume: { level: null, muted: null },
      });
  });
});

const media = {
  mediaSessionId: 4,
  playerState: "PLAYING",
  currentTime: 12.5,
  playbackRate: 1,
  supportedMediaCommands: 274447,
  media: {
    contentId: "x",
    streamType: "buffered",
    duration: 60.2,
    metadata: { title: "Song", artist: "A Singer", images: [{ url: "http://a/b" }] },
  },
};
const read = (status: object, before = null as ReturnType<typeof readMedia>, now = 0) =>
  readMedia({ type: "MEDIA_STATUS", status: [{ ...media, ...status }] }, before, now);
const playing = (one: ReturnType<typeof readMedia>, now = 0) => describeState(receiver({}), one, now).playback;

describe("MEDIA_STATUS", () => {
  test("the position advances while it plays, up to the end", () => {
    const one = read({});
    expect(playing(one)).toEqual({
      status: "playing",
      position_ms: 12_500,
      duration_ms: 60_200,
      live: false,
      title: "Song",
      artist: "A Singer",
      artwork: true,
    });
    expect(playing(one, 2_000)?.position_ms).toBe(14_500);
    expect(playing(one, 90_000)?.position_ms).toBe(60_200);
    expect(playing(read({ playerState: "PAUSED" }), 9_000)).toMatchObject({ status: "paused", position_ms: 12_500 });
    expect(playing(read({ playerState: "BUFFERING" }), 9_000)).toMatchObject({
      status: "buffering",
      position_ms: 12_500,
    });
    expect(playing(read({ playbackRate: 2 }), 1_000)).toMatchObject({ position_ms: 14_500, rate: 2 });
    expect(playing(read({ playbackRate: -2 }, null, 500), 9_000)?.position_ms).toBe(0);
    expect(playing(read({ playbackRate: undefined }, null, 500), 1_000)?.position_ms).toBe(13_000);
    expect(playing(read({ playbackRate: 2, playerState: "PAUSED", currentTime: 1.2344 }))).not.toHaveProperty("rate");
    expect(playing(read({ currentTime: 1.2344 }))?.position_ms).toBe(1_234);
    expect(playing(read({ currentTime: undefined }))?.position_ms).toBeNull();
  });

  test("the items of a queue can be gone through, though the default receiver does not say so", () => {
    const commands = (status: object) => read(status)?.commands;
    const item = { itemId: 1, media: {} };
    const both = 274_447 + abilities.next + abilities.previous;
    expect(commands({ items: [item, { ...item, itemId: 2 }] })).toBe(both);
    expect(commands({ items: [item] })).toBe(274_447);
    expect(commands({ items: [item, item], supportedMediaCommands: both })).toBe(both);
    expect(commands({ items: [item, item], supportedMediaCommands: undefined })).toBeNull();
    // A queue that has not changed is left out.
    const queued = read({ items: [item, item] });
    expect(read({ items: undefined }, queued)?.commands).toBe(both);
    expect(read({ items: [item] }, queued)?.commands).toBe(274_447);
  });

  test("what is left out has not changed, within one media session", () => {
    const first = read({});
    expect(playing(read({ media: undefined, playerState: "PAUSED" }, first))).toMatchObject({
      title: "Song",
      artist: "A Singer",
      duration_ms: 60_200,
    });
    expect(read({ supportedMediaCommands: undefined }, first)?.commands).toBe(274_447);
    const another = { metadata: { songName: "Another", albumArtist: "A Choir" } };
    expect(playing(read({ media: another }, first))).toMatchObject({
      title: "Another",
      artist: "A Choir",
      artwork: false,
      live: null,
    });
    expect(playing(read({ media: undefined, mediaSessionId: 5 }, first))?.title).toBeNull();
  });

  test("a live stream has no length and no position", () => {
    const live = { ...media.media, streamType: "LIVE", duration: null };
    expect(playing(read({ media: live }))).toMatchObject({ live: true, duration_ms: null, position_ms: null });
    for (const duration of [-1, 0]) expect(playing(read({ media: { ...live, duration } }))?.duration_ms).toBeNull();
    // One that can be rewound has both, and a file may not tell its length.
    expect(playing(read({ media: { ...live, duration: 60 } }))).toMatchObject({ live: true, position_ms: 12_500 });
    expect(playing(read({ media: { ...live, streamType: "BUFFERED" } }))?.position_ms).toBe(12_500);
  });

  test("times that cannot be are unknown: players give 2^32 s as the length of a stream without an end", () => {
    for (const seconds of [2 ** 32, 1e300, 1e306, -1]) {
      const times = { media: { ...media.media, duration: seconds }, currentTime: seconds };
      expect(playing(read(times))).toMatchObject({ duration_ms: null, position_ms: null });
    }
    // That of a live stream may be counted from 1970.
    const live = { ...media.media, streamType: "LIVE", duration: 2 ** 31 };
    expect(playing(read({ media: live, currentTime: 1.7e9 }))?.position_ms).toBe(1.7e12);
    expect(playing(read({ playbackRate: 1e300 }), 1_000)).toMatchObject({ position_ms: 13_500 });
  });

  test("nothing is loaded: an empty list, an idle player, and invalid ones", () => {
    for (const status of [
      [],
      [{ ...media, playerState: "IDLE" }],
      [{ ...media, playerState: "constructor" }],
      [{ ...media, mediaSessionId: null }],
      "x",
    ])
      expect(readMedia({ status }, read({}))).toBeNull();
  });
});

test("an id is the same in every notation", () => {
  const bare = "0123456789abcdef0123456789abcdef";
  for (const one of [
    bare,
    bare.toUpperCase(),
    "01234567-89ab-cdef-0123-456789abcdef",
    "uuid:01234567-89ab-cdef-0123-456789abcdef",
  ])
    expect(readId(one)).toBe(bare);
  for (const none of ["", "x", null, 7, "0123", "../".repeat(10)]) expect(readId(none)).toBeNull();
});

test("an app's id is eight characters of hex; a service may have several", () => {
  expect(["CC1AD845", "cc1ad845"].map(isCastAppId)).toEqual([true, true]);
  for (const none of ["youtube", "CC1AD84", "CC1AD8455", "CC1AD84G", " CC1AD845"])
    expect(isCastAppId(none)).toBe(false);
  expect(idsOf("EF67CA5A")).toEqual(["EF67CA5A", "CA5E8412"]);
  expect(idsOf("CC1AD845")).toEqual(["CC1AD845"]);
});
