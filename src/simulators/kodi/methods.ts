import { type Filter, introspect, permissions } from "./introspection.ts";
import { type Methods, method, required } from "./method.ts";
import { addons } from "./methods/addons.ts";
import { application } from "./methods/application.ts";
import { files } from "./methods/files.ts";
import { input } from "./methods/input.ts";
import { player } from "./methods/player.ts";
import { playlist } from "./methods/playlist.ts";
import { gui, pvr, system, textures, xbmc } from "./methods/system.ts";
import { anything, either, listOf, number, oneOf, type Schema, text, truth } from "./schema.ts";

const FILTER: Schema = {
  type: "object",
  properties: { id: text, type: oneOf("method", "namespace", "type", "notification"), getreferences: truth },
};

/** What is simulated of the 172 methods that Kodi 20.1 has (players.md 7.1). */
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
  ...textures,
  ...xbmc,
  "JSONRPC.Ping": method({}, () => "pong"),
  "JSONRPC.Version": method({}, () => ({ version: { major: 13, minor: 0, patch: 0 } })),
  "JSONRPC.Permission": method({}, permissions),
  "JSONRPC.NotifyAll": method(
    {
      sender: required(text),
      message: required(text),
      data: either(anything, listOf(anything), text, number, truth),
    },
    (model, { sender, message, data = null }) => {
      model.notify(`Other.${String(message)}`, data, String(sender));
    },
  ),
  "JSONRPC.Introspect": method(
    { getdescriptions: truth, getmetadata: truth, filterbytransport: truth, filter: FILTER },
    (_model, { getdescriptions = true, getmetadata = false, filter }) => {
      const wanted = { descriptions: getdescriptions === true, metadata: getmetadata === true };
      return introspect(methods, filter === undefined ? wanted : { ...wanted, filter: filter as Filter });
    },
  ),
};
