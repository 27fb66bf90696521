/** Pictures for a real Kodi to find: the icon of an add-on, those beside and in what it plays, folders for its screenshots. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { plugin } from "./profile.ts";

/** Where they are. */
export function shelfIn(folder: string) {
  const media = (name: string) => join(folder, "media", name);
  return {
    /** Of the plug-in. */
    icon: join(folder, ".kodi/addons", plugin, "icon.png"),
    /** In a source: with a poster beside it, with a picture in it, and with neither. */
    film: media("film.mp4"),
    poster: media("film-poster.jpg"),
    song: media("song.mp3"),
    bare: media("bare.mp4"),
    /** Of the first channel. */
    logo: media("logo.png"),
    /** For screenshots: in a source, and in none. */
    shots: join(folder, "shots/"),
    hidden: join(folder, "hidden/"),
  };
}

export function writePictures(folder: string, clip: string, pvr: boolean): void {
  const { icon, film, poster, song, bare, logo, shots, hidden } = shelfIn(folder);
  for (const made of [shots, hidden, join(folder, "media")]) mkdirSync(made);
  draw(icon, "256x256");
  draw(poster, "400x600");
  draw(logo, "120x120");
  for (const copy of [film, bare]) copyFileSync(clip, copy);
  const sound = ["-f", "lavfi", "-i", "sine=440", "-i", poster, "-t", "60", "-map", "0", "-map", "1"];
  const tags = ["-c:a", "libmp3lame", "-c:v", "copy", "-id3v2_version", "3", "-metadata", "title=Zapd Song"];
  ffmpeg([...sound, ...tags, "-disposition:v", "attached_pic", song]);
  change(
    join(folder, ".kodi/addons", plugin, "addon.xml"),
    "<platform>",
    "<assets><icon>icon.png</icon></assets><platform>",
  );
  if (pvr) change(join(folder, "channels.m3u"), 'tvg-id="One"', `tvg-id="One" tvg-logo="${logo}"`);
  const source = (kind: string, path: string) =>
    `<${kind}><source><name>Zapd</name><path pathversion="1">${path}</path></source></${kind}>`;
  const sources = [
    source("video", join(folder, "media/")),
    source("music", join(folder, "media/")),
    source("pictures", shots),
  ];
  writeFileSync(join(folder, ".kodi/userdata/sources.xml"), `<sources>${sources.join("")}</sources>`);
}

function draw(path: string, size: string): void {
  ffmpeg(["-f", "lavfi", "-i", `testsrc=size=${size}`, "-frames:v", "1", path]);
}

function ffmpeg(words: readonly string[]): void {
  execFileSync("ffmpeg", ["-loglevel", "error", "-y", ...words]);
}

function change(path: string, before: string, after: string): void {
  writeFileSync(path, readFileSync(path, "utf8").replace(before, after));
}
