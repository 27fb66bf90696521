/** Media types of video, audio and images by file extension. */

const typesByEnding: Readonly<Record<string, string>> = {
  mp4: "video/mp4",
  m4v: "video/mp4",
  mov: "video/quicktime",
  mkv: "video/x-matroska",
  webm: "video/webm",
  avi: "video/x-msvideo",
  mpg: "video/mpeg",
  mpeg: "video/mpeg",
  ts: "video/mp2t",
  m2ts: "video/mp2t",
  ogv: "video/ogg",
  "3gp": "video/3gpp",
  m3u8: "application/vnd.apple.mpegurl",
  mpd: "application/dash+xml",
  mp3: "audio/mpeg",
  m4a: "audio/mp4",
  flac: "audio/flac",
  ogg: "audio/ogg",
  oga: "audio/ogg",
  opus: "audio/ogg",
  wav: "audio/wav",
  aac: "audio/aac",
  wma: "audio/x-ms-wma",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  png: "image/png",
  webp: "image/webp",
  gif: "image/gif",
  bmp: "image/bmp",
};

/** The media type of a file by its name or path; `null` for an unknown extension. */
export function mediaTypeOf(name: string): string | null {
  const ending = /\.(\w{1,5})$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(typesByEnding, ending) ? (typesByEnding[ending] ?? null) : null;
}
