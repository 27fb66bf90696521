/** `zapd remote`: a remote that fills the terminal. */

import { exits } from "../api/errors.ts";
import type { Device } from "../api/operations.ts";
import { ask } from "./ask.ts";
import { call, devicePath } from "./client.ts";
import type { Context } from "./context.ts";
import { CommandError } from "./failure.ts";
import { linkTo } from "./remote/link.ts";
import { begin } from "./remote/model.ts";
import { render } from "./remote/screen.ts";
import { Session } from "./remote/session.ts";
import { Terminal } from "./remote/terminal.ts";

export async function remote(context: Context): Promise<number> {
  if (!Terminal.isThere)
    throw new CommandError(
      "the remote needs a terminal to fill, and here is none",
      exits.usage,
      "For scripts there are `zapd key`, `zapd keys` and `zapd launch`",
    );
  // Before the screen is taken: a daemon that does not run, or a name that is none, is said as everywhere.
  const { data: devices } = await call<Device[]>(context, "GET", "/devices");
  const current = await chosen(context, devices);

  const terminal = new Terminal();
  const looks = { colour: context.colour, unicode: showsUnicode(process.env, process.platform) };
  const show = () => terminal.show(render(session.model, { ...terminal.size, ...looks, now: new Date() }));
  const display = {
    show,
    redraw() {
      terminal.clear();
      show();
    },
    suspend: () => terminal.suspend(),
  };
  const session = new Session(linkTo(context), display, begin(devices, current));
  let status: number = exits.ok;
  terminal.open({
    input: (input) => session.input(input),
    resized: () => session.resized(),
    resumed: () => session.resumed(),
    ended(with_) {
      status = with_;
      session.quit();
    },
  });
  try {
    await session.run();
  } finally {
    terminal.close();
  }
  return status;
}

/** The set that is named, else the default one, else the first. */
async function chosen(context: Context, devices: readonly Device[]): Promise<string | null> {
  const named = context.words[0] ?? context.device;
  if (named !== "default") return (await call<Device>(context, "GET", devicePath(named))).data.id;
  const asked = await ask<Device>(context, "GET", devicePath(named), { within: 5_000 });
  return asked.ok ? asked.data.id : (devices[0]?.id ?? null);
}

/** By the locale, as every program decides it. */
export function showsUnicode(env: Readonly<Record<string, string | undefined>>, platform: string): boolean {
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"];
  if (!locale) return platform !== "linux";
  return /utf-?8/i.test(locale);
}
