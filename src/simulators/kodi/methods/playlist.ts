import { invalidParams, type Method } from "../method.ts";
import type { ListItem, Model } from "../model.ts";
import { itemNotified } from "../playback.ts";
import { anything, either, listOf, names, type Schema, text, whole } from "../schema.ts";
import { limits } from "./addons.ts";
import { pick } from "./application.ts";
import { itemNames } from "./player.ts";

const playlistid = { name: "playlistid", schema: whole(0, 2), required: true };
const at = (name: string) => ({ name, schema: whole(0), required: true });
const file: Schema = { type: "object", properties: { file: text } };
const item = { name: "item", schema: either(file, listOf(file)), required: true };
const TYPES = ["audio", "video", "picture"];

/** The lists of what is to play: 0 for sound, 1 for video, 2 for pictures (Kodi 20.1, ran). */
export const playlist: Readonly<Record<string, Method>> = {
  "Playlist.GetPlaylists": { run: () => TYPES.map((type, playlistid) => ({ playlistid, type })) },
  "Playlist.GetProperties": {
    params: [
      playlistid,
      { name: "properties", schema: names("Playlist.Property.Name", ["type", "size"]), required: true },
    ],
    run: (model, params) =>
      pick(params["properties"], { type: TYPES[idOf(params)], size: listOfId(model, idOf(params)).length }),
  },
  "Playlist.GetItems": {
    params: [
      playlistid,
      { name: "properties", schema: itemNames },
      { name: "limits", schema: anything },
      { name: "sort", schema: anything },
    ],
    run(model, params) {
      const items = listOfId(model, idOf(params)).map(({ label, file }) => ({
        ...pick(params["properties"], { title: "", file }),
        ...{ label, type: "unknown" },
      }));
      return { items, limits: limits(items.length) };
    },
  },
  "Playlist.Add": {
    params: [playlistid, item],
    run(model, params) {
      const id = idOf(params);
      add(model, id, itemsIn(model, params["item"]), listOfId(model, id).length);
      return "OK";
    },
  },
  "Playlist.Insert": {
    params: [playlistid, at("position"), item],
    run(model, params) {
      const id = idOf(params);
      const items = itemsIn(model, params["item"]);
      // Behind the end is at the end (Kodi 20.1, ran).
      add(model, id, items, Math.min(Number(params["position"]), listOfId(model, id).length));
      return "OK";
    },
  },
  "Playlist.Swap": {
    params: [playlistid, at("position1"), at("position2")],
    run(model, params) {
      const items = listOfId(model, idOf(params));
      const [one, other] = [Number(params["position1"]), Number(params["position2"])];
      const [first, second] = [items[one], items[other]];
      // What is not there is no failure (Kodi 20.1, ran).
      if (first && second) [items[one], items[other]] = [second, first];
      return "OK";
    },
  },
  "Playlist.Remove": {
    params: [playlistid, at("position")],
    run(model, params) {
      const id = idOf(params);
      const items = listOfId(model, id);
      const position = Number(params["position"]);
      const { playing } = model;
      // What plays stays (Kodi 20.1, ran).
      if (playing && playing.player === id && items[position]?.file === playing.file) throw invalidParams();
      if (items.splice(position, 1).length > 0) model.notify("Playlist.OnRemove", { playlistid: id, position });
      return "OK";
    },
  },
  "Playlist.Clear": {
    params: [playlistid],
    run(model, params) {
      model.lists.delete(idOf(params));
      model.notify("Playlist.OnClear", { playlistid: idOf(params) });
      return "OK";
    },
  },
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
