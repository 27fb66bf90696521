/** Devices on the command line: listed, found, added, joined, renamed and removed. */
import { stateLine } from "../api/client-words.ts";
import type { Device } from "../api/schemas.ts";
import { printable } from "../system/printable.ts";
import { addressText, fullTime, joinWithAnd } from "../system/text.ts";
import { call } from "./client.ts";
import { type Context, stderr } from "./context.ts";
import { UsageError } from "./failure.ts";
import { type Cell, isColoured, listOf, paintFor, table } from "./print.ts";

export async function devices(context: Context): Promise<void> {
  const called = await call(context, "listDevices", {});
  if (context.json || called.data.length > 0) return context.printResult(called, (all) => deviceTable(all, context));
  context.say("no device is known yet. Search with zapd discover, or add one by its address: zapd add 192.168.1.40");
}

export async function discover(context: Context): Promise<void> {
  if (stderr().isTTY && !context.json) context.say("looking …");
  const called = await call(context, "discoverDevices", {}, { quiet: true });
  if (context.json || called.data.devices.length > 0)
    return context.printResult(called, (found) => deviceTable(found.devices, context));
  // Where the file is broken, the daemon has searched with the settings that it had.
  const interfaces = await call(context, "readConfig", {}).then(
    ({ data }) => data.discovery.interfaces,
    () => [],
  );
  const { nothingFoundLines } = await import("../doctor/nothing-found.ts");
  context.say(nothingFoundLines(interfaces).join("\n"));
}

export async function device(context: Context): Promise<void> {
  context.printResult(await call(context, "getDevice", { id: context.words[0] ?? context.device }), deviceFacts);
}

export async function state(context: Context): Promise<void> {
  context.printResult(await call(context, "getState", { id: context.words[0] ?? context.device }), stateLine);
}

export async function add(context: Context): Promise<void> {
  const [host] = context.words;
  if (host === undefined) throw new UsageError("which address?");
  const body = { host, name: context.option("name"), platform: context.option("platform") };
  const called = await call(context, "addDevice", { body });
  context.reportDone(called, `added ${[called.data.name, modelOf(called.data)].filter(Boolean).join(", ")}`);
}

export async function rename(context: Context): Promise<void> {
  const [id, name] = context.words;
  if (id === undefined || name === undefined)
    throw new UsageError(`${id === undefined ? "which device?" : "which new name?"} Put names with spaces in quotes`);
  context.reportDone(await call(context, "changeDevice", { id, body: { name } }));
}

export async function forget(context: Context): Promise<void> {
  const [id] = context.words;
  if (!context.flag("unused")) return context.reportDone(await call(context, "removeDevice", { id: requiredName(id) }));
  if (id !== undefined) throw new UsageError("give a name or --unused, not both");
  const called = await call(context, "removeUnusedDevices", { query: { unused: "true" } });
  const names = called.data.devices.map(({ name }) => name);
  context.reportDone(called, names.length === 0 ? "every device has been used" : `removed ${names.join(", ")}`);
}

function requiredName(id: string | undefined): string {
  if (id === undefined) throw new UsageError("which device?");
  return id;
}

export async function defaultDevice(context: Context): Promise<void> {
  const [id = "default"] = context.words;
  const called = await call(context, "getDevice", { id });
  if (context.words.length === 0) return context.printResult(called, ({ name }) => printable(name));
  context.reportDone(await call(context, "patchConfig", { body: { "daemon.default_device": called.data.name } }));
}

/** Confirms that what answers at the new address of a device is that device. */
export async function trust(context: Context): Promise<void> {
  const called = await call(context, "trustDevice", { id: requiredName(context.words[0]) });
  const { host, port, name } = called.data;
  context.reportDone(called, `the device at ${addressText({ host, port })} is ${name}`);
}

