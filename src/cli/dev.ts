/** `zapd reload`: the sideloaded package, started anew. */
import type { z } from "zod";
import type { operations } from "../api/operations.ts";
import { printable } from "../system/log.ts";
import { call, devicePath } from "./client.ts";
import type { Context } from "./context.ts";
import { shellWord } from "./print.ts";

type Reloaded = z.infer<(typeof operations)["reloadPackage"]["data"]>;

export async function reload(context: Context): Promise<void> {
  const { data, text } = await call<Reloaded>(context, "POST", devicePath(context.device, "/dev/reload"));
  if (context.json) return context.print(text);
  context.say(printable(`${data.app.name} was started anew on ${data.device.name}. ${logHint(context)}`));
}

/** How to see what the package prints, on the device that was meant. */
export function logHint({ device }: Context): string {
  return `Log: zapd logs --follow${device === "default" ? "" : ` -d ${shellWord(device)}`}`;
}
