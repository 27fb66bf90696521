import { invalidParams, limits, type Methods, method, pick, required } from "../method.ts";
import type { ListItem, Model } from "../model.ts";
import { itemNotified } from "../playback.ts";
import { anything, either, listOf, names, type Schema, text, whole } from "../schema.ts";
import { itemNames } from "./player.ts";

const playlistid = required(whole(0, 2));
const at = required(whole(0));
const file: Schema = { type: "object", properties: { file: text } };
const item = required(either(file, listOf(file)));
const TYPES = ["audio", "video", "picture"];

/** The lists of what is to play: 0 for sound, 1 for video, 2 for pictures (Kodi 20.1, ran). */
export const playlist: Methods = {
  "Playlist.GetPlaylists": method({}, () => TYPES.map((type, playlistid) => ({ playlistid, type }))),
  "Playlist.GetProperties": method(
    { playlistid, properties: required(names("Playlist.Property.Name", ["type", "size"])) },
    (model, params) =>
      pick(params["properties"], { type: TYPES[idOf(params)], size: listOfId(model, idOf(params)).length }),
  ),
  "Playlist.GetItems": method(
    { playlistid, properties: itemNames, limits: anything, sort: anything },
    (model, params) => {
      const items = listOfId(model, idOf(params)).map(({ label, file }) => ({
        ...pick(params["properties"], { title: "", file }),
        label,
        type: "unknown",
      }));
      return { items, limits: limits(items.length) };
    },
  ),
  "Playlist.Add": method({ playlistid, item }, (model, params) => {
    const id = idOf(params);
    add(model, id, itemsIn(model, params["item"]), listOfId(model, id).length);
  }),
  "Playlist.Insert": method({ playlistid, position: at, item }, (model, params) => {
    const id = idOf(params);
    const items = itemsIn(model, params["item"]);
    // Behind the end is at the end (Kodi 20.1, ran).
    add(model, id, items, Math.min(Number(params["position"]), listOfId(model, id).length));
  }),
  "Playlist.Swap": method({ playlistid, position1: at, position2: at }, (model, params) => {
    const items = listOfId(model, idOf(params));
    const [one, other] = [Number(params["position1"]), Number(params["position2"])];
    const [first, second] = [items[one], items[other]];
    // What is not there is no failure (Kodi 20.1, ran).
    if (first && second) [items[one], items[other]] = [second, first];
  }),
  "Playlist.Remove": method({ playlistid, position: at }, (model, params) => {
    const id = idOf(params);
    const items = listOfId(model, id);
    const position = Number(params["position"]);
    const { playing } = model;
    // What plays stays (Kodi 20.1, ran).
    if (playing && playing.player === id && items[position]?.file === playing.file) throw invalidParams();
    if (items.splice(position, 1).length > 0) model.notify("Playlist.OnRemove", { playlistid: id, position });
  }),
  "Playlist.Clear": method({ playlistid }, (model, params) => {
    model.lists.delete(idOf(params));
    model.notify("Playlist.OnClear", { playlistid: idOf(params) });
  }),
};

const idOf = (params: Readonly<Record<string, unknown>>) => Number(params["playlistid"]);

function listOfId(model: Model, id: number): ListItem[] {
  const known = model.lists.get(id);
  if (known) return known;
  const made: ListItem[] = [];
  model.lists.set(id, made);
  return made;
}

/** Each must be a file that is there. */
function itemsIn(model: Model, given: unknown): ListItem[] {
  return (Array.isArray(given) ? given : [given]).map((one: { file: string }) => {
    const media = model.media.find(({ file }) => file === one.file);
    if (!media && !/^[a-z]+:\/\//.test(one.file)) throw invalidParams();
    return { file: one.file, label: one.file.split("/").at(-1) ?? one.file, title: media?.title ?? one.file };
  });
}

function add(model: Model, playlistid: number, items: readonly ListItem[], position: number): void {
  listOfId(model, playlistid).splice(position, 0, ...items);
  for (const [offset, { title }] of items.entries())
    model.notify("Playlist.OnAdd", { item: itemNotified(title, playlistid), playlistid, position: position + offset });
}
