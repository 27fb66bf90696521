import { type Methods, method } from "./method.ts";
import { addons } from "./methods/addons.ts";
import { application } from "./methods/application.ts";
import { files } from "./methods/files.ts";
import { input } from "./methods/input.ts";
import { player } from "./methods/player.ts";
import { playlist } from "./methods/playlist.ts";
import { gui, pvr, system, xbmc } from "./methods/system.ts";

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
  "JSONRPC.Ping": method({}, () => "pong"),
  "JSONRPC.Version": method({}, () => ({ version: { major: 13, minor: 0, patch: 0 } })),
};
