/** Scenes as files: `<name>.toml` in a folder beside the config, read with each call. */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { parse, TomlError } from "smol-toml";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";
import { type Mistake, sceneLimits, sceneName } from "../api/scenes.ts";
import { lineFinder, parseErrorText } from "../config/toml.ts";
import { namesIn, readUtf8 } from "../system/files.ts";
import { nearest } from "../system/nearest.ts";
import { checkAbove, checkOwned, followLinks } from "../system/owners.ts";
import type { SceneSource } from "./check.ts";

const extension = ".toml";
const maxFiles = 500;
/** The deepest nesting of TOML. */
const maxDepth = 64;
/** Unparsable lines that are left out to find further mistakes. */
const maxBrokenLines = 20;

/** The scene of a file. Fails with `scene_not_found`, and with `invalid_scene` where it cannot be read. */
export function readSceneFile(folder: string, name: string): SceneSource {
  if (!sceneName.test(name)) throw notFound(folder, name);
  const path = join(folder, name + extension);
  let text: string | null;
  try {
    // The folder may be a symbolic link, a scene may not: only files of this folder are read.
    const real = join(followLinks(folder).path, name + extension);
    checkAbove(real);
    const stats = lstatSync(real, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink()) throw isLink(path);
    text = readUtf8(real, sceneLimits.fileBytes, (found) => {
      // A runtime without O_NOFOLLOW would follow a link that has replaced the file meanwhile.
      if (found.ino !== stats?.ino || found.dev !== stats.dev) throw isLink(path);
      checkOwned(path, found);
    });
  } catch (cause) {
    if (cause instanceof ZapdError) throw new ZapdError("invalid_scene", cause.message, { hint: cause.hint, cause });
    if (systemCode(cause) === "ENOTDIR") throw notFound(folder, name);
    throw unreadable(path, cause);
  }
  if (text === null) throw notFound(folder, name);
  return readScene(text, name);
}

function isLink(path: string): ZapdError {
  return new ZapdError("invalid_scene", `${path} could not be read (it is a link)`, {
    hint: "Put the file itself there: zapd does not follow links",
  });
}

function unreadable(path: string, cause: unknown): ZapdError {
  const reason = cause instanceof TypeError ? "it is not UTF-8" : systemCode(cause) || textOf(cause);
  const hint = "Correct the file, or its permissions";
  return new ZapdError("invalid_scene", `${path} could not be read (${reason})`, { hint, cause });
}

function notFound(folder: string, name: string): ZapdError {
  const meant = nearest(
    name,
    scenesIn(folder).filter((one) => sceneName.test(one)),
  );
  const listed = `The scenes are listed by zapd scenes; their files are ${join(folder, `NAME${extension}`)}`;
  return new ZapdError("scene_not_found", `There is no scene ${JSON.stringify(name.slice(0, 64))}`, {
    hint: meant ? `Did you mean ${meant}? ${listed}` : listed,
  });
}

/** The names of the files in the folder, without extension, sorted; none where there is no folder. */
export function scenesIn(folder: string): string[] {
  return namesIn(folder)
    .filter((name) => name.endsWith(extension) && !name.startsWith("."))
    .map((name) => name.slice(0, -extension.length))
    .toSorted()
    .slice(0, maxFiles);
}

/**
 * Parses the text of a scene. A line that is not TOML is reported and left out, and the rest is parsed, so that further
 * mistakes are found too.
 */
export function readScene(source: string, name: string | null): SceneSource {
  const lines = source.split("\n");
  const mistakes: Mistake[] = [];
  while (mistakes.length < maxBrokenLines) {
    const text = lines.join("\n");
    try {
      const isBroken = mistakes.length > 0;
      const value = parse(text, { maxDepth });
      if (isDeep(value)) throw new Error(`it is nested deeper than ${maxDepth} levels`);
      return { name, value, lineOf: lineFinder(text), mistakes, isBroken };
    } catch (error) {
      const line = error instanceof TomlError ? error.line : null;
      // The text ends within a bracket: that is found on its last line again and again.
      if (mistakes.some((one) => one.line === line)) break;
      mistakes.push(notToml(line, error));
      if (line === null) break;
      lines[line - 1] = "";
    }
  }
  return { name, value: null, lineOf: () => null, mistakes, isBroken: true };
}

/** The parser counts brackets, but not the levels of dotted keys, and the time to find lines grows with their square. */
function isDeep(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; depth < maxDepth && level.length > 0; depth++)
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  return level.length > 0;
}

function notToml(line: number | null, error: unknown): Mistake {
  const hint =
    "Put a string in quotes, a list in [ ], a table in { } or below its header, and use a key only once in a table";
  return { line, at: "text", message: `is not TOML: ${parseErrorText(error)}`, hint };
}
