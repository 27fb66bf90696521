/** What is read from Kodi's answers, value by value (players.md 7). */
import { expect, test } from "bun:test";
import {
  describePlayback,
  isKodiAppId,
  readAddon,
  readFavourite,
  readPlaying,
} from "../../../src/platforms/kodi/protocol.ts";

const played = (properties: object, item: object = {}) =>
  describePlayback(readPlaying(1, { speed: 0, ...properties }, { ...item }, {}));

test("live television has no end, and no position unless it has one", () => {
  const time = { minutes: 1 };
  const zero = { minutes: 0 };
  expect(played({ time, totaltime: { minutes: 2 }, live: false })).toMatchObject({
    position_ms: 60_000,
    duration_ms: 120_000,
  });
  expect(played({ time: zero, totaltime: zero, live: true })).toMatchObject({ position_ms: null, duration_ms: null });
  expect(played({ time, totaltime: { hours: 1 }, live: true }).position_ms).toBe(60_000);
  expect(played({ time })).toMatchObject({ position_ms: 60_000, duration_ms: null });
  expect(played({ time, totaltime: { seconds: 50 } }).position_ms).toBe(50_000);
});

test("a track that begins has the position 0 until its sound is there, and counts from then on", () => {
  const playing = readPlaying(0, { speed: 1, time: { milliseconds: -600 } }, {}, {});
  const after = (ms: number) => describePlayback({ ...playing, at: performance.now() - ms }).position_ms;
  expect(after(100)).toBe(0);
  expect(after(1_600)).toBeWithin(1_000, 1_100);
});

test("what plays has the first of a title, a label and the name of its channel, and all its artists", () => {
  expect(played({}, { title: "A", label: "a.mkv", channel: "1", artist: ["B", "", 3, "C"] })).toMatchObject({
    title: "A",
    artist: "B, C",
  });
  expect(played({}, { title: "", label: "a.mkv", channel: "1" }).title).toBe("a.mkv");
  // What an add-on names what it plays (xbmc/Kore#629).
  const marked = "[COLOR chartreuse]News[/COLOR] [LOWERCASE]Live[/LOWERCASE]";
  expect(played({}, { title: "[B][/B]", label: marked }).title).toBe("News Live");
  expect(played({}, { label: "Alive [COLORIZED] [b].mkv" }).title).toBe("Alive [COLORIZED] [b].mkv");
  expect(played({}, { channel: "1", artist: Array(20).fill("x") })).toMatchObject({
    title: "1",
    artist: Array(16).fill("x").join(", "),
  });
});

test("an add-on has an id that can be launched, and is not disabled; a favourite has a title", () => {
  expect(readAddon({ addonid: "plugin.video.x", name: "[B]X[/B]" })).toMatchObject({ name: "X", version: null });
  expect(readAddon({ addonid: "plugin.video.x" })?.name).toBe("plugin.video.x");
  for (const addon of [{}, { addonid: "a/b" }, { addonid: "plugin.video.x", enabled: false }])
    expect(readAddon(addon)).toBeNull();
  expect(readFavourite({ title: " Film " })).toMatchObject({ platformId: "favourite:Film", name: "Film" });
  expect(readFavourite({ title: "[B]A[/B]" })).toMatchObject({ platformId: "favourite:[B]A[/B]", name: "A" });
  expect(readFavourite({ title: "x".repeat(100) })?.name.length).toBe(100);
  for (const title of [undefined, "", " ", "x".repeat(101)]) expect(readFavourite({ title })).toBeNull();
});

test("what can be opened: add-ons, favourites, channels, addresses and absolute paths that lead nowhere else", () => {
  const openable = "plugin.video.x|favourite:A .. b|favourite:..|channel:12|smb://nas/a.mkv|/media/a.mkv|C:\\a.mkv";
  for (const id of openable.split("|")) expect(isKodiAppId(id)).toBe(true);
  const others = `youtube|a.mkv|media/a.mkv|file://a|channel:x|/a/../b|smb://nas/..|/a\nb|/${"a".repeat(1_024)}`;
  for (const id of others.split("|")) expect(isKodiAppId(id)).toBe(false);
});
