/** Commands about the daemon itself. */

import { printable } from "../system/log.ts";
import { version } from "../system/version.ts";
import { call, readDocument } from "./client.ts";
import type { Context } from "./context.ts";
import { addressText, table } from "./print.ts";

export async function printVersion(context: Context): Promise<void> {
  context.print(context.json ? JSON.stringify({ version }) : `zapd ${version}`);
}

export async function status(context: Context): Promise<void> {
  const { data, text } = await call(context, "status", {});
  if (context.json) return context.print(text);
  const rows = [
    ["zapd", `${data.version}, pid ${data.pid}, running for ${duration(data.uptime_s)}`],
    [
      "API",
      data.http_enabled ? `http://${addressText(data.http_host, data.http_port)}/v1` : "off (daemon.http_enabled)",
    ],
    ["socket", data.socket],
    [
      "devices",
      `${data.device_count}, ${data.default_device === null ? "no default" : `default ${data.default_device}`}`,
    ],
  ];
  context.print(table([{ title: "" }, { title: "" }], rows, Number.POSITIVE_INFINITY));
  const health = await call(context, "health", {});
  for (const warning of health.data.warnings) context.say(`warning: ${printable(warning)}`);
}

export async function openapi(context: Context): Promise<void> {
  context.print(await readDocument(context, "/openapi.json"));
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} days`;
}
