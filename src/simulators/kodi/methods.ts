import type { Method } from "./method.ts";
import { addons } from "./methods/addons.ts";
import { application } from "./methods/application.ts";
import { gui } from "./methods/gui.ts";
import { input } from "./methods/input.ts";
import { player } from "./methods/player.ts";
import { pvr } from "./methods/pvr.ts";
import { system } from "./methods/system.ts";
import { xbmc } from "./methods/xbmc.ts";

/** What is simulated of the 172 methods that Kodi 20.1 has (players.md 7.1). */
export const methods: Readonly<Record<string, Method>> = {
  ...addons,
  ...application,
  ...gui,
  ...input,
  ...player,
  ...pvr,
  ...system,
  ...xbmc,
  "JSONRPC.Ping": { run: () => "pong" },
  "JSONRPC.Version": { run: () => ({ version: { major: 13, minor: 0, patch: 0 } }) },
  "JSONRPC.Introspect": { run: introspect },
};

function introspect() {
  const entries = Object.entries(methods).map(([name, { params = [] }]) => [
    name,
    { params: params.map((one) => ({ name: one.name, required: one.required ?? false })), type: "method" },
  ]);
  return {
    description: "JSON-RPC API of XBMC",
    id: "http://xbmc.org/jsonrpc/ServiceDescription.json",
    methods: Object.fromEntries(entries),
    notifications: {},
    types: {},
    version: "13.0.0",
  };
}
