/** What both the simulator and a real Kodi are asked, one after the other. */
import { another, audio, channels, ending, fromPlugin, listed, video } from "./exchanges-playing.ts";
import { active, backHome, dialogs, exact, front, home, inFolder, inWindow, type Place, type Step } from "./steps.ts";

const envelope: readonly Step[] = [
  "{",
  "[]",
  "5",
  '{"method":"JSONRPC.Ping","id":1}',
  '{"jsonrpc":"2.0","id":1}',
  '{"jsonrpc":"2.0","id":null,"method":"JSONRPC.Ping"}',
  '{"jsonrpc":"2.0","id":"a","method":"JSONRPC.Ping"}',
  '{"jsonrpc":"2.0","id":1,"method":"JSONRPC.Ping","params":5}',
  '{"jsonrpc":"2.0","id":1,"method":"JSONRPC.Ping","params":{"x":1}}',
  '{"jsonrpc":"2.0","id":1,"method":"JSONRPC.Ping","params":[1]}',
  '{"jsonrpc":"2.0","id":1,"method":"Application.SetMute","params":[false]}',
  '{"jsonrpc":"2.0","id":1,"method":"Application.SetMute","params":{"mute":false,"x":1}}',
  '[{"jsonrpc":"2.0","id":1,"method":"JSONRPC.Ping"},{"jsonrpc":"2.0","id":2,"method":"No.Method"}]',
  '[{"jsonrpc":"2.0","id":1,"method":"JSONRPC.Ping"},{"jsonrpc":"2.0","method":"JSONRPC.Ping"}]',
  '{"jsonrpc":"2.0","method":"JSONRPC.Ping"}',
  '{"jsonrpc":"2.0","method":"No.Method"}',
].map((body) => ({ body }));

const refusals: readonly Step[] = [
  exact("Input.ShowCodec"),
  exact("Application.SetMute", {}),
  exact("Application.SetMute", { mute: "x" }),
  exact("Application.SetVolume", { volume: 101 }),
  exact("Application.GetProperties"),
  exact("Application.GetProperties", { properties: ["volume", "nope"] }),
  exact("Application.GetProperties", { properties: "volume" }),
  exact("Input.ExecuteAction", { action: "nope" }),
  exact("Input.SendText", { done: true }),
  exact("Input.SendText", { text: 5 }),
  exact("GUI.ActivateWindow", { window: "nope" }),
  exact("Player.GetItem", { playerid: 7 }),
  exact("Player.GetItem", {}),
  exact("Player.GetProperties", { playerid: 1, properties: ["canpause"] }),
  exact("Player.Seek", { playerid: 1, value: "smallforward" }),
  exact("Player.Open", {}),
  exact("Player.Open", { item: { nope: 1 } }),
  exact("Player.Open", { item: { file: "/nope.mp4" } }),
  exact("Addons.ExecuteAddon", { addonid: "nope" }),
  exact("Addons.GetAddonDetails", { addonid: "nope" }),
  exact("Settings.GetSettingValue", { setting: "services.deviceuuid" }),
  exact("System.Shutdown"),
  exact("System.Suspend"),
];

const idle: readonly Step[] = [
  exact("JSONRPC.Ping"),
  exact("JSONRPC.Version"),
  exact("Application.GetProperties", { properties: ["name", "version", "muted"] }),
  exact("System.GetProperties", { properties: ["canshutdown", "cansuspend", "canhibernate", "canreboot"] }),
  exact("Settings.GetSettingValue", { setting: "services.devicename" }),
  exact("XBMC.GetInfoLabels", { labels: ["Network.MacAddress"] }),
  exact("XBMC.GetInfoLabels", { labels: ["System.FriendlyName", "System.BuildVersion", "Nope.Nope"] }),
  exact("XBMC.GetInfoBooleans", { booleans: ["System.ScreenSaverActive", "Player.HasMedia", "Nope.Nope"] }),
  exact("GUI.GetProperties", { properties: ["currentwindow", "currentcontrol", "fullscreen", "skin"] }),
  active,
  exact("Player.GetItem", { playerid: 1, properties: ["title", "file"] }),
  exact("Player.Stop", { playerid: 1 }),
  exact("Player.PlayPause", { playerid: 1 }),
  exact("Player.Seek", { playerid: 1, value: { seconds: 5 } }),
  exact("Player.SetSpeed", { playerid: 1, speed: 1 }),
  exact("Player.GoTo", { playerid: 1, to: "next" }),
  ...["Up", "Info", "ShowOSD", "Home", "Back"].map((key) => exact(`Input.${key}`)),
  ...["pause", "stop", "fastforward", "channelup", "noop"].map((action) => exact("Input.ExecuteAction", { action })),
  exact("Input.SendText", { text: "nobody reads this", done: true }),
  exact("Player.Open", { item: { path: "/nope" } }),
  { told: ["Playlist.OnClear"] },
  exact("Favourites.GetFavourites", { properties: ["window", "windowparameter", "path", "thumbnail"] }),
];

