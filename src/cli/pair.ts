/** `zapd pair`: asks a device to let zapd in, and waits while its user answers there. */
import type { Device } from "../api.ts";
import { printable } from "../log.ts";
import { call, devicePath } from "./client.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./failure.ts";
import { readUnseen } from "./read-unseen.ts";

export async function pair(context: Context): Promise<void> {
  const { pin, user } = context.options;
  if (pin !== undefined && user !== undefined) throw new UsageError("give --pin or --user, not both");
  const path = devicePath(context.words[0] ?? context.device);
  const { data: device } = await call<Device>(context, "GET", path);
  // Never among the words of a command, where every user of the machine can read it.
  const login = user === undefined ? {} : { user, password: await readUnseen(printable(`password of ${user}`)) };
  if (login.password === "") throw new UsageError("the password is empty");
  if (user === undefined && pin === undefined)
    context.say(printable(`asking ${device.name}; if it shows a request, accept it there within a minute …`));
  const body = { ...(pin !== undefined && { pin }), ...login };
  const { text } = await call(context, "POST", `${path}/pair`, { quiet: true, body });
  if (context.json) return context.print(text);
  context.say(printable(`paired with ${device.name}`));
}
