/** Apps on the command line. */
import type { z } from "zod";
import type { App, operations } from "../api/operations.ts";
import { printable } from "../system/log.ts";
import { call, devicePath } from "./client.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./failure.ts";
import { table } from "./print.ts";

type Data<Name extends "listApps" | "launchApp" | "stopApp" | "refreshApps"> = z.infer<
  (typeof operations)[Name]["data"]
>;

export async function apps(context: Context): Promise<void> {
  const { data, text } = await call<Data<"listApps">>(context, "GET", devicePath(context.device, "/apps"));
  if (context.json) return context.print(text);
  context.print(
    appTable(
      data.apps.filter((app) => app.installed || context.options["all"] === true),
      context,
    ),
  );
}

export async function launch(context: Context): Promise<void> {
  const [app, ...pairs] = context.words;
  if (!app) throw new UsageError("which app?");
  const params = Object.fromEntries(pairs.map(pairOf));
  const body = { app, ...(pairs.length > 0 && { params }) };
  const { data, text } = await call<Data<"launchApp">>(context, "POST", devicePath(context.device, "/apps/launch"), {
    body,
  });
  if (context.json) return context.print(text);
  if (data.confirmed === false)
    context.say(
      `${printable(data.device.name)} took the launch of ${printable(data.app.name)}, but does not show it yet`,
    );
}

export async function stop(context: Context): Promise<void> {
  const { data, text } = await call<Data<"stopApp">>(context, "POST", devicePath(context.device, "/apps/stop"));
  if (context.json) return context.print(text);
  context.say(data.app ? `left ${printable(data.app.name)}` : `nothing was running on ${printable(data.device.name)}`);
}

export async function refresh(context: Context): Promise<void> {
  const body = { clear: context.options["clear"] === true };
  const { data, text } = await call<Data<"refreshApps">>(context, "POST", devicePath(context.device, "/apps/refresh"), {
    body,
  });
  if (context.json) return context.print(text);
  context.say(
    `${data.apps.filter((app) => app.installed).length} apps on ${printable(data.device.name)}: ${data.added.length} new, ${data.removed.length} gone`,
  );
}

function pairOf(word: string): [string, string] {
  const at = word.indexOf("=");
  if (at < 1)
    throw new UsageError(
      `${JSON.stringify(word)} is no parameter, which is KEY=VALUE; a name that holds spaces stands in quotes`,
    );
  return [word.slice(0, at), word.slice(at + 1)];
}

function appTable(all: readonly App[], context: Context): string {
  const columns = [
    { title: "APP", yields: 0 },
    { title: "ID", yields: 2 },
    { title: "TYPE" },
    { title: "VERSION", yields: 1 },
  ];
  const rows = all.map((app) => [app.installed ? app.name : `${app.name} (gone)`, app.id, app.type, app.version ?? ""]);
  return table(columns, rows, context.width);
}
