/** Devices on the command line. */
import type { Device } from "../api.ts";
import { printable } from "../log.ts";
import { type Called, call, devicePath } from "./client.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./failure.ts";
import { table } from "./print.ts";

export async function devices(context: Context): Promise<void> {
  const { data, text } = await call<Device[]>(context, "GET", "/devices");
  if (context.json) return context.print(text);
  if (data.length === 0)
    return context.say("no device is known yet. Look for some with zapd discover, or add one: zapd add 192.168.1.40");
  context.print(deviceTable(data, context));
}

export async function discover(context: Context): Promise<void> {
  if (!context.json) context.say("looking …");
  const { data, text } = await call<{ devices: Device[] }>(context, "POST", "/devices/discover");
  if (context.json) return context.print(text);
  if (data.devices.length > 0) return context.print(deviceTable(data.devices, context));
  context.say(
    "nothing was found. Usually in the way: a guest Wi-Fi, a VPN, a firewall, another VLAN. What always works is the address: zapd add 192.168.1.40",
  );
}

export async function device(context: Context): Promise<void> {
  const { data, text } = await call<Device>(context, "GET", devicePath(context.words[0] ?? context.device));
  if (context.json) return context.print(text);
  const { capabilities, ports, ...facts } = data;
  const rows = Object.entries({
    ...facts,
    ports: Object.entries(ports)
      .map(([word, port]) => `${word} ${port}`)
      .join(", "),
    capabilities: capabilities.join(", "),
  });
  const shown = rows.filter(([, value]) => value !== null && value !== "");
  context.print(
    table(
      [{ title: "" }, { title: "", yields: 1 }],
      shown.map(([name, value]) => [
        name,
        name.endsWith("_at") || name === "last_seen" ? local(String(value)) : String(value),
      ]),
      context.width,
    ).replace(/^\s*\n/, ""),
  );
}

export async function add(context: Context): Promise<void> {
  const [host] = context.words;
  if (host === undefined || context.words.length > 1) throw new UsageError("which address?");
  const { name, platform } = context.options;
  const body = { host, ...(name !== undefined && { name }), ...(platform !== undefined && { platform }) };
  const { data, text } = await call<Device>(context, "POST", "/devices", { body });
  if (context.json) return context.print(text);
  context.say(`added ${printable(data.name)}${data.model ? `, ${printable(data.model)}` : ""}`);
}

export async function rename(context: Context): Promise<void> {
  const [from, to, ...more] = context.words;
  if (from === undefined || to === undefined || more.length > 0)
    throw new UsageError("the old name and the new one, in quotes where they hold spaces");
  quiet(context, await call<Device>(context, "PATCH", devicePath(from), { body: { name: to } }));
}

export async function forget(context: Context): Promise<void> {
  const [name, ...more] = context.words;
  if (name === undefined || more.length > 0)
    throw new UsageError("which device? One at a time, in quotes where its name holds spaces");
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

function deviceTable(all: readonly Device[], context: Context): string {
  const columns = [
    { title: "NAME" },
    { title: "PLATFORM" },
    { title: "MODEL", yields: 2 },
    { title: "STATUS" },
    { title: "ADDRESS", yields: 1 },
    { title: "ACCESS" },
  ];
  const rows = all.map((one) => [
    `${one.name}${one.is_default ? "*" : ""}`,
    one.platform,
    [one.manufacturer, one.model].filter(Boolean).join(" "),
    one.status,
    one.host,
    one.access ?? "",
  ]);
  const text = table(columns, rows, context.width);
  return all.some((one) => one.is_default) ? `${text}\n* default` : text;
}

/** Times are local for people. */
function local(time: string): string {
  return new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
