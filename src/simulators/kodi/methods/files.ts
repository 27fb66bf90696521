import { invalidParams, limits, type Methods, method, pick, RpcError, required } from "../method.ts";
import type { Model } from "../model.ts";
import { escaped } from "../options.ts";
import { bytesAt, imageAt, isShown, withSlash } from "../pictures.ts";
import { anything, names, oneOf, text } from "../schema.ts";

const FIELDS = ["size", "lastmodified", "mimetype", "file", "title", "thumbnail"];

export const files: Methods = {
  // Where the web server has it; whether it gives it there is another matter: see web.ts (Kodi 20.1, ran).
  "Files.PrepareDownload": {
    ...method({ path: required(text) }, (model, { path }) => {
      const wanted = String(path);
      const isPicture = wanted.startsWith("image://");
      const isThere = isPicture ? imageAt(model, wanted) !== null : hasFile(model, wanted);
      if (!isThere) throw new RpcError(-32602, { details: null });
      const details = { path: `${isPicture ? "image" : "vfs"}/${escaped(wanted)}` };
      return { details, mode: "redirect", protocol: "http" };
    }),
    onlyHttp: true,
  },
  // A folder that is no source, and lies in none, is refused as one that is not there (Kodi 20.1, ran).
  "Files.GetDirectory": method(
    {
      directory: required(text),
      media: oneOf("video", "music", "pictures", "files", "programs"),
      properties: names("List.Fields.Files", FIELDS),
      sort: anything,
      limits: anything,
    },
    (model, { directory, properties, limits: wanted }) => {
      const folder = withSlash(String(directory));
      if (!isShown(model, folder)) throw invalidParams();
      const all = [...model.shots].filter(([path]) => path.startsWith(folder));
      const { start = 0, end = all.length } = { ...(wanted as { start?: number; end?: number } | undefined) };
      const found = all.slice(start, end).map(([file, { bytes, at }]) => {
        const lastmodified = at.toISOString().slice(0, 19).replace("T", " ");
        const known = pick(properties, { size: bytes.length, mimetype: "image/png", lastmodified, thumbnail: "" });
        return { ...known, file, filetype: "file", label: file.split("/").at(-1), type: "unknown" };
      });
      return { files: found, limits: { ...limits(all.length), start, end: start + found.length } };
    },
  ),
};

function hasFile(model: Model, path: string): boolean {
  return bytesAt(model, path) !== null || model.media.some(({ file, poster }) => file === path || poster === path);
}
