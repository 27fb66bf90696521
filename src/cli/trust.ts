/** `zapd trust`: what answers for a device that is on probation is it. */
import type { Device } from "../api/operations.ts";
import { printable } from "../system/log.ts";
import { call, devicePath } from "./client.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./failure.ts";

export async function trust(context: Context): Promise<void> {
  const [name] = context.words;
  if (name === undefined) throw new UsageError("which device?");
  const { data, text } = await call<Device>(context, "POST", `${devicePath(name)}/trust`);
  if (context.json) return context.print(text);
  context.say(
    printable(`what is at ${data.host.includes(":") ? `[${data.host}]` : data.host}:${data.port} is ${data.name}`),
  );
}