const volume: readonly Step[] = [
  exact("Application.SetVolume", { volume: 40 }),
  exact("Application.SetVolume", { volume: "increment" }),
  exact("Application.SetVolume", { volume: 41 }),
  exact("Application.SetMute", { mute: "toggle" }),
  exact("Application.SetMute", { mute: false }),
  { until: "Application.GetProperties", params: { properties: ["volume"] }, says: /41/ },
  exact("Application.GetProperties", { properties: ["volume", "muted"] }),
  { told: ["Application.OnVolumeChanged"] },
];

const addons = ({ plugin, script }: Place): Step[] => [
  exact("Addons.GetAddons", { content: "video", properties: ["name", "version", "enabled", "installed"] }),
  exact("Addons.GetAddons", { content: "executable", properties: ["name", "enabled"] }),
  exact("Addons.GetAddons", { content: "audio" }),
  exact("Addons.GetAddonDetails", { addonid: plugin, properties: ["name", "version"] }),
  exact("Addons.ExecuteAddon", { addonid: plugin }),
  inFolder,
  inWindow(10_025),
  exact("XBMC.GetInfoLabels", { labels: ["Container.PluginName", "Container.FolderPath", "Container.FolderName"] }),
  front,
  home,
  exact("XBMC.GetInfoLabels", { labels: ["Container.PluginName", "Container.FolderPath"] }),
  exact("Addons.ExecuteAddon", { addonid: script, params: { what: "nothing" } }),
  exact("GUI.ActivateWindow", { window: "videos", parameters: [`plugin://${plugin}/`, "return"] }),
  inFolder,
  inWindow(10_025),
  home,
  { ...inWindow(10_004), press: ["GUI.ActivateWindow", { window: "settings" }] },
  front,
  home,
];

const underDialogs: readonly Step[] = dialogs.flatMap((kind): Step[] => [
  { dialog: kind },
  front,
  exact("GUI.ActivateWindow", { window: "videos" }),
  exact("Input.Home"),
  front,
  exact("Input.Back"),
  backHome,
  { told: kind === "keyboard" || kind === "number" ? ["Input.OnInputRequested", "Input.OnInputFinished"] : [] },
]);

const typing: readonly Step[] = [
  { dialog: "keyboard" },
  exact("Input.SendText", { text: "hé€😀", done: false }),
  front,
  exact("Input.SendText", { text: "abc" }),
  inWindow(10_000),
  { told: ["Input.OnInputRequested", "Input.OnInputFinished"] },
];

/** What stands in the field of a keyboard can be read, and is what the last text made of it. */
const field: readonly Step[] = [
  { dialog: "keyboard" },
  exact("XBMC.GetInfoLabels", { labels: ["Control.GetLabel(312).index(1)"] }),
  exact("Input.SendText", { text: "hé€😀 x", done: false }),
  { until: "XBMC.GetInfoLabels", params: { labels: ["Control.GetLabel(312).index(1)"] }, says: /"hé€😀 x"/ },
  exact("Input.SendText", { text: "y", done: false }),
  { until: "XBMC.GetInfoLabels", params: { labels: ["Control.GetLabel(312).index(1)"] }, says: /:"y"/ },
  exact("Input.Back"),
  backHome,
  exact("XBMC.GetInfoLabels", { labels: ["Control.GetLabel(312).index(1)"] }),
];

const ports: readonly Step[] = ["services.webserver", "services.webserverauthentication"].map((setting) =>
  exact("Settings.GetSettingValue", { setting }),
);

/** What is asked of a Kodi beyond keys, with nothing playing. */
const controls: readonly Step[] = [
  exact("GUI.ShowNotification", { title: "T", message: "M" }),
  exact("GUI.ShowNotification", { title: "T", message: "M", image: "info", displaytime: 1_500 }),
  exact("GUI.ShowNotification", { title: "T", message: "M", displaytime: 100 }),
  exact("GUI.ShowNotification", { title: "T" }),
  exact("Settings.GetSettingValue", { setting: "debug.screenshotpath" }),
  // Where no folder for them is set, it asks somebody in front of it for one.
  exact("Input.ExecuteAction", { action: "screenshot" }),
  inWindow(10_126),
  exact("GUI.GetProperties", { properties: ["currentwindow"] }),
  exact("Input.Back"),
  home,
];

export const exchanges: Readonly<Record<string, (place: Place) => readonly Step[]>> = {
  "the envelope": () => envelope,
  "what is refused": () => refusals,
  "with nothing playing": () => idle,
  volume: () => volume,
  "add-ons and windows": addons,
  "a video": video,
  sound: audio,
  "one after the other": another,
  "to the end": ending,
  "a video of a plug-in": fromPlugin,
  channels,
  "dialogs in front": () => underDialogs,
  "text into a keyboard": () => typing,
  "what stands in a keyboard": () => field,
  "how it may be controlled": () => ports,
  "beyond keys": () => controls,
  "through a play list": listed,
};
