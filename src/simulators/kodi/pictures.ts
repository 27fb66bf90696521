/** The pictures that the web server gives, and those of the screen (Kodi 20.1, ran). */
import { picture } from "../bench/documents.ts";
import type { Model, Shot } from "./model.ts";
import { thumbnailOf } from "./playback.ts";

/** A picture of the screen is in its folder at once, and written soon after. */
const writtenAfter = 40;

/** What `image://…/` is of, without its escapes; it may lack the slash at its end, but not the escapes. */
function pathOfImage(address: string): string {
  const [, of = null] = /^image:\/\/([^/]*)\/?$/s.exec(address) ?? [];
  return of === null ? "" : decodeURIComponent(of);
}

/** Its bytes, of one that it shows of an add-on, of what it has, of a channel, or of its screen. */
export function imageAt(model: Model, address: string): Uint8Array | null {
  const wanted = pathOfImage(address);
  const { addons, media, channels } = model;
  const shown = [
    ...[...addons, ...media].map(({ thumbnail = "" }) => pathOfImage(thumbnail)),
    ...media.map(({ poster = "" }) => poster),
    ...channels.flatMap((channel) => (channel.logo === undefined ? [] : pathOfImage(thumbnailOf(channel)))),
  ];
  if (wanted === "") return null;
  return shown.includes(wanted) ? picture(wanted) : isShown(model, wanted) ? bytesAt(model, wanted) : null;
}

/** Whether a path is in a source, which is what it shows to others. */
export function isShown({ screenshots }: Model, path: string): boolean {
  return screenshots !== null && screenshots.isSource !== false && path.startsWith(withSlash(screenshots.folder));
}

/** The bytes of a file; null where there is none. */
export function bytesAt({ shots }: Model, path: string): Uint8Array | null {
  return shots.get(path)?.bytes ?? null;
}

export const withSlash = (folder: string) => (folder.endsWith("/") ? folder : `${folder}/`);

/** Takes the first name that is free. */
export function takeScreenshot(model: Model, folder: string): void {
  const { shots } = model;
  let number = 0;
  const path = () => `${withSlash(folder)}screenshot${String(number).padStart(5, "0")}.png`;
  while (shots.has(path())) number += 1;
  const shot: Shot = { bytes: new Uint8Array(), at: new Date() };
  shots.set(path(), shot);
  setTimeout(() => {
    shot.bytes = picture(`${path()} ${model.playing?.title ?? model.window.label}`, 1_280, 720);
  }, writtenAfter).unref();
}
