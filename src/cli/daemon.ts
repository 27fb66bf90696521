/** Commands about the daemon itself. */
import type { Result } from "../api/client.ts";
import { printable } from "../system/printable.ts";
import { listenerUrl } from "../system/text.ts";
import { version } from "../system/version.ts";
import { call } from "./client.ts";
import type { Context } from "./context.ts";
import { listOf } from "./print.ts";
import { readDocument } from "./requests.ts";

export async function printVersion(context: Context): Promise<void> {
  context.print(context.json ? JSON.stringify({ version }) : `zapd ${version}`);
}

export async function status(context: Context): Promise<void> {
  context.printResult(await call(context, "status", {}), statusText);
  if (context.json) return;
  const health = await call(context, "health", {});
  for (const warning of health.data.warnings) context.say(`warning: ${printable(warning)}`);
}

function statusText(status: Result<"status">): string {
  const { version, pid, uptime_s, http_enabled, socket, device_count, default_device } = status;
  const { mqtt } = status;
  // Problems of MQTT are among the warnings.
  const broker = mqtt && `${mqtt.state}, ${mqtt.url}, site ${mqtt.site}`;
  return listOf([
    ["zapd", `${version}, pid ${pid}, running for ${duration(uptime_s)}`],
    ["API", http_enabled ? `${listenerUrl(status)}/v1` : "off (daemon.http_enabled)"],
    ["socket", socket],
    ["devices", `${device_count}, ${default_device === null ? "no default" : `default ${default_device}`}`],
    ...(broker ? [["MQTT", broker] as const] : []),
  ]);
}

export async function openapi(context: Context): Promise<void> {
  context.print(await readDocument(context, "/openapi.json"));
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} days`;
}
