/** What is made of answers that the simulated Kodi does not give: of other versions, of other systems, of several players. */
import { expect, test } from "bun:test";
import { kodi } from "../../../src/platforms/kodi/adapter.ts";
import type { KodiMemory, KodiSecret } from "../../../src/platforms/kodi/memory.ts";
import type { Connection, Key } from "../../../src/platforms/platform.ts";
import { has } from "../../contract/bench.ts";
import { failureOf } from "../../support/failure.ts";
import { until } from "../../support/http-device.ts";
import { lineTo, never, passing, tidy } from "../harness.ts";
import { type Said, startAnswering } from "./harness.ts";

const passed = passing();
tidy();

async function connect(answers: Readonly<Record<string, Said>>, timeout = 5_000, announced = {}) {
  const player = await startAnswering(answers);
  const lead = { ...player.address, announced };
  return lineTo<typeof player, KodiMemory, KodiSecret>(kodi, player, { lead, timeout });
}

/** A tuner with two channels, of which it shows one. */
function tunerShowing(shown: number, answers: Readonly<Record<string, Said>> = {}): Readonly<Record<string, Said>> {
  const channels = [11, 12].map((channelid) => ({
    channelid,
    channelnumber: channelid,
    label: `Channel ${channelid}`,
  }));
  return {
    "PVR.GetProperties": () => ({ available: true }),
    "PVR.GetChannels": ({ channelgroupid }) => ({ channels: channelgroupid === "alltv" ? channels : [] }),
    "Player.GetActivePlayers": () => [{ playerid: 1, type: "video" }],
    "Player.GetProperties": () => ({ speed: 1, live: true }),
    "Player.GetItem": () => ({ item: { id: shown, type: "channel", label: `Channel ${shown}` } }),
    "Player.Open": () => "OK",
    ...answers,
  };
}

test("what is stopped is every player, one that shows pictures too", async () => {
  let players = [
    { playerid: 0, type: "audio" },
    { playerid: 2, type: "picture" },
  ];
  const { connection } = await connect({
    "Player.GetActivePlayers": () => players,
    "Player.GetProperties": () => ({ speed: 1 }),
    "Player.Stop": ({ playerid }) => {
      players = players.filter((one) => one.playerid !== playerid);
      return "OK";
    },
  });
  expect(await connection.apps?.stop?.(never)).toBeNull();
  expect(players).toEqual([]);
  players = [{ playerid: 2, type: "picture" }];
  await connection.keys?.press("stop", never);
  expect(players).toEqual([]);
});

test("a show of pictures plays without a position, and is paused and turned over where no music plays beside it", async () => {
  // A TV with a show said to be idle (home-assistant/core#136592, #179629). What a player of pictures answers and takes is from
  // xbmc/interfaces/json-rpc/PlayerOperations.cpp: its speed is 1 or -1, its times are zero, and it cannot seek.
  const show = { playerid: 2, type: "picture", playertype: "internal" };
  let players = [show];
  let speed = 1;
  const told: unknown[] = [];
  const time = { hours: 0, minutes: 0, seconds: 0, milliseconds: 0 };
  const { connection } = await connect({
    "Player.GetActivePlayers": () => players,
    "Player.GetProperties": () => ({ speed, time, totaltime: time, live: false, canseek: false }),
    "Player.GetItem": () => ({ item: { label: "sea.jpg", type: "picture", file: "/pictures/sea.jpg" } }),
    "Player.PlayPause": ({ playerid, play }) => {
      told.push([playerid, play]);
      // It still answers with the speed from before.
      const before = speed;
      speed = play === true ? 1 : 0;
      return { speed: before };
    },
    "Player.GoTo": ({ playerid, to }) => {
      told.push([playerid, to]);
      return "OK";
    },
  });
  const playback = async () => (await connection.state?.read(never))?.playback;
  expect(await playback()).toMatchObject({ status: "playing", title: "sea.jpg", position_ms: null, duration_ms: null });
  await connection.keys?.press("pause", never);
  expect((await playback())?.status).toBe("paused");
  await connection.playback?.do("next", never);
  expect(await failureOf(Promise.resolve(connection.playback?.seek?.(5_000, never)))).toMatch(
    /^device_refused: cannot seek/,
  );
  players = [show, { playerid: 0, type: "audio", playertype: "internal" }];
  await connection.playback?.do("next", never);
  expect(told).toEqual([
    [2, false],
    [2, "next"],
    [0, "next"],
  ]);
});

