/** The apps of each device, kept in `apps.json`: their ids, merging lists, and finding the app that is meant. */
import { z } from "zod";
import { ZapdError } from "../api/errors.ts";
import type { App } from "../api/schemas.ts";
import { appTypes, type Platform, type PlatformApp } from "../platforms/platform.ts";
import { serviceNames } from "../platforms/services.ts";
import { caseFolded, nearest } from "../system/nearest.ts";
import { parserFor, type StateFile, Store } from "./store.ts";

/** More than any device has: a longer list is refused rather than cut. */
const maxApps = 5_000;
/** Characters; a longer text could not be read from the file again, and would lose the whole catalog. */
const longest = { id: 128, text: 256 } as const;

const appSchema: z.ZodType<App> = z.looseObject({
  id: z.string().min(1).max(longest.id),
  name: z.string().max(longest.text),
  platform_id: z.string().min(1).max(longest.id),
  type: z.enum(appTypes),
  version: z.string().max(longest.text).nullable(),
  installed: z.boolean(),
});

const catalogsSchema = z.object({
  catalogs: z.record(z.string(), z.looseObject({ platform: z.string().max(64), apps: z.array(appSchema) })),
});

type Catalogs = z.infer<typeof catalogsSchema>;

export interface Refreshed {
  readonly apps: App[];
  readonly added: string[];
  readonly removed: string[];
}

export type AppChanges = Pick<Refreshed, "added" | "removed">;

export class Catalog {
  readonly #store: Store<Catalogs>;

  private constructor(store: Store<Catalogs>) {
    this.#store = store;
  }

  static async open(file: StateFile): Promise<Catalog> {
    const parse = parserFor(catalogsSchema, "catalogs");
    return new Catalog(await Store.open({ ...file, parse, maxBytes: 32 * 1024 * 1024, empty: { catalogs: {} } }));
  }

  /** The cached apps of a device; `null` where none were listed yet. */
  apps(deviceId: string): App[] | null {
    return this.#store.value.catalogs[deviceId]?.apps ?? null;
  }

  /**
   * Merges a device's list; `clear` first drops the cache of its whole platform. On disk when it returns. `changes`: what is new
   * since the device's last list, even if that was dropped; `null` where there was none.
   */
  refresh(
    deviceId: string,
    platform: string,
    listed: readonly PlatformApp[],
    clear = false,
  ): Promise<Refreshed & { readonly changes: AppChanges | null }> {
    if (listed.length > maxApps) {
      const problem = `lists ${listed.length} apps; zapd keeps at most ${maxApps}, so its list was not updated`;
      return Promise.reject(new ZapdError("device_error", problem));
    }
    return this.#store.update(({ catalogs }) => {
      const kept = clear
        ? Object.fromEntries(Object.entries(catalogs).filter(([, one]) => one.platform !== platform))
        : catalogs;
      const before = kept[deviceId]?.apps ?? [];
      const apps = mergeApps(before, listed);
      const since = (list: readonly App[]) => {
        return { added: installedOnlyIn(apps, list), removed: installedOnlyIn(list, apps) };
      };
      const last = catalogs[deviceId]?.apps;
      const result = { apps, ...since(before), changes: last ? since(last) : null };
      return { next: { catalogs: { ...kept, [deviceId]: { platform, apps } } }, result };
    });
  }

  async forget(deviceId: string): Promise<void> {
    await this.#store.update((content) => {
      if (!Object.hasOwn(content.catalogs, deviceId)) return { next: content, result: undefined };
      const { [deviceId]: _removed, ...catalogs } = content.catalogs;
      return { next: { catalogs }, result: undefined };
    });
  }

  settled(): Promise<void> {
    return this.#store.settled();
  }
}

function installedOnlyIn(apps: readonly App[], others: readonly App[]): string[] {
  const known = new Set(others.filter((app) => app.installed).map((app) => app.platform_id));
  return apps.filter((app) => app.installed && !known.has(app.platform_id)).map((app) => app.id);
}

