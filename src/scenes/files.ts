/** Scenes as files: `<name>.toml` in a folder beside the config, read whenever one is asked for. */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parse, TomlError } from "smol-toml";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";
import { type Mistake, sceneLimits, sceneName } from "../api/scenes.ts";
import { lineFinder, parseErrorText } from "../config/toml.ts";
import { readUtf8 } from "../system/files.ts";
import { nearest } from "../system/nearest.ts";
import { checkAbove, checkOwned, followLinks } from "../system/owners.ts";
import type { Written } from "./check.ts";

const ending = ".toml";
/** Files that are read at most. */
const mostFiles = 500;
/** How deep steps may be nested. */
const maxDepth = 64;
/** Lines that are no TOML that are left out, to see what else is wrong. */
const mostBroken = 20;

/** The scene of a file. Fails with `scene_not_found`, and with `invalid_scene` where it cannot be read. */
export function readSceneFile(folder: string, name: string): Written {
  if (!sceneName.test(name)) throw notFound(folder, name);
  const path = join(folder, name + ending);
  let text: string | null;
  try {
    // The folder may be a link of ours, a scene may not: only files of this folder are read.
    const real = join(followLinks(folder).path, name + ending);
    checkAbove(real);
    const seen = lstatSync(real, { throwIfNoEntry: false });
    if (seen?.isSymbolicLink()) throw linked(path);
    text = readUtf8(real, sceneLimits.fileBytes, (found) => {
      // Where a runtime cannot be told to follow no link, one may have taken the file's place meanwhile.
      if (found.ino !== seen?.ino || found.dev !== seen.dev) throw linked(path);
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

function linked(path: string): ZapdError {
  return new ZapdError("invalid_scene", `${path} could not be read (it is a link)`, {
    hint: "Put the file itself there: links are not followed",
  });
}

function unreadable(path: string, cause: unknown): ZapdError {
  const reason = cause instanceof TypeError ? "it is not UTF-8" : systemCode(cause) || textOf(cause);
  const hint = "Mend the file, or who may read it";
  return new ZapdError("invalid_scene", `${path} could not be read (${reason})`, { hint, cause });
}

function notFound(folder: string, name: string): ZapdError {
  const meant = nearest(
    name,
    namesIn(folder).filter((one) => sceneName.test(one)),
  );
  const listed = `The scenes are listed by zapd scenes; their files are ${join(folder, `NAME${ending}`)}`;
  return new ZapdError("scene_not_found", `There is no scene ${JSON.stringify(name.slice(0, 64))}`, {
    hint: meant ? `Did you mean ${meant}? ${listed}` : listed,
  });
}

/** The names of the files in the folder, without their ending, sorted; none where there is no folder. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(ending) && !name.startsWith("."))
      .map((name) => name.slice(0, -ending.length))
      .toSorted()
      .slice(0, mostFiles);
  } catch {
    return [];
  }
}

/**
 * Reads the text of a scene. What is no TOML is told line by line: each such line is left out, and the rest is read, so that
 * what else is wrong is told as well.
 */
export function readScene(given: string, name: string | null): Written {
  const lines = given.replace(/^\ufeff/, "").split("\n");
  const mistakes: Mistake[] = [];
  while (mistakes.length < mostBroken) {
    const text = lines.join("\n");
    try {
      const isBroken = mistakes.length > 0;
      return { name, value: parse(text, { maxDepth }), lineOf: lineFinder(text), mistakes, isBroken };
    } catch (error) {
      const place = error instanceof TomlError ? error : null;
      const line = place?.line ?? null;
      mistakes.push(noToml(line, error));
      if (line === null || (lines[line - 1] ?? "").trim() === "") break;
      lines[line - 1] = "";
    }
  }
  return { name, value: null, lineOf: () => null, mistakes, isBroken: true };
}

function noToml(line: number | null, error: unknown): Mistake {
  const hint = "A text stands in quotes, a list in [ ], a table in { } or below its head, and a key once in its table";
  return { line, at: "text", message: `is not TOML: ${parseErrorText(error)}`, hint };
}
