import { invalidParams, type Method } from "../method.ts";
import { anything, names, whole } from "../schema.ts";
import { pick } from "./application.ts";

const FIELDS = ["url", "cachedurl", "lasthashcheck", "imagehash", "sizes"];

/** The pictures that were shown, and are kept (Kodi 20.1, ran). */
export const textures: Readonly<Record<string, Method>> = {
  "Textures.GetTextures": {
    params: [
      { name: "properties", schema: names("Textures.Fields.Texture", FIELDS) },
      { name: "filter", schema: anything },
    ],
    run: ({ textures }, { properties }) => ({
      textures: textures.map((texture) => ({ ...pick(properties, { ...texture }), textureid: texture.textureid })),
    }),
  },
  "Textures.RemoveTexture": {
    params: [{ name: "textureid", schema: whole(1), required: true }],
    run({ textures }, { textureid }) {
      const at = textures.findIndex((texture) => texture.textureid === textureid);
      if (at === -1) throw invalidParams();
      textures.splice(at, 1);
      return "OK";
    },
  },
};
