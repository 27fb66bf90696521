/** What both are asked while something plays. */
import {
  active,
  exact,
  front,
  home,
  inWindow,
  item,
  nothingActive,
  type Place,
  playing,
  properties,
  type Step,
  speedIs,
  step,
} from "./steps.ts";

export const video = ({ video: file }: Place): Step[] => [
  { told: [] },
  exact("Player.Open", { item: { file } }),
  playing(1),
  { told: ["Playlist.OnAdd", "Player.OnAVChange", "Player.OnPlay", "Player.OnAVStart"] },
  active,
  front,
  step("Player.GetProperties", { playerid: 1, properties }),
  exact("Player.GetProperties", { playerid: 0, properties: ["speed"] }),
  exact("Player.GetItem", { playerid: 1, properties: ["title", "file", "mediapath", "artist", "season", "showtitle"] }),
  step("Player.GetItem", { playerid: 1, properties: item }),
  exact("XBMC.GetInfoLabels", { labels: ["Player.FolderPath", "Player.Filenameandpath", "Player.Title"] }),
  // The answer of a real Kodi may hold the speed from before: the new one is read once it is set.
  step("Player.PlayPause", { playerid: 1, play: false }),
  speedIs(0),
  exact("Player.PlayPause", { playerid: 1, play: false }),
  { told: ["Player.OnPause"] },
  step("Player.PlayPause", { playerid: 1, play: true }),
  speedIs(1),
  step("Player.PlayPause", { playerid: 1, play: "toggle" }),
  speedIs(0),
  exact("Input.ExecuteAction", { action: "pause" }),
  speedIs(1),
  { told: ["Player.OnResume", "Player.OnPause"] },
  step("Player.Seek", { playerid: 1, value: { seconds: 30 } }),
  { told: ["Player.OnSeek", "Player.OnAVChange"] },
  step("Player.Seek", { playerid: 1, value: { time: { minutes: 1, seconds: 30 } } }),
  { told: ["Player.OnSeek", "Player.OnAVChange"] },
  step("Player.Seek", { playerid: 1, value: { percentage: 10 } }),
  step("Player.Seek", { playerid: 1, value: { step: "smallforward" } }),
  { told: ["Player.OnSeek", "Player.OnAVChange"] },
  ...[2, "increment", "decrement", 1].flatMap((speed, at) => [
    step("Player.SetSpeed", { playerid: 1, speed }),
    speedIs([2, 4, 2, 1][at] ?? 0),
  ]),
  { told: ["Player.OnSpeedChanged", "Player.OnResume", "Player.OnAVChange"] },
  home,
  active,
  exact("Player.Stop", { playerid: 0 }),
  exact("Player.Stop", { playerid: 1 }),
  nothingActive,
  { told: ["Player.OnStop"] },
  step("Player.GetProperties", { playerid: 1, properties: ["time", "speed", "type"] }),
];

/** One after the other, without a stop between them. */
export const another = ({ video: first, audio: second }: Place): Step[] => [
  exact("Player.Open", { item: { file: first } }),
  playing(1),
  { told: ["Playlist.OnAdd", "Player.OnPlay", "Player.OnAVStart"] },
  exact("Player.Open", { item: { file: second } }),
  playing(0),
  { told: ["Player.OnStop", "Player.OnPlay", "Player.OnAVStart"] },
  active,
  front,
  exact("Player.Stop", { playerid: 0 }),
  nothingActive,
  { told: ["Player.OnStop"] },
];

/** From one entry of a list to the next, and past its end. */
export const listed = ({ video: first, audio: second }: Place): Step[] => [
  exact("Playlist.Clear", { playlistid: 1 }),
  exact("Playlist.Add", { playlistid: 1, item: [{ file: first }, { file: second }] }),
  exact("Player.Open", { item: { playlistid: 1, position: 0 } }),
  playing(1),
  active,
  exact("Player.GetProperties", { playerid: 1, properties: ["position", "playlistid"] }),
  step("Player.GetItem", { playerid: 1, properties: ["thumbnail", "fanart", "art"] }),
  step("Player.Seek", { playerid: 1, value: { time: { minutes: 1 } } }),
  exact("Player.GoTo", { playerid: 1, to: "next" }),
  { until: "Player.GetActivePlayers", says: /"audio"/ },
  active,
  { until: "Player.GetProperties", params: { playerid: 1, properties: ["position"] }, says: /:1/ },
  exact("Player.GoTo", { playerid: 1, to: "next" }),
  nothingActive,
];

/** It plays to its end by itself. */
export const ending = ({ video: file }: Place): Step[] => [
  exact("Player.Open", { item: { file } }),
  playing(1),
  { told: ["Player.OnAVStart"] },
  step("Player.Seek", { playerid: 1, value: { percentage: 98.5 } }),
  nothingActive,
  { told: ["Player.OnSeek", "Player.OnStop"] },
  inWindow(10_000),
];

export const audio = ({ audio: file }: Place): Step[] => [
  exact("Player.Open", { item: { file } }),
  playing(0),
  { told: ["Playlist.OnAdd", "Player.OnPlay", "Player.OnAVStart"] },
  active,
  front,
  step("Player.GetProperties", { playerid: 0, properties }),
  exact("Player.GetItem", { playerid: 0, properties: ["title", "file", "mediapath"] }),
  exact("Input.ExecuteAction", { action: "pause" }),
  { told: ["Player.OnPause", "Player.OnSpeedChanged"] },
  exact("Player.Stop", { playerid: 0 }),
  nothingActive,
  { told: ["Player.OnStop"] },
];

export const fromPlugin = ({ plugin }: Place): Step[] => [
  exact("Player.Open", { item: { file: `plugin://${plugin}/?play=clip` } }),
  playing(0),
  { told: ["Player.OnAVChange", "Player.OnPlay", "Player.OnAVStart"] },
  active,
  front,
  exact("Player.GetProperties", { playerid: 0, properties: ["type", "speed", "live"] }),
  step("Player.GetItem", { playerid: 0, properties: ["title", "file", "mediapath"] }),
  exact("Player.GetItem", { playerid: 1 }),
  exact("XBMC.GetInfoLabels", { labels: ["Player.FolderPath", "Player.Filenameandpath"] }),
  exact("Player.Stop", { playerid: 0 }),
  nothingActive,
  { told: ["Player.OnStop"] },
];

export const channels = ({ channel }: Place): Step[] =>
  channel === null
    ? [exact("PVR.GetChannels", { channelgroupid: "alltv" }), exact("PVR.GetProperties", { properties: ["available"] })]
    : [
        exact("PVR.GetProperties", { properties: ["available"] }),
        exact("PVR.GetChannels", {
          channelgroupid: "alltv",
          properties: ["channelnumber", "channeltype", "hidden", "thumbnail"],
        }),
        exact("PVR.GetChannels", { channelgroupid: "allradio" }),
        exact("Player.Open", { item: { channelid: channel } }),
        { until: "Player.GetActivePlayers", says: /playerid/ },
        inWindow(12_005),
        { told: ["Player.OnAVChange", "Player.OnPlay", "Player.OnAVStart"] },
        step("Player.GetProperties", { playerid: 1, properties }),
        exact("Player.GetItem", {
          playerid: 1,
          properties: ["title", "channel", "channelnumber", "channeltype", "file"],
        }),
        exact("XBMC.GetInfoLabels", { labels: ["Player.Title", "VideoPlayer.ChannelName"] }),
        exact("Player.Stop", { playerid: 1 }),
        nothingActive,
        { told: ["Player.OnStop"] },
      ];
