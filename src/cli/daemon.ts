/** Commands about the daemon itself. */

import type { z } from "zod";
import type { operations } from "../api.ts";
import { version } from "../version.ts";
import { call } from "./client.ts";
import type { Context } from "./context.ts";

type Status = z.infer<(typeof operations)["status"]["data"]>;

export async function printVersion(context: Context): Promise<void> {
  context.print(context.json ? JSON.stringify({ version }) : `zapd ${version}`);
}

export async function status(context: Context): Promise<void> {
  const { data, text } = await call<Status>(context, "GET", "/daemon/status");
  if (context.json) return context.print(text);
  context.print(`zapd ${data.version} is running (pid ${data.pid}), for ${duration(data.uptime_s)}`);
  context.print(
    data.http_enabled ? `API     http://${data.http_host}:${data.http_port}/v1` : "API     off (daemon.http_enabled)",
  );
  context.print(`socket  ${data.socket}`);
  context.print(
    `devices ${data.device_count}${data.default_device === null ? ", no default" : `, default ${data.default_device}`}`,
  );
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return `${Math.floor(seconds / 3_600)} h`;
}