/** Makes two devices one. */
export async function join(context: Context): Promise<void> {
  const [id, other] = context.words;
  if (other === undefined) throw new UsageError(id === undefined ? "which devices?" : "with which other device?");
  const called = await call(context, "joinDevice", { id: requiredName(id), body: { with: other } });
  const { name, platforms } = called.data;
  context.reportDone(called, `zapd reaches ${name} over ${joinWithAnd(platforms)}`);
}

/** Makes a platform of a device a device of its own. */
export async function split(context: Context): Promise<void> {
  const [id, platform] = context.words;
  if (platform === undefined) throw new UsageError(id === undefined ? "which device?" : "which of its platforms?");
  const called = await call(context, "splitDevice", { id: requiredName(id), body: { platform } });
  const { name, platforms } = called.data;
  context.reportDone(
    called,
    `zapd reaches ${name} over ${joinWithAnd(platforms)}; its ${platform} is now a separate device`,
  );
}

/** 24 characters of a name, and the mark of the default device, fit on any terminal. */
const uncutNameWidth = 25;

function deviceTable(all: readonly Device[], context: Context): string {
  const paint = paintFor(isColoured(context));
  const columns = [
    { title: "NAME", shrinkOrder: 0, keptWidth: uncutNameWidth },
    { title: "PLATFORM", dropOrder: 2 },
    { title: "MODEL", shrinkOrder: 1, dropOrder: 3 },
    { title: "POWER" },
    { title: "ADDRESS", dropOrder: 4 },
    { title: "ACCESS", dropOrder: 1 },
  ];
  const powers = { on: paint.good, standby: paint.faint, off: paint.faint, unknown: paint.faint };
  const rows = all.map((one): Cell[] => [
    `${one.name}${one.is_default ? "*" : ""}`,
    one.platforms.join("+"),
    modelOf(one),
    { text: one.power, paint: one.status === "offline" ? paint.bad : powers[one.power] },
    one.host,
    { text: one.access ?? "", paint: one.access === "full" ? (text) => text : paint.warn },
  ]);
  const text = table(columns, rows, context.width);
  return all.some((one) => one.is_default) ? `${text}\n* default` : text;
}

/** The manufacturer and the model; the manufacturer is left out where the model begins with it. */
export function modelOf({ manufacturer, model }: Device): string {
  const repeated = manufacturer !== null && model?.toLowerCase().startsWith(manufacturer.toLowerCase());
  return [repeated ? null : manufacturer, model].filter(Boolean).join(" ");
}

function deviceFacts(one: Device): string {
  const rows: readonly (readonly [name: string, value: string | null])[] = [
    ["name", one.name],
    ["default", one.is_default ? "yes" : null],
    ["id", one.id],
    ["platform", one.platforms.join(", ")],
    ["kind", one.kind],
    ["model", modelOf(one)],
    ["serial", one.serial],
    ["mac", one.mac],
    ["software", one.software_version],
    ["address", addressText(one)],
    [
      "ports",
      Object.entries(one.ports)
        .map((pair) => pair.join(" "))
        .join(", "),
    ],
    ["status", one.status],
    ["power", one.power],
    ["access", one.access],
    ["can", one.capabilities.join(", ")],
    ...withheldRows(one),
    ["leased to", one.lease && `${one.lease.owner}, until ${fullTime(new Date(one.lease.until))}`],
    ["labels", one.labels?.join(", ") ?? null],
    ["added", fullTime(new Date(one.added_at))],
    ["last seen", one.last_seen && fullTime(new Date(one.last_seen))],
  ];
  return listOf(rows.flatMap(([name, value]) => (value ? [[name, value]] : [])));
}

/** The capabilities that the device withholds, one row for each hint. */
function withheldRows({ withheld }: Device): (readonly [name: string, value: string])[] {
  return [...new Set(withheld.map(({ hint }) => hint))].map((hint) => {
    const capabilities = withheld.filter((one) => one.hint === hint).map(({ capability }) => capability);
    return ["withheld", `${capabilities.join(", ")}${hint === null ? "" : ` (${hint})`}`];
  });
}
