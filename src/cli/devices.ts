/** Devices on the command line. */
import type { Device } from "../api/operations.ts";
import type { Config } from "../config/schema.ts";
import { printable } from "../system/log.ts";
import { type Called, call, devicePath } from "./client.ts";
import { paintFor } from "./colour.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./failure.ts";
import { stderr } from "./output.ts";
import { type Cell, table } from "./print.ts";
import { fullTime } from "./words.ts";

export async function devices(context: Context): Promise<void> {
  const { data, text } = await call<Device[]>(context, "GET", "/devices");
  if (context.json) return context.print(text);
  if (data.length === 0)
    return context.say("no device is known yet. Look for some with zapd discover, or add one: zapd add 192.168.1.40");
  context.print(deviceTable(data, context));
}

export async function discover(context: Context): Promise<void> {
  if (stderr().isTTY && !context.json) context.say("looking …");
  const { data, text } = await call<{ devices: Device[] }>(context, "POST", "/devices/discover", {
    quiet: true,
  });
  if (context.json) return context.print(text);
  if (data.devices.length > 0) return context.print(deviceTable(data.devices, context));
  const { data: config } = await call<Config>(context, "GET", "/config");
  const { nothingFound } = await import("./nothing-found.ts");
  context.say(nothingFound(config.discovery.interfaces).join("\n"));
}

export async function device(context: Context): Promise<void> {
  const { data, text } = await call<Device>(context, "GET", devicePath(context.words[0] ?? context.device));
  context.print(context.json ? text : deviceFacts(data));
}

export async function add(context: Context): Promise<void> {
  const [host] = context.words;
  if (host === undefined) throw new UsageError("which address?");
  const { name, platform } = context.options;
  const body = { host, ...(name !== undefined && { name }), ...(platform !== undefined && { platform }) };
  const { data, text } = await call<Device>(context, "POST", "/devices", { body });
  if (context.json) return context.print(text);
  context.say(printable(`added ${[data.name, modelOf(data)].filter(Boolean).join(", ")}`));
}

export async function rename(context: Context): Promise<void> {
  const [from, to] = context.words;
  if (from === undefined || to === undefined)
    throw new UsageError(
      `${from === undefined ? "which device?" : "which new name?"} Names that hold spaces stand in quotes`,
    );
  quiet(context, await call<Device>(context, "PATCH", devicePath(from), { body: { name: to } }));
}

export async function forget(context: Context): Promise<void> {
  const [name] = context.words;
  if (context.options["unused"] !== undefined) return (await import("./forget-unused.ts")).forgetUnused(context);
  if (name === undefined) throw new UsageError("which device?");
  quiet(context, await call<Device>(context, "DELETE", devicePath(name)));
}

export async function defaultDevice(context: Context): Promise<void> {
  const [name] = context.words;
  if (name === undefined) {
    const { data, text } = await call<Device>(context, "GET", devicePath("default"));
    return context.print(context.json ? text : printable(data.name));
  }
  const { data } = await call<Device>(context, "GET", devicePath(name));
  quiet(context, await call(context, "PATCH", "/config", { body: { "daemon.default_device": data.name } }));
}

function quiet(context: Context, called: Called<unknown>): void {
  if (context.json) context.print(called.text);
}

/** A name of 24 characters is whole on any terminal, with the mark of the default device behind it. */
const wholeName = 25;

function deviceTable(all: readonly Device[], context: Context): string {
  const paint = paintFor(context.colour);
  const columns = [
    { title: "NAME", yields: 0, keeps: wholeName },
    { title: "PLATFORM", goes: 2 },
    { title: "MODEL", yields: 1, goes: 3 },
    { title: "POWER" },
    { title: "ADDRESS", goes: 4 },
    { title: "ACCESS", goes: 1 },
  ];
  const powers = { on: paint.good, standby: paint.faint, off: paint.faint, unknown: paint.faint };
  const rows = all.map((one): Cell[] => [
    `${one.name}${one.is_default ? "*" : ""}`,
    one.platform,
    modelOf(one),
    { text: one.power, paint: one.status === "offline" ? paint.bad : powers[one.power] },
    one.host,
    { text: one.access ?? "", paint: one.access === "full" ? (text) => text : paint.warn },
  ]);
  const text = table(columns, rows, context.width);
  return all.some((one) => one.is_default) ? `${text}\n* default` : text;
}

/** The maker and the model, which often begins with the maker. */
export function modelOf({ manufacturer, model }: Device): string {
  const repeated = manufacturer !== null && model?.toLowerCase().startsWith(`${manufacturer.toLowerCase()} `);
  return [repeated ? null : manufacturer, model].filter(Boolean).join(" ");
}

function deviceFacts(one: Device): string {
  const { ports, capabilities, ...facts } = one;
  const rows: readonly (readonly [string, string | null])[] = [
    ["name", one.name],
    ["default", one.is_default ? "yes" : null],
    ["id", facts.id],
    ["platform", facts.platform],
    ["kind", facts.kind],
    ["model", modelOf(one)],
    ["serial", facts.serial],
    ["mac", facts.mac],
    ["software", facts.software_version],
    ["address", `${facts.host.includes(":") ? `[${facts.host}]` : facts.host}:${facts.port}`],
    [
      "ports",
      Object.entries(ports)
        .map((pair) => pair.join(" "))
        .join(", "),
    ],
    ["status", facts.status],
    ["power", facts.power],
    ["access", facts.access],
    ["can", capabilities.join(", ")],
    ["added", fullTime(new Date(facts.added_at))],
    ["last seen", facts.last_seen && fullTime(new Date(facts.last_seen))],
  ];
  const shown = rows.flatMap(([name, value]) => (value ? [[name, value]] : []));
  return table([{ title: "" }, { title: "", yields: 1 }], shown, Number.POSITIVE_INFINITY);
}