test("a level that Kodi gives up for that of PulseAudio a moment after its answer is set again", async () => {
  const set: unknown[] = [];
  let setAt = 0;
  const { connection } = await connect({
    "Application.SetVolume": ({ volume }) => {
      setAt = performance.now();
      set.push(volume);
      return volume;
    },
    "Application.GetProperties": () => {
      const isTakenBack = set.length === 1 && performance.now() - setAt > 80;
      return { version: { major: 20, minor: 1 }, volume: isTakenBack ? 41 : set.at(-1), muted: false };
    },
  });
  await connection.volume?.set?.(20, never);
  expect(set).toEqual([20, 20]);
  await connection.volume?.set?.(30, never);
  expect(set).toEqual([20, 20, 30]);
  expect((await connection.state?.read(never))?.volume?.level).toBe(30);
});

test("a channel is confirmed once it plays, not while the one before does", async () => {
  const { connection } = await connect(tunerShowing(12));
  expect(await connection.apps?.launch?.("channel:12", {}, never)).toBe(true);
  expect(await connection.apps?.launch?.("channel:11", {}, never)).toBe(false);
}, 15_000);

test.each([
  ["smb://nas/My Films/Dune (2021).mkv", true],
  ["smb://nas/season-2/", false],
])(
  "%s can be opened, and is confirmed only where it is what plays: %p",
  async (file, plays) => {
    expect(kodi.isAppId(file)).toBe(true);
    const { connection } = await connect({
      "Player.GetActivePlayers": () => [{ playerid: 1, type: "video" }],
      "Player.GetProperties": () => ({ speed: 1 }),
      "Player.GetItem": () => ({ item: { file: "/mnt/My Films/Dune (2021).mkv" } }),
      "Player.Open": () => "OK",
    });
    expect(await connection.apps?.launch?.(file, {}, never)).toBe(plays);
  },
  15_000,
);

test("a favourite window is confirmed when it comes to the front, not by another that was there before", async () => {
  let front = 10_025;
  let opens = 10_025;
  const { connection } = await connect({
    "GUI.GetProperties": () => ({ currentwindow: { id: front, label: "" } }),
    "Favourites.GetFavourites": () => ({ favourites: [{ title: "Settings", type: "window", window: "settings" }] }),
    "GUI.ActivateWindow": () => {
      front = opens;
      return "OK";
    },
  });
  expect(await connection.apps?.launch?.("favourite:Settings", {}, never)).toBeNull();
  opens = 10_004;
  expect(await connection.apps?.launch?.("favourite:Settings", {}, never)).toBe(true);
});

test("the address of a favourite is opened whole; one that is too long to be, not without its end or its parameters", async () => {
  const long = (from: string, length: number) => from.padEnd(length, "x");
  const file = long("/films/", 900);
  const folder = long("plugin://plugin.video.a/?", 900);
  const opened: unknown[] = [];
  const open = (given: unknown) => {
    opened.push(given);
    return "OK";
  };
  const { connection } = await connect({
    "Favourites.GetFavourites": () => ({
      favourites: [
        { title: "File", type: "media", path: file },
        { title: "Folder", type: "window", window: "videos", windowparameter: folder },
        { title: "Long file", type: "media", path: long(file, 5_000) },
        { title: "Long folder", type: "window", window: "videos", windowparameter: long(folder, 5_000) },
      ],
    }),
    "Player.Open": open,
    "GUI.ActivateWindow": open,
    "Player.GetActivePlayers": () => [{ playerid: 1, type: "video" }],
    "Player.GetProperties": () => ({ speed: 1 }),
    "Player.GetItem": () => ({ item: { file } }),
    "XBMC.GetInfoLabels": () => ({ "System.FriendlyName": "Den", "Container.PluginName": "plugin.video.a" }),
  });
  const launch = (title: string) => Promise.resolve(connection.apps?.launch?.(`favourite:${title}`, {}, never));
  expect([await launch("File"), await launch("Folder")]).toEqual([true, true]);
  expect(opened).toEqual([{ item: { file } }, { window: "videos", parameters: [folder] }]);
  for (const title of ["Long file", "Long folder"])
    expect(await failureOf(launch(title))).toMatch(/^device_refused: .*cannot open it/);
  expect(opened.length).toBe(2);
}, 15_000);

