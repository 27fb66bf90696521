/**
 * Well-known services by their packages on Android TV, each with the link that opens it: a launch by the package alone
 * goes through the Play store, and fails for many (players.md 4.2).
 */
import type { PlatformApp } from "../platform.ts";
import { type ServiceId, serviceNames } from "../services.ts";

interface AppRow {
  readonly service: ServiceId;
  /** Opens the app. */
  readonly link: string;
  /** Opens one item in the app; `{}` stands for its id. */
  readonly content?: string;
}

const rows: Readonly<Record<string, AppRow>> = {
  "com.netflix.ninja": {
    service: "netflix",
    link: "https://www.netflix.com/title",
    content: "https://www.netflix.com/title/{}",
  },
  "com.google.android.youtube.tv": {
    service: "youtube",
    link: "https://www.youtube.com",
    content: "https://www.youtube.com/watch?v={}",
  },
  "com.google.android.youtube.tvunplugged": {
    service: "youtube-tv",
    link: "https://tv.youtube.com",
  },
  "com.amazon.amazonvideo.livingroom": {
    service: "prime-video",
    link: "https://app.primevideo.com",
    content: "https://app.primevideo.com/detail?gti={}",
  },
  "com.disney.disneyplus": {
    service: "disney-plus",
    link: "https://www.disneyplus.com",
    content: "https://www.disneyplus.com/play/{}",
  },
  "com.apple.atve.androidtv.appletv": { service: "apple-tv", link: "https://tv.apple.com" },
  // On TVs of Sony (python-androidtv).
  "com.apple.atve.sony.appletv": { service: "apple-tv", link: "https://tv.apple.com" },
  "com.hulu.livingroomplus": { service: "hulu", link: "https://www.hulu.com" },
  "com.wbd.stream": { service: "max", link: "https://play.max.com" },
  "com.plexapp.android": { service: "plex", link: "plex://" },
  // Has no link of its own.
  "org.jellyfin.androidtv": { service: "jellyfin", link: "market://launch?id=org.jellyfin.androidtv" },
  "tv.emby.embyatv": { service: "emby", link: "embyatv://tv.emby.embyatv/startapp" },
  "com.spotify.tv.android": { service: "spotify", link: "spotify://" },
  "tv.twitch.android.app": {
    service: "twitch",
    link: "twitch://home",
    content: "twitch://stream/{}",
  },
};

const apps: ReadonlyMap<string, AppRow> = new Map(Object.entries(rows));

export const androidServices: ReadonlyMap<string, ServiceId> = new Map(
  [...apps].map(([id, { service }]) => [id, service]),
);

/** An app; an unknown one is named by its package. */
export function appOf(platformId: string): PlatformApp {
  const id = apps.get(platformId)?.service;
  const name = id === undefined ? platformId : serviceNames[id];
  return { platformId, name, type: "app", version: null, id };
}

/** The link that opens an app, or one item in it; `null` where no such link is known. */
export function linkOf(id: string, content: string | null): string | null {
  if (isLink(id)) return content === null ? id : null;
  const row = apps.get(id);
  if (content !== null && isLink(content)) return content;
  if (content !== null) return row?.content?.replace("{}", encodeURIComponent(content)) ?? null;
  return row?.link ?? `market://launch?id=${id}`;
}

/** The packages that an id may bring to the screen; none where that is not known. */
export function packagesOf(id: string): readonly string[] {
  const site = (link: string) => link.split("/", 3).join("/");
  const opened = isLink(id) ? id : apps.get(id)?.link;
  if (opened === undefined) return [id];
  return [...apps].flatMap(([one, { link }]) => (site(link) === site(opened) ? [one] : []));
}

/** A scheme and `://`, so that no app name is taken for a link. */
function isLink(text: string): boolean {
  return /^[a-z][a-z0-9+.-]{0,31}:\/\/[\x21-\x7e]{0,900}$/i.test(text);
}

/** A link, or a package: that has a dot at least, so that no mistyped name is taken for one. */
export function isAndroidAppId(text: string): boolean {
  return isLink(text) || (text.length <= 128 && /^[a-z][a-z0-9_]*(\.[a-z0-9_]+)+$/i.test(text));
}

/** What is on the screen while no app is: home screens and screen savers (unfoldedcircle/integration-androidtv, apps.py). */
const homes =
  /^(com\.google\.android\.(tvlauncher|leanbacklauncher|backdrop|apps\.tv\.(launcherx|dreamx))|com\.android\.systemui|android)$/;

export function isHome(id: string): boolean {
  return homes.test(id);
}

/** Casts to the TV run in this package; only the Cast side knows which app it is. */
export const shell = "com.google.android.apps.mediashell";
