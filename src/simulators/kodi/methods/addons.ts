import { invalidParams, type Method } from "../method.ts";
import type { Model } from "../model.ts";
import type { SimulatedAddon } from "../options.ts";
import { anything, either, listOf, names, oneOf, text, truth } from "../schema.ts";
import { go, VIDEOS, WINDOWS } from "../windows.ts";
import { pick } from "./application.ts";

const FIELDS = [
  ...["name", "version", "summary", "description", "path", "author", "thumbnail", "disclaimer", "fanart"],
  ...["dependencies", "broken", "extrainfo", "rating", "enabled", "installed", "deprecated"],
];
const fields = { name: "properties", schema: names("Addon.Fields", FIELDS) };
const addonid = { name: "addonid", schema: text, required: true };

export const addons: Readonly<Record<string, Method>> = {
  "Addons.GetAddons": {
    params: [
      { name: "type", schema: text },
      { name: "content", schema: oneOf("unknown", "video", "audio", "image", "executable", "game") },
      { name: "enabled", schema: either(truth, oneOf("all")) },
      fields,
      { name: "limits", schema: anything },
      { name: "installed", schema: either(truth, oneOf("all")) },
    ],
    run(model, { content = "unknown", enabled = "all", properties }) {
      const found = model.addons
        .filter((addon) => content === "unknown" || addon.content === content)
        .filter((addon) => enabled === "all" || (addon.enabled !== false) === enabled)
        .map((addon) => describe(addon, properties));
      // The list is left out when it would be empty (Kodi 20.1, ran).
      return { ...(found.length === 0 ? {} : { addons: found }), limits: limits(found.length) };
    },
  },
  "Addons.GetAddonDetails": {
    params: [addonid, fields],
    run: (model, params) => ({ addon: describe(find(model, params["addonid"]), params["properties"]) }),
  },
  "Addons.SetAddonEnabled": {
    params: [addonid, { name: "enabled", schema: either(truth, oneOf("toggle")), required: true }],
    run(model, params) {
      const addon = find(model, params["addonid"]);
      addon.enabled = params["enabled"] === "toggle" ? addon.enabled === false : params["enabled"] === true;
      return "OK";
    },
  },
  "Addons.ExecuteAddon": {
    params: [
      addonid,
      { name: "params", schema: either(anything, listOf(text), text) },
      { name: "wait", schema: truth },
    ],
    run(model, params) {
      const addon = find(model, params["addonid"]);
      const given = params["params"];
      const said = typeof given === "string" ? given : given === undefined ? "" : JSON.stringify(given);
      if (model.dialog !== null) return "OK";
      model.screensaver = false;
      model.emit({ type: "launch", id: addon.id, params: said, text: `launched "${addon.name}"` });
      model.launched.push({ id: addon.id, params: given ?? null });
      if (addon.content === "executable") return "OK";
      const window =
        addon.content === "audio" ? WINDOWS["music"] : addon.content === "image" ? WINDOWS["pictures"] : VIDEOS;
      go(model, window ?? VIDEOS, `plugin://${addon.id}/`);
      return "OK";
    },
  },
  "Favourites.GetFavourites": {
    params: [
      { name: "type", schema: either(oneOf("media", "window", "script", "androidapp", "unknown")) },
      {
        name: "properties",
        schema: names("Favourite.Fields.Favourite", ["window", "windowparameter", "thumbnail", "path"]),
      },
    ],
    run({ favourites }, { properties }) {
      const found = favourites.map((one) => ({
        ...pick(properties, { ...one, thumbnail: "" }),
        title: one.title,
        type: one.type,
      }));
      return { favourites: found.length === 0 ? null : found, limits: limits(found.length) };
    },
  },
};

/** What has not been installed, or is switched off, is not found. */
function find(model: Model, id: unknown): SimulatedAddon {
  const addon = model.addons.find((one) => one.id === id);
  if (addon === undefined) throw invalidParams();
  return addon;
}

function describe(addon: SimulatedAddon, properties: unknown) {
  const { id, name, version = "1.0.0", content, enabled = true } = addon;
  const type = content === "executable" ? "xbmc.python.script" : "xbmc.python.pluginsource";
  const all = { name, version, enabled, installed: true, author: "zapd", summary: name, broken: false, thumbnail: "" };
  return { addonid: id, ...pick(properties, all), type };
}

export function limits(total: number) {
  return { end: total, start: 0, total };
}
