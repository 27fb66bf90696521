import { invalidParams, limits, type Methods, method, pick, required } from "../method.ts";
import { isShown, withSlash } from "../pictures.ts";
import { anything, names, oneOf, text } from "../schema.ts";

const FIELDS = ["size", "lastmodified", "mimetype", "file", "title", "thumbnail"];

export const files: Methods = {
  // A folder outside of all sources is refused like a missing one (Kodi 20.1, ran).
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
