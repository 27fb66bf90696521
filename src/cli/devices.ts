/** Devices on the command line. */

import { networkInterfaces } from "node:os";
import type { Device } from "../api/operations.ts";
import type { Config } from "../config/schema.ts";
import { printable } from "../system/log.ts";
import { ask, type Called, call, devicePath } from "./client.ts";
import { readUnseen } from "./config.ts";
import { type Context, paintFor, stderr } from "./context.ts";
import { CommandError, UsageError } from "./failure.ts";
import { type Cell, fullTime, listed, shellWord, table } from "./print.ts";

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
  if (context.options["unused"] !== undefined) return forgetUnused(context);
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

/** The lines of that screen: where was asked (`discovery.interfaces`, or all), what is usually in the way, what always works. */
export function nothingFound(wanted: readonly string[]): string[] {
  const asked = wanted.length > 0 ? wanted : interfaces();
  return [
    `nothing was found; asked on ${asked.join(", ") || "no interface, as this machine is on no network"}.`,
    "Usually in the way: a guest Wi-Fi, a VPN, a firewall (answers come from UDP port 1900), another VLAN.",
    "What always works is the address of the set, as its network settings show it: zapd add 192.168.1.40",
  ];
}

function interfaces(): string[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    (addresses ?? [])
      .filter(({ family, internal }) => family === "IPv4" && !internal)
      .map(({ address }) => `${name} (${address})`),
  );
}

async function forgetUnused(context: Context): Promise<void> {
  if (context.words.length > 0) throw new UsageError("give a name or --unused, not both");
  const { data, text } = await call<{ devices: Device[] }>(context, "DELETE", "/devices?unused=true");
  if (context.json) return context.print(text);
  const names = data.devices.map(({ name }) => name);
  context.say(printable(names.length === 0 ? "every device has been used" : `removed ${names.join(", ")}`));
}

const within = 2_000;
/** A house has no more; a lab has its own list. */
const mostNames = 12;

/** The same failure with what can be typed instead; as it was, where no device is known. `given` are the words of the command. */
export async function withNames(
  failure: CommandError,
  context: Context,
  given: readonly string[],
): Promise<CommandError> {
  const asked = await ask<Device[]>(context, "GET", "/devices", { within });
  if (!asked.ok || asked.data.length === 0) return failure;
  const names = asked.data.map(({ name }) => name);
  const shown = names.length > mostNames ? [...names.slice(0, mostNames), `${names.length - mostNames} more`] : names;
  const example = shellWord((asked.data.find(({ access }) => access === "full") ?? asked.data[0])?.name ?? "NAME");
  const once = given.includes("default") ? "" : `This once: ${withDevice(given, example)}. `;
  const { message, code, response } = failure;
  const hint = `Known: ${listed(shown)}. ${once}From now on: zapd default ${example}`;
  return CommandError.of({ code, message, hint }, response);
}

/** The command as it was typed, for one device. */
function withDevice(given: readonly string[], name: string): string {
  const end = given.indexOf("--");
  const words = given.map(shellWord);
  const at = end === -1 ? words.length : end;
  return ["zapd", ...words.slice(0, at), "-d", name, ...words.slice(at)].join(" ");
}

export async function pair(context: Context): Promise<void> {
  const { pin, user, host } = context.options;
  if (pin !== undefined && user !== undefined) throw new UsageError("give --pin or --user, not both");
  const path = devicePath(context.words[0] ?? context.device);
  const { data: device } = await call<Device>(context, "GET", path);
  const where = host === undefined ? {} : { host };
  // Nobody is asked for a password that is not wanted: who wants one says so first.
  const unasked = typeof user !== "string" ? null : await pairedWithout(context, device, { ...where, user });
  // Never among the words of a command, where every user of the machine can read it.
  const login =
    typeof user !== "string" || unasked !== null
      ? {}
      : { user, password: await readUnseen(printable(`password of ${user}`)) };
  if (login.password === "") throw new UsageError("the password is empty");
  if (user === undefined && pin === undefined)
    context.say(printable(`asking ${device.name}; if it shows a request, accept it there within a minute …`));
  const body = { ...where, ...(pin !== undefined && { pin }), ...login };
  const text = unasked ?? (await call(context, "POST", `${devicePath(device.id)}/pair`, { quiet: true, body })).text;
  if (context.json) return context.print(text);
  context.say(printable(`paired with ${device.name}`));
}

/** Pairing without a password: what it answered, or `null` where it wants one. Fails where there is nothing to pair. */
async function pairedWithout(context: Context, device: Device, body: object): Promise<string | null> {
  try {
    return (await call(context, "POST", `${devicePath(device.id)}/pair`, { body })).text;
  } catch (error) {
    if (error instanceof CommandError && error.code === "pairing_failed") return null;
    throw error;
  }
}

export async function trust(context: Context): Promise<void> {
  const [name] = context.words;
  if (name === undefined) throw new UsageError("which device?");
  const { data, text } = await call<Device>(context, "POST", `${devicePath(name)}/trust`);
  if (context.json) return context.print(text);
  context.say(
    printable(`what is at ${data.host.includes(":") ? `[${data.host}]` : data.host}:${data.port} is ${data.name}`),
  );
}
