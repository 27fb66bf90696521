/** Where a Kodi has a picture that it names, and which Kodis have any. */
import { expect, test } from "bun:test";
import { kodi } from "../../../src/platforms/kodi/adapter.ts";
import type { KodiMemory } from "../../../src/platforms/kodi/memory.ts";
import { pathOf } from "../../../src/platforms/kodi/protocol.ts";
import type { Facts } from "../../../src/platforms/platform.ts";

test("a picture is named once more in an address, whatever it is called", () => {
  const icon = "image://%2fhome%2fkodi%2f.kodi%2faddons%2fplugin.video.one%2ficon.png/";
  const cases: readonly [unknown, string | null][] = [
    // As Kodi 20.1 named them, and gave them (ran).
    [icon, "/image/image%3A%2F%2F%252fhome%252fkodi%252f.kodi%252faddons%252fplugin.video.one%252ficon.png%2F"],
    ["image://music@%2fsong.mp3/", "/image/image%3A%2F%2Fmusic%40%252fsong.mp3%2F"],
    ["/films/a film-poster.jpg", "/image/image%3A%2F%2F%252Ffilms%252Fa%2520film-poster.jpg%2F"],
    [
      "http://192.0.2.1/a.jpg?b=1#c",
      "/image/image%3A%2F%2Fhttp%253A%252F%252F192.0.2.1%252Fa.jpg%253Fb%253D1%2523c%2F",
    ],
    // What stands for no picture, and what is none.
    ["image://DefaultFolder.png/", null],
    ["DefaultVideoCover.png", null],
    ["", null],
    [null, null],
    [5, null],
    [undefined, null],
    ["x".repeat(5_000), null],
  ];
  for (const [named, path] of cases) expect([named, pathOf(named)]).toEqual([named, path]);
});

test("no name leaves the place of pictures, or breaks the request", () => {
  for (const named of [
    "../../jsonrpc",
    "image://../jsonrpc",
    "a\r\nHost: b",
    "a b?c#d",
    "\ud800",
    "image://\ud800/",
    "é📺",
  ]) {
    const path = pathOf(named) ?? "";
    expect([named, /^\/image\/[\w.!~*'()%-]+$/.test(path)]).toEqual([named, true]);
  }
});

test("one that asks for a password may have a tuner, as far as is known: its channels are withheld, not lacking", () => {
  const facts = { name: "One", kind: "player", manufacturer: null, model: null, serial: null, macs: [] } as const;
  const channelsOf = (access: Facts["access"], memory: KodiMemory) => {
    const { has, withheld } = kodi.describe({ ...facts, softwareVersion: null, access }, memory, true);
    return withheld.has("channels") ? "withheld" : has.has("channels") ? "has" : "lacks";
  };
  const tuners = [{}, { tuner: true }, { tuner: false }];
  expect(tuners.map((memory) => channelsOf("unpaired", memory))).toEqual(["withheld", "withheld", "lacks"]);
  expect(tuners.map((memory) => channelsOf("full", memory))).toEqual(["lacks", "has", "lacks"]);
});

test("a Kodi that has its socket alone has no pictures", () => {
  const unknown = { manufacturer: null, model: null, serial: null, macs: [], softwareVersion: null };
  const facts = { name: "One", kind: "player", access: "full", ...unknown } as const;
  const pictures = (memory: object) =>
    (["icons", "artwork", "screenshot"] as const).filter((one) => kodi.describe(facts, memory, true).has.has(one));
  expect(pictures({ socketOnly: null, screenshots: true })).toEqual(["icons", "artwork", "screenshot"]);
  expect(pictures({ socketOnly: 9_090, screenshots: true })).toEqual([]);
});
