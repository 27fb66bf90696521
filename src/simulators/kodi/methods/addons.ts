import { words } from "../../bench/set.ts";
import { invalidParams, limits, type Methods, method, pick, required } from "../method.ts";
import type { Model } from "../model.ts";
import type { SimulatedAddon } from "../options.ts";
import { anything, either, flag, listOf, names, oneOf, text } from "../schema.ts";
import { go, VIDEOS, WINDOWS } from "../windows.ts";

const FIELDS = words(`
  name version summary description path author thumbnail disclaimer fanart dependencies broken extrainfo rating
  enabled installed deprecated
`);
const properties = names("Addon.Fields", FIELDS);
const addonid = required(text);
const FAVOURITE = ["window", "windowparameter", "thumbnail", "path"];

export const addons: Methods = {
  "Addons.GetAddons": method(
    {
      type: text,
      content: oneOf("unknown", "video", "audio", "image", "executable", "game"),
      enabled: either(flag, oneOf("all")),
      properties,
      limits: anything,
      installed: either(flag, oneOf("all")),
    },
    (model, { content = "unknown", enabled = "all", properties }) => {
      const found = model.addons
        .filter((addon) => content === "unknown" || addon.content === content)
        .filter((addon) => enabled === "all" || (addon.enabled !== false) === enabled)
        .map((addon) => describe(addon, properties));
      // An empty list is left out (Kodi 20.1, ran).
      return { ...(found.length === 0 ? {} : { addons: found }), limits: limits(found.length) };
    },
  ),
  "Addons.GetAddonDetails": method({ addonid, properties }, (model, params) => ({
    addon: describe(find(model, params["addonid"]), params["properties"]),
  })),
  "Addons.SetAddonEnabled": method(
    { addonid, enabled: required(either(flag, oneOf("toggle"))) },
    (model, { addonid, enabled }) => {
      const addon = find(model, addonid);
      addon.enabled = enabled === "toggle" ? addon.enabled === false : enabled === true;
    },
  ),
  "Addons.ExecuteAddon": method(
    { addonid, params: either(anything, listOf(text), text), wait: flag },
    (model, { addonid }) => {
      const addon = find(model, addonid);
      if (model.dialog !== null) return;
      model.screensaver = false;
      model.emit("launch", `launched "${addon.name}"`);
      if (addon.content === "executable") return;
      const window = { audio: WINDOWS["music"], image: WINDOWS["pictures"], video: VIDEOS }[addon.content];
      go(model, window ?? VIDEOS, `plugin://${addon.id}/`);
    },
  ),
  "Favourites.GetFavourites": method(
    {
      type: either(oneOf("media", "window", "script", "androidapp", "unknown")),
      properties: names("Favourite.Fields.Favourite", FAVOURITE),
    },
    ({ options }, { properties }) => {
      const found = options.favourites.map((one) => ({
        ...pick(properties, { ...one, thumbnail: "" }),
        title: one.title,
        type: one.type,
      }));
      return { favourites: found.length === 0 ? null : found, limits: limits(found.length) };
    },
  ),
};

/** The add-on with an id. Throws if it is not installed. */
function find(model: Model, id: unknown): SimulatedAddon {
  const addon = model.addons.find((one) => one.id === id);
  if (addon === undefined) throw invalidParams();
  return addon;
}

function describe(addon: SimulatedAddon, properties: unknown) {
  const { id, name, version = "1.0.0", content, enabled = true, thumbnail = "" } = addon;
  const type = content === "executable" ? "xbmc.python.script" : "xbmc.python.pluginsource";
  const all = { name, version, enabled, installed: true, author: "zapd", summary: name, broken: false, thumbnail };
  return { addonid: id, ...pick(properties, all), type };
}
