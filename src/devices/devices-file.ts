/** The file `devices.json`. A damaged record in it is set aside, and taken from the backup where that has it. */
import { z } from "zod";
import type { Composition } from "../platforms/platform.ts";
import { readRegularFile } from "../system/files.ts";
import { isObject } from "../system/json.ts";
import { uuid } from "../system/schemas.ts";
import { tryOr } from "../system/try-or.ts";
import { type ChosenDefault, type Content, regroup } from "./groups.ts";
import { type DeviceRecord, recordSchema } from "./record.ts";
import { type StateFile, Store } from "./store.ts";

const maxBytes = 8 * 1024 * 1024;

const chosenSchema: z.ZodType<ChosenDefault> = z.object({ wanted: z.string().min(1).max(4_096), id: uuid });

export interface DevicesFileOptions extends StateFile {
  /** Which platforms one device may speak; without it, only records with a common hardware id are joined. */
  readonly composition?: Composition;
}

export async function openDevicesFile(file: StateFile, composition: Composition): Promise<Store<Content>> {
  const { path, damaged } = file;
  let bad: readonly unknown[] = [];
  let found: ReadonlyMap<unknown, DeviceRecord> = new Map();
  const parse = (content: unknown): Content => {
    const read = readContent(content);
    bad = read.bad;
    found = bad.length > 0 ? fromBackup(path, read) : new Map();
    // Each in its own place: the first record of a device gives the device's id.
    const devices = read.all.flatMap(({ given, record = found.get(given) }) => record ?? []);
    return regroup({ devices, default: read.chosen }, composition);
  };
  const store = await Store.open<Content>({ ...file, parse, backup: true, maxBytes, empty: { devices: [] } });
  if (bad.length > 0) {
    const aside = await store.keepAside().catch(() => null);
    damaged(damageMessage(path, bad, found.size === bad.length, aside));
  }
  return store;
}

/** The records of a file in their order, each id once; a damaged one is only what the file has. Throws where the file holds no devices at all. */
function readContent(content: unknown) {
  const devices = isObject(content) ? content["devices"] : null;
  if (!isObject(content) || !Array.isArray(devices))
    throw new Error("it does not contain devices in the format of zapd");
  const ids = new Set<string>();
  const all = devices.map((given: unknown): { given: unknown; record?: DeviceRecord } => {
    const { data: record } = recordSchema.safeParse(given);
    if (!record || ids.has(record.id)) return { given };
    ids.add(record.id);
    return { given, record };
  });
  const bad = all.flatMap(({ given, record }) => (record ? [] : [given]));
  // With no valid record at all, the backup is worth more.
  if (bad.length > 0 && ids.size === 0) throw new Error("it does not contain devices in the format of zapd");
  const { data: chosen } = chosenSchema.safeParse(content["default"]);
  return { all, ids, bad, chosen };
}

/** The backup's records for those that are damaged. */
function fromBackup(path: string, { ids, bad }: ReturnType<typeof readContent>): ReadonlyMap<unknown, DeviceRecord> {
  const backup = tryOr(() => readContent(JSON.parse(readRegularFile(`${path}.bak`, maxBytes) ?? "")).all, []);
  const found = new Map<unknown, DeviceRecord>();
  for (const one of bad) {
    const { record } = backup.find(({ record }) => record && !ids.has(record.id) && isOf(one, record)) ?? {};
    if (!record) continue;
    ids.add(record.id);
    found.set(one, record);
  }
  return found;
}

/** Whether a damaged record belongs to a device, by what is intact in it. */
function isOf(damaged: unknown, record: DeviceRecord): boolean {
  if (!isObject(damaged)) return false;
  const isSame = (...keys: readonly (keyof DeviceRecord)[]) => keys.every((key) => damaged[key] === record[key]);
  return isSame("id") || isSame("platform", "identity") || isSame("name", "added_at");
}

function damageMessage(path: string, bad: readonly unknown[], isMended: boolean, aside: string | null): string {
  const named = (one: unknown) =>
    isObject(one) && typeof one["name"] === "string" ? one["name"].slice(0, 128) : "one without a name";
  const what = bad.length === 1 ? "a damaged device" : `${bad.length} damaged devices`;
  const kept = aside ? `The file is kept as ${aside}` : "The file could not be moved aside";
  const instead = isMended ? "with what it knew about them before" : "with the others";
  return `${path} contains ${what}: ${bad.slice(0, 8).map(named).join(", ")}. ${kept}; zapd continues ${instead}`;
}
