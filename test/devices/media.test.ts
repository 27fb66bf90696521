/** Whether a device is seen to play a file, the one that it was given and not the one before, and to seek in it. */
import { expect, test } from "bun:test";
import { controlPlayback, playMedia } from "../../src/devices/controls.ts";
import type { PlatformState } from "../../src/platforms/platform.ts";
import { idle } from "../support/fake-platform.ts";
import { neverAborted, openHouse } from "./harness.ts";

type Playback = NonNullable<PlatformState["playback"]>;

const playing = (more: Partial<Playback> = {}): PlatformState => ({
  ...idle,
  playback: {
    status: "playing",
    position_ms: null,
    duration_ms: null,
    title: null,
    artist: null,
    rate: 1,
    live: null,
    ...more,
  },
});
const film = playing({ title: "Film", position_ms: 60_000, duration_ms: 90_000 });

/** What is confirmed of a device that shows one state before it takes the file, and then the others, one at each read. */
async function confirmedOf(before: PlatformState, ...after: PlatformState[]) {
  const shown = [...after];
  let isTaken = false;
  const house = await openHouse((set) => ({
    ...set.connection(),
    state: { read: async () => (isTaken ? ((shown.length > 1 ? shown.shift() : shown[0]) ?? before) : before) },
    playback: { does: new Set(), do: async () => {} },
    media: {
      play: async () => {
        isTaken = true;
      },
    },
  }));
  const device = house.devices.deviceOf(await house.add("Player"));
  const item = { url: "http://192.0.2.1/other.mp4", mime: "video/mp4", title: null, image: null };
  try {
    return await playMedia(device, item, { signal: neverAborted });
  } finally {
    await house.remove();
  }
}

test.concurrent.each<readonly [string, boolean | null, readonly [PlatformState, ...PlatformState[]]]>([
  ["nothing played before", true, [idle, playing()]],
  ["nothing plays after it", false, [idle, idle]],
  ["it loads, and then plays", true, [idle, playing({ status: "buffering" }), playing()]],
  ["it goes on loading", null, [idle, playing({ status: "buffering" })]],
  ["it loads, and then nothing plays", false, [idle, playing({ status: "buffering" }), idle]],
  ["the old file plays on", false, [film, playing({ title: "Film", position_ms: 61_000, duration_ms: 90_000 })]],
  ["the old file plays on, and then the new one", true, [film, film, playing({ title: "Other", position_ms: 0 })]],
  ["the old file ends, and nothing plays", false, [film, film, idle]],
  ["between the two nothing plays", true, [playing(), idle, playing()]],
  [
    "the new file has no title, and starts from its beginning",
    true,
    [film, playing({ title: "Film", position_ms: 200, duration_ms: 90_000 })],
  ],
  [
    "the old file had just started, and the new one shows nothing of its own",
    null,
    [playing({ position_ms: 300 }), playing({ position_ms: 400 })],
  ],
  ["neither title nor position is shown, and something played before", null, [playing(), playing()]],
])("%s: confirmed is %p", async (_, confirmed, [before, ...after]) => {
  expect(await confirmedOf(before, ...after)).toBe(confirmed);
});

test.each<readonly [string, boolean | null, PlatformState]>([
  ["is there", true, playing({ position_ms: 60_000 })],
  ["is elsewhere", false, playing({ position_ms: 0 })],
  ["does not tell where it is", null, playing()],
  ["shows by then that it never tells what it plays", null, idle],
])("a device that seeks and then %s: confirmed is %p", async (what, confirmed, after) => {
  const state = { read: async () => after, showsPlayback: true };
  const house = await openHouse((set) => ({
    ...set.connection(),
    state,
    playback: {
      does: new Set(),
      do: async () => {},
      seek: async () => {
        state.showsPlayback = !what.includes("never");
      },
    },
  }));
  const device = house.devices.deviceOf(await house.add("Player"));
  const sought = await controlPlayback(device, "seek", 60_000, { signal: neverAborted });
  expect(sought.confirmed).toBe(confirmed);
  await house.remove();
});

test("a change to the next title shows in no status: it is answered after one read", async () => {
  let reads = 0;
  const house = await openHouse((set) => ({
    ...set.connection(),
    state: {
      read: async () => {
        reads++;
        return playing();
      },
    },
    playback: { does: new Set(["next"]), do: async () => {} },
  }));
  const device = house.devices.deviceOf(await house.add("Player"));
  const told = await controlPlayback(device, "next", 0, { signal: neverAborted });
  expect([told.confirmed, told.playback?.status, reads]).toEqual([null, "playing", 1]);
  await house.remove();
});
