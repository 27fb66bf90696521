/** The pictures that the web server serves, and screenshots (Kodi 20.1, ran). */
import { picture } from "../bench/documents.ts";
import { decoded } from "../bench/http.ts";
import type { Model, Shot } from "./model.ts";
import { thumbnailOf } from "./playback.ts";

/** A screenshot file appears at once and is written a little later. */
const writeDelayMs = 40;

/** The decoded path in `image://…/`, or empty. The final slash may be missing, the escapes may not. */
function pathOfImage(address: string): string {
  const [, of = ""] = /^image:\/\/([^/]*)\/?$/s.exec(address) ?? [];
  return decoded(of) ?? "";
}

/** The picture of an add-on, a media file, a channel or the screen; null if there is none. */
export function imageAt(model: Model, address: string): Uint8Array | null {
  const wanted = pathOfImage(address);
  const { addons } = model;
  const { media, channels } = model.options;
  const shown = [
    ...[...addons, ...media].map(({ thumbnail = "" }) => pathOfImage(thumbnail)),
    ...media.map(({ poster = "" }) => poster),
    ...channels.flatMap((channel) => (channel.logo === undefined ? [] : pathOfImage(thumbnailOf(channel)))),
  ];
  if (wanted === "") return null;
  return shown.includes(wanted) ? picture(wanted) : isShown(model, wanted) ? bytesAt(model, wanted) : null;
}

/** Whether a path is in a source, which clients may read. */
export function isShown({ screenshots }: Model, path: string): boolean {
  return screenshots !== null && screenshots.isSource !== false && path.startsWith(withSlash(screenshots.folder));
}

/** The bytes of a screenshot; null if there is none. */
export function bytesAt({ shots }: Model, path: string): Uint8Array | null {
  return shots.get(path)?.bytes ?? null;
}

export const withSlash = (folder: string) => (folder.endsWith("/") ? folder : `${folder}/`);

/** Uses the first free file name. */
export function takeScreenshot(model: Model, folder: string): void {
  const { shots } = model;
  let number = 0;
  const path = () => `${withSlash(folder)}screenshot${String(number).padStart(5, "0")}.png`;
  while (shots.has(path())) number += 1;
  const shot: Shot = { bytes: new Uint8Array(), at: new Date() };
  shots.set(path(), shot);
  setTimeout(() => {
    shot.bytes = picture(`${path()} ${model.playing?.title ?? model.window.label}`, 1_280, 720);
  }, writeDelayMs).unref();
}
