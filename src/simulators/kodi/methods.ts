import { introspect, permissions } from "./introspection.ts";
import type { Method } from "./method.ts";
import { addons } from "./methods/addons.ts";
import { application } from "./methods/application.ts";
import { input } from "./methods/input.ts";
import { player } from "./methods/player.ts";
import { playlist } from "./methods/playlist.ts";
import { gui, pvr, system, textures, xbmc } from "./methods/system.ts";
import { anything, either, listOf, number, oneOf, text, truth } from "./schema.ts";

/** What is simulated of the 172 methods that Kodi 20.1 has (players.md 7.1). */
export const methods: Readonly<Record<string, Method>> = {
  ...addons,
  ...application,
  ...gui,
  ...input,
  ...player,
  ...playlist,
  ...pvr,
  ...system,
  ...textures,
  ...xbmc,
  "JSONRPC.Ping": { run: () => "pong" },
  "JSONRPC.Version": { run: () => ({ version: { major: 13, minor: 0, patch: 0 } }) },
  "JSONRPC.Permission": { run: permissions },
  "JSONRPC.NotifyAll": {
    params: [
      { name: "sender", schema: text, required: true },
      { name: "message", schema: text, required: true },
      { name: "data", schema: either(anything, listOf(anything), text, number, truth) },
    ],
    run(model, { sender, message, data = null }) {
      model.notify(`Other.${String(message)}`, data, String(sender));
      return "OK";
    },
  },
  "JSONRPC.Introspect": {
    params: [
      { name: "getdescriptions", schema: truth },
      { name: "getmetadata", schema: truth },
      { name: "filterbytransport", schema: truth },
      {
        name: "filter",
        schema: {
          type: "object",
          properties: { id: text, type: oneOf("method", "namespace", "type", "notification"), getreferences: truth },
        },
      },
    ],
    run(_model, { getdescriptions = true, getmetadata = false, filter }) {
      const wanted = { descriptions: getdescriptions === true, metadata: getmetadata === true };
      return introspect(methods, filter === undefined ? wanted : { ...wanted, filter: filter as Filter });
    },
  },
};

interface Filter {
  readonly id: string;
  readonly type: string;
  readonly getreferences?: boolean;
}
