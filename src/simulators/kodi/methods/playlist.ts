import { invalidParams, type Methods, method, required } from "../method.ts";
import type { ListItem, Model } from "../model.ts";
import { itemNotified } from "../playback.ts";
import { either, integer, listOf, type Schema, text } from "../schema.ts";

const playlistid = required(integer(0, 2));
const file: Schema = { type: "object", properties: { file: text } };
const item = required(either(file, listOf(file)));

/** The playlists: 0 for audio, 1 for video, 2 for pictures (Kodi 20.1, ran). */
export const playlist: Methods = {
  "Playlist.Add": method({ playlistid, item }, (model, params) => {
    const id = Number(params["playlistid"]);
    const list = model.lists.get(id) ?? [];
    model.lists.set(id, list);
    for (const added of itemsIn(model, params["item"])) {
      list.push(added);
      const position = list.length - 1;
      model.notify("Playlist.OnAdd", { item: itemNotified(added.title, id), playlistid: id, position });
    }
  }),
  "Playlist.Clear": method({ playlistid }, (model, params) => {
    const id = Number(params["playlistid"]);
    model.lists.delete(id);
    model.notify("Playlist.OnClear", { playlistid: id });
  }),
};

/** The items of a call. Each must be a URL or a file that the player has. */
function itemsIn(model: Model, given: unknown): ListItem[] {
  return (Array.isArray(given) ? given : [given]).map((one: { file: string }) => {
    const media = model.options.media.find(({ file }) => file === one.file);
    if (!media && !/^[a-z]+:\/\//.test(one.file)) throw invalidParams();
    return { file: one.file, title: media?.title ?? one.file };
  });
}