test("a channel with a sub-number has both in its number, by which it is found; one without a number has none", async () => {
  const rows = [
    { channelid: 1, channelnumber: 4, subchannelnumber: 1, label: "WNBC" },
    { channelid: 2, channelnumber: 4, subchannelnumber: 2, label: "COZI" },
    { channelid: 3, channelnumber: 5, subchannelnumber: 0, label: "WNYW" },
    { channelid: 4, channelnumber: 6, label: "WPVI" },
    { channelid: 5, channelnumber: 0, subchannelnumber: 0, label: "Kiosk" },
  ];
  const asked: unknown[] = [];
  const { connection } = await connect(
    tunerShowing(1, {
      "PVR.GetChannels": ({ channelgroupid, properties }) => {
        asked.push(properties);
        return { channels: channelgroupid === "alltv" ? rows : [] };
      },
    }),
  );
  const numbers = (await connection.channels?.list(never))?.map(({ number }) => number);
  expect(numbers).toEqual(["4.1", "4.2", "5", "6", null]);
  expect(asked).toEqual(Array(2).fill(["channelnumber", "subchannelnumber"]));
});

test("what plays is asked for again while another player takes over, and what plays then is told", async () => {
  let takeovers = 2;
  const { connection } = await connect({
    "Player.GetActivePlayers": () => [{ playerid: 1, type: "video" }],
    "Player.GetProperties": () => (takeovers-- > 0 ? { code: -32_100 } : { speed: 1, time: {}, totaltime: {} }),
    "Player.GetItem": () => ({ item: { type: "movie", label: "Film", title: "Film" } }),
  });
  expect((await connection.state?.read(never))?.playback?.status).toBe("playing");
});

test("channels that it does not tell in time are not none", async () => {
  const silent = tunerShowing(12, { "PVR.GetChannels": () => "hang" });
  const { connection } = await connect(silent, 300);
  expect(await failureOf(Promise.resolve(connection.channels?.list(never)))).toMatch(/^device_timeout/);
  expect(await failureOf(Promise.resolve(connection.apps?.launch?.("channel:11", {}, never)))).toMatch(
    /^device_timeout/,
  );
});

test("one whose tuner has not started cannot say so, and its folder for pictures of the screen is known all the same", async () => {
  const { connection, target } = await connect({
    "PVR.GetProperties": () => ({ code: -32_100 }),
    "Settings.GetSettingValue": () => ({ value: "/shots/" }),
    "Files.GetDirectory": () => ({ files: [] }),
  });
  expect(await failureOf(Promise.resolve(connection.channels?.list(never)))).toBe(
    "unsupported_operation: has no tuner",
  );
  await until("it is told", () => target.memory.screenshots === true);
});

test("a connection that is closed while it waits for the hardware address fails by a code", async () => {
  const { connection, set } = await connect({
    "XBMC.GetInfoLabels": () => ({ "System.FriendlyName": "Den", "Network.MacAddress": "Busy" }),
  });
  const before = set.asked.length;
  const outcome = failureOf(has(connection.state).read(never));
  await until("it has asked", () => set.asked.length > before);
  await Bun.sleep(30);
  connection.close();
  expect(await outcome).toMatch(/^device_error: is no longer connected/);
});

