/** The apps of a device: listed, launched, left, and read again. */
import type { App } from "../api/schemas.ts";
import { pluralize } from "../system/text.ts";
import { call, sendCommand } from "./client.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./failure.ts";
import { table } from "./print.ts";

export async function apps(context: Context): Promise<void> {
  const all = context.flag("all");
  const called = await call(context, "listApps", { id: context.device });
  const shown = called.data.apps.filter((app) => app.installed || all);
  if (!context.json && shown.length === 0) return context.say("no app is installed");
  context.printResult(called, () => appTable(shown, context.width));
}

export async function launch(context: Context): Promise<void> {
  const [app, ...pairs] = context.words;
  if (!app) throw new UsageError("which app?");
  const params = deepLinkOf(pairs);
  await sendCommand(context, "launchApp", { app, ...(params && { params }) }, ({ device, app, confirmed }) =>
    confirmed === false ? `${device.name} accepted the launch of ${app.name}, but does not show it yet` : undefined,
  );
}

export async function stop(context: Context): Promise<void> {
  await sendCommand(context, "stopApp", undefined, ({ app, device }) =>
    app ? `left ${app.name}` : `no app was running on ${device.name}`,
  );
}

export async function refresh(context: Context): Promise<void> {
  const called = await call(context, "refreshApps", { id: context.device, body: { clear: context.flag("clear") } });
  const { apps, device, added, removed } = called.data;
  const count = apps.filter((app) => app.installed).length;
  context.reportDone(
    called,
    `${pluralize(count, "app")} on ${device.name}: ${added.length} new, ${removed.length} gone`,
  );
}

/** The parameters of a deep link, from words that are `KEY=VALUE`; none without words. Fails with UsageError. */
export function deepLinkOf(words: readonly string[]): Record<string, string> | undefined {
  return words.length === 0 ? undefined : Object.fromEntries(words.map(pairOf));
}

function pairOf(word: string): [string, string] {
  const at = word.indexOf("=");
  if (at < 1)
    throw new UsageError(`${JSON.stringify(word)} is not a parameter (KEY=VALUE); put a name with spaces in quotes`);
  return [word.slice(0, at), word.slice(at + 1)];
}

/** What `zapd launch` takes stays whole while something else can be left out. */
const uncutIdWidth = 20;

function appTable(all: readonly App[], width: number): string {
  const columns = [
    { title: "APP", shrinkOrder: 0 },
    { title: "ID", shrinkOrder: 2, keptWidth: uncutIdWidth },
    { title: "TYPE", dropOrder: 0 },
    { title: "VERSION", shrinkOrder: 1, dropOrder: 1 },
  ];
  const rows = all.map((app) => [app.installed ? app.name : `${app.name} (gone)`, app.id, app.type, app.version ?? ""]);
  return table(columns, rows, width);
}
