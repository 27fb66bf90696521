/** `zapd pair`: asks a device to let zapd in, and waits while its user answers there. */
import type { Device } from "../api/operations.ts";
import { printable } from "../system/log.ts";
import { call, devicePath } from "./client.ts";
import type { Context } from "./context.ts";
import { CommandError, UsageError } from "./failure.ts";
import { readUnseen } from "./read-unseen.ts";

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