test("the keyboard of the system takes text as Kodi's own does", async () => {
  const { connection, set } = await connect({
    "GUI.GetProperties": () => ({ currentwindow: { id: 10_156, label: "" } }),
  });
  await connection.text?.type("Dune", never);
  expect(set.asked).toContain("Input.SendText");
});

test("typed text is typed, though a busy Kodi does not say right afterwards what its field shows", async () => {
  const texts: string[] = [];
  const field = "Control.GetLabel(312).index(1)";
  let isBusy = false;
  const { connection } = await connect({
    "GUI.GetProperties": () => ({ currentwindow: { id: 10_103, label: "" } }),
    "XBMC.GetInfoLabels": ({ labels }) => {
      const names = { "System.FriendlyName": "Den", "Network.MacAddress": "02:00:5e:00:53:21" };
      if (!(labels as string[]).includes(field)) return names;
      return isBusy ? { code: -32_603 } : { [field]: texts.at(-1) ?? "" };
    },
    "Input.SendText": ({ text }) => {
      texts.push(String(text));
      isBusy = texts.length === 1;
      return "OK";
    },
  });
  await connection.text?.type("Du", never);
  isBusy = false;
  await connection.text?.type("ne", never);
  expect(texts).toEqual(["Du", "Dune"]);
});

test("what a Kodi has launched, and is too busy with to answer once, is launched", async () => {
  let isBusy = false;
  let launches = 0;
  const { connection } = await connect({
    "Addons.GetAddonDetails": () => ({ addon: { enabled: true, name: "Music" } }),
    "Addons.ExecuteAddon": () => {
      launches++;
      isBusy = true;
      return "OK";
    },
    "XBMC.GetInfoLabels": ({ labels }) => {
      const names = { "System.FriendlyName": "Den", "Network.MacAddress": "02:00:5e:00:53:21" };
      if (!(labels as string[]).includes("Container.PluginName")) return names;
      if (!isBusy) return { "Container.PluginName": launches > 0 ? "plugin.audio.music" : "" };
      isBusy = false;
      return { code: -32_603 };
    },
  });
  expect(await has(connection.apps?.launch)("plugin.audio.music", {}, never)).toBe(true);
  expect(launches).toBe(1);
});

test("what has ended while it was told to play or to pause does not play, and does not go on", async () => {
  let players = [{ playerid: 1, type: "video" }];
  let speed = 0;
  const { connection } = await connect({
    "Player.GetActivePlayers": () => players,
    "Player.GetProperties": () => ({ speed }),
    "Player.PlayPause": () => {
      players = [];
      return { speed };
    },
  });
  expect(await failureOf(has(connection.keys).press("play", never))).toMatch(/does not play$/);
  players = [{ playerid: 1, type: "video" }];
  speed = 1;
  await connection.keys?.press("pause", never);
});

test("what cannot be made a number or a text is an answer like any other", async () => {
  const code = { toString: 1, valueOf: 1 };
  const { connection, sighting } = await connect({
    "Application.GetProperties": () => ({ version: { major: code, minor: 2 } }),
    "GUI.ShowNotification": () => ({ code }),
  });
  expect(sighting.facts.softwareVersion).toEndWith(".2");
  expect(await failureOf(Promise.resolve(connection.notify?.("Dinner", never)))).toMatch(/^device_error/);
});

test("a function that an older one lacks is named as such, with what helps", async () => {
  const { connection } = await connect({});
  const failure = await Promise.resolve(connection.notify?.("Dinner", never)).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "unsupported_operation", hint: expect.stringContaining("Kodi 19") });
});

test("one that announces a name, and reports none, has that name", async () => {
  const reported = { "System.FriendlyName": "", "Network.MacAddress": "02:00:5e:00:53:21" };
  const announced = { type: "_xbmc-jsonrpc-h._tcp", uuid: "0a1b2c3d-0000-4000-8000-00000000b172", name: "Den" };
  const { sighting, connection } = await connect({ "XBMC.GetInfoLabels": () => reported }, 5_000, announced);
  expect(sighting.facts.name).toBe("Den");
  await has(connection.state).read(never);
});

