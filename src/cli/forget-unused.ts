/** `zapd forget --unused`: removes what scans found and nobody has used. */
import type { Device } from "../api/operations.ts";
import { printable } from "../system/log.ts";
import { call } from "./client.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./failure.ts";

export async function forgetUnused(context: Context): Promise<void> {
  if (context.words.length > 0) throw new UsageError("give a name or --unused, not both");
  const { data, text } = await call<{ devices: Device[] }>(context, "DELETE", "/devices?unused=true");
  if (context.json) return context.print(text);
  const names = data.devices.map(({ name }) => name);
  context.say(printable(names.length === 0 ? "every device has been used" : `removed ${names.join(", ")}`));
}
