/**
 * Services that everybody knows, by the packages of their apps on Android TV, each with the link that opens it: launching by
 * the package alone goes through the shop, and fails for many (players.md 4.2).
 */
import type { ServiceId } from "../services.ts";

interface AppRow {
  readonly service: ServiceId;
  readonly name: string;
  /** What opens it. */
  readonly link: string;
  /** What opens one thing in it, with its id in the place of `{}`. */
  readonly content?: string;
}

/** Packages, the one that is started first; another of the same service may be on the screen instead. */
const apps: Readonly<Record<string, AppRow>> = {
  "com.netflix.ninja": {
    service: "netflix",
    name: "Netflix",
    link: "https://www.netflix.com/title",
    content: "https://www.netflix.com/title/{}",
  },
  "com.google.android.youtube.tv": {
    service: "youtube",
    name: "YouTube",
    link: "https://www.youtube.com",
    content: "https://www.youtube.com/watch?v={}",
  },
  "com.google.android.youtube.tvunplugged": {
    service: "youtube-tv",
    name: "YouTube TV",
    link: "https://tv.youtube.com",
  },
  "com.amazon.amazonvideo.livingroom": {
    service: "prime-video",
    name: "Prime Video",
    link: "https://app.primevideo.com",
    content: "https://app.primevideo.com/detail?gti={}",
  },
  "com.disney.disneyplus": {
    service: "disney-plus",
    name: "Disney+",
    link: "https://www.disneyplus.com",
    content: "https://www.disneyplus.com/video/{}",
  },
  "com.apple.atve.androidtv.appletv": { service: "apple-tv", name: "Apple TV", link: "https://tv.apple.com" },
  "com.hulu.livingroomplus": { service: "hulu", name: "Hulu", link: "https://www.hulu.com" },
  "com.wbd.stream": { service: "max", name: "Max", link: "https://play.max.com" },
  "com.plexapp.android": { service: "plex", name: "Plex", link: "plex://" },
  "com.spotify.tv.android": { service: "spotify", name: "Spotify", link: "spotify://" },
  "tv.twitch.android.app": {
    service: "twitch",
    name: "Twitch",
    link: "twitch://home",
    content: "twitch://stream/{}",
  },
};

export const androidServices: ReadonlyMap<string, ServiceId> = new Map(
  Object.entries(apps).map(([id, { service }]) => [id, service]),
);

/** The name of an app, and its service; what is not known is called as its package is. */
export function appOf(id: string): { readonly name: string; readonly service: ServiceId | null } {
  const row = rowOf(id);
  return row ? { name: row.name, service: row.service } : { name: id, service: null };
}

/** The link that opens an app, or one thing in it; `null` where no way to that is known. */
export function linkOf(id: string, content: string | null): string | null {
  if (isLink(id)) return content === null ? id : null;
  const row = rowOf(id);
  if (content !== null && isLink(content)) return content;
  if (content !== null) return row?.content?.replace("{}", encodeURIComponent(content)) ?? null;
  return row?.link ?? `market://launch?id=${id}`;
}

/** The packages that may show what an id opens: those of its service; none where that cannot be told. */
export function packagesOf(id: string): readonly string[] {
  const place = (link: string) => link.split("/", 3).join("/");
  const opened = isLink(id) ? Object.keys(apps).find((one) => place(apps[one]?.link ?? "") === place(id)) : id;
  if (opened === undefined) return [];
  const service = rowOf(opened)?.service;
  const same = Object.keys(apps).filter((one) => service !== undefined && apps[one]?.service === service);
  return same.length > 0 ? same : [opened];
}

function rowOf(id: string): AppRow | undefined {
  return Object.hasOwn(apps, id) ? apps[id] : undefined;
}

/** A link names what opens it before `://`, so that no name of an app is one. */
export function isLink(text: string): boolean {
  return /^[a-z][a-z0-9+.-]{0,31}:\/\/[\x21-\x7e]{0,900}$/i.test(text);
}

/** A package has a dot at least: a name that was mistyped is none. */
export function isPackage(text: string): boolean {
  return text.length <= 128 && /^[a-z][a-z0-9_]*(\.[a-z0-9_]+)+$/i.test(text);
}

export function isAndroidAppId(text: string): boolean {
  return isPackage(text) || isLink(text);
}

/** What a TV shows while it shows no app. */
const homes =
  /^(com\.google\.android\.(tvlauncher|leanbacklauncher|apps\.tv\.(launcherx|dreamx))|com\.android\.systemui|android)$/;

export function isHome(id: string): boolean {
  return homes.test(id);
}

/** What is handed to the TV from elsewhere runs in this one; what it is only who hands it over can tell. */
export const shell = "com.google.android.apps.mediashell";