/** Merges a device's list with the cached one: apps keep their ids, and those no longer listed stay as not installed. */
export function mergeApps(before: readonly App[], listed: readonly PlatformApp[]): App[] {
  const idsBefore = new Map(before.map((app) => [app.platform_id, app.id]));
  const seen = new Set<string>();
  const fits = ({ platformId }: PlatformApp) => platformId !== "" && platformId.length <= longest.id;
  const unique = listed.filter((app) => fits(app) && !seen.has(app.platformId) && seen.add(app.platformId));
  // Limited, or a device that lists new ids each time would fill the file.
  const unlisted = before.filter((app) => !seen.has(app.platform_id)).slice(0, maxApps);
  const taken = new Set(before.map((app) => app.id));
  // Of several apps with one name, no new one gets the plain id, so that the name is ambiguous rather than a guess. An id given
  // by the platform belongs to its app alone.
  const given = new Set(unique.map((app) => app.id));
  const wanted = unique.map(plainId);
  const contested = new Set(wanted.filter((id, at) => wanted.indexOf(id) !== at || given.has(id)));
  const apps = unique.map((app) => {
    const id = idsBefore.get(app.platformId) ?? freeId(app, (one) => taken.has(one) || (!app.id && contested.has(one)));
    taken.add(id);
    return { ...toApp(app, id), installed: true };
  });
  return [...apps, ...unlisted.map((app) => ({ ...app, installed: false }))];
}

/** An app as the API shows it, with its id in the catalog, or the one that it would get. */
export function describeApp(app: PlatformApp, catalog: readonly App[] | null): App {
  const cached = catalog?.find((one) => one.platform_id === app.platformId);
  return { ...toApp(app, cached?.id ?? plainId(app)), installed: true };
}

function toApp(app: PlatformApp, id: string): Omit<App, "installed"> {
  const version = app.version?.slice(0, longest.text) ?? null;
  return { id, name: app.name.slice(0, longest.text), platform_id: app.platformId, type: app.type, version };
}

function freeId(app: PlatformApp, isTaken: (id: string) => boolean): string {
  const id = plainId(app);
  if (!isTaken(id)) return id;
  const own = `${id}-${slugOf(app.platformId)}`.slice(0, longest.id - 8);
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? own : `${own}-${number}`;
    if (!isTaken(candidate)) return candidate;
  }
}

/** `Prime Video` → `prime-video`, `discovery+` → `discovery-plus`; a name without Latin letters falls back to the platform's id. */
function plainId(app: PlatformApp): string {
  return app.id || slugOf(app.name) || `app-${slugOf(app.platformId)}`;
}

/** Latin letters that Unicode does not decompose into plain ones. */
const plainLetters: Readonly<Record<string, string>> = {
  œ: "oe",
  æ: "ae",
  ø: "o",
  ß: "ss",
  ł: "l",
  đ: "d",
  ð: "d",
  þ: "th",
  ı: "i",
};

function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[™®©'’]/g, "")
    .normalize("NFKD")
    .replace(/[œæøßłđðþı]/g, (letter) => plainLetters[letter] ?? "")
    .replace(/[\u0300-\u036f]/g, "")
    .replaceAll("+", " plus ")
    .replaceAll("&", " and ")
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 64)
    .replace(/^-+|-+$/g, "");
}

/**
 * Finds an app by platform id, then by id, then by name: exact, without case, with `&` and `+` as words, and last without
 * punctuation, each only where the one before finds nothing. A text in the form of the platform's ids is an app even where
 * the catalog lacks it. `null` where there is none.
 */
export function findApp(
  wanted: string,
  apps: readonly App[],
  platform: Pick<Platform, "isAppId" | "services">,
): App | null {
  const text = wanted.trim();
  const found = findMeant(text, apps, platform);
  if (!found || found.installed || found.platform_id === text) return found;
  // A service may be another app of the device by now, and its id is still that of the former one.
  const service = platform.services?.get(found.platform_id);
  const isService = (app: App) => app.installed && platform.services?.get(app.platform_id) === service;
  return (service && apps.find(isService)) ?? found;
}

