import { describe, expect, test } from "bun:test";
import { readPlayback, readVolume } from "../../../src/platforms/roku/protocol.ts";
import { capture, noCaptures } from "./captures.ts";

const player = (state: string, children = "") => `<player state="${state}" error="false">${children}</player>`;
const netflix = '<plugin id="12" name="Netflix" bandwidth="10000000 bps"/>';
const times =
  "<position>6916 ms</position><duration>3600000 ms</duration><is_live>false</is_live><runtime>3600000 ms</runtime>";

describe("playback", () => {
  test.skipIf(noCaptures !== null)(
    `in the capture of a set at home: nothing${noCaptures === null ? "" : ` (skipped: ${noCaptures})`}`,
    () => {
      expect(readPlayback(capture("media-player"), null)).toBeNull();
      expect(readPlayback(capture("media-player"), undefined)).toBeNull();
    },
  );

  test("in every state that sets have said, and in one that nobody knows", () => {
    const states = {
      play: "playing",
      pause: "paused",
      buffer: "buffering",
      open: "buffering",
      startup: "buffering",
      stop: "stopped",
      close: "stopped",
      PLAY: "playing",
      none: null,
      "": null,
      error: null,
      constructor: null,
    };
    for (const [state, status] of Object.entries(states))
      expect(readPlayback(player(state, netflix), "12")?.status ?? null).toBe(status as "playing" | null);
    expect(readPlayback("<player/>", "12")).toBeNull();
  });

  const live = "<position>5 ms</position><is_live>true</is_live><runtime>9 ms</runtime>";
  const timed = { status: "playing", position_ms: 6_916, duration_ms: 3_600_000, live: false, title: null };
  const untimed = { status: "paused", position_ms: null, duration_ms: null };
  test.each<[what: string, state: string, said: string, shown: string | null | undefined, told: object | null]>([
    ["of the app that is shown, with its times", "play", times, "12", timed],
    ["while it is not known what is shown: what the player says", "play", times, undefined, timed],
    ["of another app than the one shown: its times are not trusted", "pause", times, "837", untimed],
    ["of an app, with home shown: its times are not trusted", "pause", times, null, untimed],
    [
      "with a position and no duration, as Prime Video has it",
      "play",
      "<position>1 ms</position>",
      "12",
      { position_ms: 1, duration_ms: null, live: null },
    ],
    [
      "with a runtime in place of a duration, and live",
      "play",
      live,
      "12",
      { position_ms: 5, duration_ms: 9, live: true },
    ],
    [
      "with a duration of 0, as of what is live: it is not known",
      "play",
      "<position>5 ms</position><duration>0 ms</duration>",
      "12",
      { position_ms: 5, duration_ms: null },
    ],
    [
      "with a duration of 0 and a runtime",
      "play",
      "<position>5 ms</position><duration>0 ms</duration><runtime>9 ms</runtime>",
      "12",
      { position_ms: 5, duration_ms: 9 },
    ],
    ["that has ended is told in its app", "close", "", "12", { status: "stopped", position_ms: null }],
    ["that has ended is forgotten at home", "close", "", null, null],
  ])("%s", (_what, state, said, shown, told) => {
    expect({ told: readPlayback(player(state, netflix + said), shown) }).toMatchObject({ told });
  });

  test("of a player that does not name its app is that of the app shown, and forgotten at home once it has ended", () => {
    expect(readPlayback(player("play", times), "12")).toMatchObject(timed);
    expect(readPlayback(player("close"), null)).toBeNull();
  });

  test("with times that are none", () => {
    for (const time of ["", "soon", "-5 ms", "5 s", "1e3 ms", "5.5 ms", "9".repeat(20) + " ms"])
      expect(readPlayback(player("play", `${netflix}<position>${time}</position>`), "12")?.position_ms).toBeNull();
    expect(readPlayback(player("play", `${netflix}<position>0 ms</position>`), "12")?.position_ms).toBe(0);
  });
});

describe("the volume", () => {
  const audio = (global: string) =>
    `<audio-device><capabilities><all-destinations>speakers,hdmi</all-destinations></capabilities>` +
    `<global>${global}<destination-list>speakers</destination-list></global>` +
    `<destinations><destination name="hdmi"><muted>true</muted><volume>99</volume></destination></destinations></audio-device>`;

  test("is the global one, not that of a destination", () => {
    expect(readVolume(audio("<muted>false</muted><volume>18</volume>"))).toEqual({ level: 18, muted: false });
  });

  test("may know only whether it is muted, only its level, or nothing", () => {
    expect(readVolume(audio("<muted>true</muted>"))).toEqual({ level: null, muted: true });
    expect(readVolume(audio("<volume>0</volume>"))).toEqual({ level: 0, muted: null });
    expect(readVolume(audio(""))).toBeNull();
    expect(readVolume(audio("<muted/><volume/>"))).toBeNull();
    expect(readVolume("<audio-device/>")).toBeNull();
  });

  test("stays between 0 and 100", () => {
    expect(readVolume(audio("<volume>130</volume>"))?.level).toBe(100);
    expect(readVolume(audio("<volume>-3</volume>"))?.level).toBe(0);
    expect(readVolume(audio("<volume>loud</volume><muted>false</muted>"))).toEqual({ level: null, muted: false });
  });

  test("is found without a global part, as a shorter document has it", () => {
    expect(readVolume("<audio-device><volume>7</volume><muted>true</muted></audio-device>")).toEqual({
      level: 7,
      muted: true,
    });
  });
});