/** What it is asked first, the window in front then, and the command (SECURITY.md R14). */
const slept: readonly [string, string, number, (to: Connection) => unknown][] = [
  ["a key for a player", "Player.GetActivePlayers", 10_000, ({ keys }) => keys?.press("skip", never)],
  ["a channel key", "Player.GetActivePlayers", 10_000, ({ keys }) => keys?.press("channel-up", never)],
  ["input-tuner", "PVR.GetProperties", 10_000, ({ keys }) => keys?.press("input-tuner", never)],
  ["stop", "Player.GetActivePlayers", 10_000, ({ apps }) => apps?.stop?.(never)],
  ["home", "GUI.GetProperties", 10_000, ({ keys }) => keys?.press("home", never)],
  ["an add-on", "Addons.GetAddonDetails", 10_000, ({ apps }) => apps?.launch?.("plugin.video.x", {}, never)],
  ["a channel", "PVR.GetChannels", 10_000, ({ apps }) => apps?.launch?.("channel:11", {}, never)],
  ["a position", "Player.GetProperties", 10_000, ({ playback }) => playback?.seek?.(1_000, never)],
  ["text", "GUI.GetProperties", 10_103, ({ text }) => text?.type("Dune", never)],
  ["power-off", "System.GetProperties", 10_000, ({ power }) => power?.off?.(never)],
];

test.each(slept)("%s is not sent when the machine slept while the answer to %s was awaited", async (...row) => {
  const [, first, window, send] = row;
  const answers = tunerShowing(11, {
    "GUI.GetProperties": () => ({ currentwindow: { id: window, label: "" } }),
    "Addons.GetAddonDetails": () => ({ addon: { enabled: true, name: "X" } }),
    "System.GetProperties": () => ({ canshutdown: true }),
  });
  const { connection, set } = await connect({
    ...answers,
    [first]: (params) => {
      passed.ms += 8_000;
      return answers[first]?.(params);
    },
  });
  set.asked.length = 0;
  expect(await failureOf(Promise.resolve(send(connection)))).toMatch(/^device_busy: did not get the command/);
  expect(set.asked.filter((method) => !/\.Get[A-Z]/.test(method))).toEqual([]);
});

/** What is answered to the part of a command before which it slept, and what had been sent by then. */
const sleptMidway: readonly [string, Readonly<Record<string, Said>>, readonly string[], Key][] = [
  [
    "a second Home",
    { "GUI.GetProperties": () => ({ currentwindow: { id: 10_025, label: "" } }) },
    ["Input.Home"],
    "home",
  ],
  [
    "a tuner behind a screen saver",
    { ...tunerShowing(11), "XBMC.GetInfoBooleans": () => ({ "System.ScreenSaverActive": true }) },
    ["Input.ExecuteAction"],
    "input-tuner",
  ],
  [
    "the stop of two players",
    { "Player.GetActivePlayers": () => [0, 2].map((playerid) => ({ playerid, type: "video" })) },
    ["Player.Stop"],
    "stop",
  ],
];

test.each(sleptMidway)(
  "of %s, the rest is not sent after a sleep of this machine, and the failure says so",
  async (...row) => {
    const [, answers, sent, key] = row;
    const first = () => {
      passed.ms += 8_000;
      return "OK";
    };
    const parts = Object.fromEntries(sent.map((method) => [method, first]));
    const { connection, set } = await connect({ ...answers, ...parts });
    set.asked.length = 0;
    const failed = await failureOf(Promise.resolve(connection.keys?.press(key, never)));
    expect(failed).toStartWith("device_timeout: The command was not sent, or not all of it");
    expect(set.asked.filter((method) => !/\.Get[A-Z]/.test(method))).toEqual([...sent]);
  },
);