function findMeant(text: string, apps: readonly App[], platform: Pick<Platform, "isAppId">): App | null {
  const byId = apps.find((app) => app.platform_id === text) ?? apps.find((app) => app.id === text);
  if (byId) return byId;
  const installedFirst = (found: App[]) =>
    found.some((app) => app.installed) ? found.filter((app) => app.installed) : found;
  const isAlmost = (app: App) => lettersOnly(app.name) === lettersOnly(text);
  for (const isMeant of [...waysToMean(text), isAlmost]) {
    const found = installedFirst(apps.filter(isMeant));
    if (found.length > 1) throw ambiguousError(text, found);
    if (found[0]) return found[0];
  }
  if (!platform.isAppId(text)) return null;
  return { id: text.toLowerCase(), name: text, platform_id: text, type: "app", version: null, installed: false };
}

/** The ways in which a text means an app by its name, the exact one first. */
function waysToMean(text: string): ((app: App) => boolean)[] {
  return [
    ({ name }) => name === text,
    ({ id, name }) => caseFolded(name) === caseFolded(text) || id === text.toLowerCase(),
    ({ name }) => lettersOnly(withWordsForSigns(name)) === lettersOnly(withWordsForSigns(text)),
  ];
}

/** Whether a text means this app, as in `findApp`; but `AMC`, which may be another app of the device, does not mean AMC+. */
export function isApp(app: App, wanted: string): boolean {
  const text = wanted.trim();
  return app.platform_id === text || waysToMean(text).some((isMeant) => isMeant(app));
}

/** Finds a well-known service, for a device that does not list its apps; `null` where there is none. */
export function findService(wanted: string, platform: Pick<Platform, "isAppId" | "services">): App | null {
  const services = [...(platform.services ?? [])];
  // By name a service is one app, whichever of its ids a device has: the platform knows the others.
  const meant = services.filter(
    ([platformId, id], at) => platformId === wanted.trim() || services.findIndex(([, other]) => other === id) === at,
  );
  const apps = meant.map(([platform_id, id]): App => {
    return { id, name: serviceNames[id], platform_id, type: "app", version: null, installed: true };
  });
  return findApp(wanted, apps, platform);
}

export function appNotFound(wanted: string, apps: readonly App[]): ZapdError {
  const meant = nearest(
    wanted,
    apps.flatMap((app) => [app.name, app.id]),
  );
  return new ZapdError("app_not_found", `has no app called ${JSON.stringify(wanted.slice(0, 128))}`, {
    hint: meant ? `Did you mean ${meant}?` : "See its apps with zapd apps -d {device}",
  });
}

/** The same, for a device that does not list its apps: with what can be launched by name. */
export function serviceNotFound(wanted: string, { services }: Pick<Platform, "services">): ZapdError {
  const names = [...new Set(services?.values())];
  const meant = nearest(wanted, names);
  const known = names.length > 0 ? `, or one of: ${names.join(", ")}` : "";
  return new ZapdError(
    "app_not_found",
    `does not list its apps, and zapd knows no app called ${JSON.stringify(wanted.slice(0, 128))}`,
    { hint: `${meant ? `Did you mean ${meant}? ` : ""}Use the device's own id of the app${known}` },
  );
}

function ambiguousError(wanted: string, found: readonly App[]): ZapdError {
  return new ZapdError("ambiguous_app", `${JSON.stringify(wanted)} matches ${found.length} apps`, {
    hint: `Use the id of one: ${found.map((app) => `${app.id} ("${app.name}", ${app.platform_id})`).join(", ")}`,
  });
}

/** `Tom & Jerry` → `Tom and Jerry`, `AMC+` and `ＡＭＣ＋` → `AMC plus`. */
function withWordsForSigns(text: string): string {
  return text.normalize("NFKC").replaceAll("&", " and ").replaceAll("+", " plus ");
}

function lettersOnly(text: string): string {
  const letters = text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "");
  return letters === "" ? text.trim().toLowerCase() : letters;
}
