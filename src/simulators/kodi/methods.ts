import { type Methods, method } from "./method.ts";
import { addons } from "./methods/addons.ts";
import { application } from "./methods/application.ts";
import { files } from "./methods/files.ts";
import { input } from "./methods/input.ts";
import { player } from "./methods/player.ts";
import { playlist } from "./methods/playlist.ts";
import { gui, pvr, system, xbmc } from "./methods/system.ts";
import { flag } from "./schema.ts";

const notifications = [
  "Application.OnVolumeChanged",
  "GUI.OnScreensaverActivated",
  "GUI.OnScreensaverDeactivated",
  "Input.OnInputFinished",
  "Input.OnInputRequested",
  "Player.OnAVChange",
  "Player.OnAVStart",
  "Player.OnPause",
  "Player.OnPlay",
  "Player.OnResume",
  "Player.OnSeek",
  "Player.OnSpeedChanged",
  "Player.OnStop",
  "System.OnQuit",
  "System.OnSleep",
];

/** The simulated ones of the 172 methods of Kodi 20.1 (players.md 7.1). */
export const methods: Methods = {
  ...addons,
  ...application,
  ...files,
  ...gui,
  ...input,
  ...player,
  ...playlist,
  ...pvr,
  ...system,
  ...xbmc,
  // From this kodi-ws learns what it may call; real ones also describe the parameters.
  "JSONRPC.Introspect": method({ getdescriptions: flag, getmetadata: flag, filterbytransport: flag }, () => ({
    id: "http://xbmc.org/jsonrpc/ServiceDescription.json",
    methods: Object.fromEntries(Object.keys(methods).map((name) => [name, { type: "method" }])),
    notifications: Object.fromEntries(notifications.map((name) => [name, { type: "notification" }])),
    types: {},
    version: "13.0.0",
  })),
  "JSONRPC.Ping": method({}, () => "pong"),
  "JSONRPC.Version": method({}, () => ({ version: { major: 13, minor: 0, patch: 0 } })),
};
