/** What is on a device, and its apps, on the command line. */
import { stateLine } from "../api/client-words.ts";
import type { App } from "../api/schemas.ts";
import { call, groupOf } from "./client.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./failure.ts";
import { table } from "./print.ts";

export async function state(context: Context): Promise<void> {
  context.printResult(await call(context, "getState", { id: context.words[0] ?? context.device }), stateLine);
}

export async function apps(context: Context): Promise<void> {
  const all = context.flag("all");
  context.printResult(await call(context, "listApps", { id: context.device }), ({ apps }) =>
    appTable(
      apps.filter((app) => app.installed || all),
      context.width,
    ),
  );
}

export async function launch(context: Context): Promise<void> {
  const [app, ...pairs] = context.words;
  if (!app) throw new UsageError("which app?");
  const params = deepLinkOf(pairs);
  const body = { app, ...(params && { params }) };
  if (groupOf(context)) return (await import("./group.ts")).callGroup(context, "launchAppOfGroup", body);
  const called = await call(context, "launchApp", { id: context.device, body });
  const { device, app: launched, confirmed } = called.data;
  context.reportDone(
    called,
    confirmed === false && `${device.name} took the launch of ${launched.name}, but does not show it yet`,
  );
}

export async function stop(context: Context): Promise<void> {
  if (groupOf(context)) return (await import("./group.ts")).callGroup(context, "stopAppOfGroup");
  const called = await call(context, "stopApp", { id: context.device });
  const { app, device } = called.data;
  context.reportDone(called, app ? `left ${app.name}` : `nothing was running on ${device.name}`);
}

export async function refresh(context: Context): Promise<void> {
  const called = await call(context, "refreshApps", { id: context.device, body: { clear: context.flag("clear") } });
  const { apps, device, added, removed } = called.data;
  const count = apps.filter((app) => app.installed).length;
  context.reportDone(called, `${count} apps on ${device.name}: ${added.length} new, ${removed.length} gone`);
}

/** What an app is started with, from words that are `KEY=VALUE`; none without any. Fails with UsageError. */
export function deepLinkOf(words: readonly string[]): Record<string, string> | undefined {
  return words.length === 0 ? undefined : Object.fromEntries(words.map(pairOf));
}

function pairOf(word: string): [string, string] {
  const at = word.indexOf("=");
  if (at < 1)
    throw new UsageError(
      `${JSON.stringify(word)} is no parameter, which is KEY=VALUE; a name that holds spaces stands in quotes`,
    );
  return [word.slice(0, at), word.slice(at + 1)];
}

function appTable(all: readonly App[], width: number): string {
  const columns = [
    { title: "APP", shrinkOrder: 0 },
    { title: "ID", shrinkOrder: 2 },
    { title: "TYPE" },
    { title: "VERSION", shrinkOrder: 1 },
  ];
  const rows = all.map((app) => [app.installed ? app.name : `${app.name} (gone)`, app.id, app.type, app.version ?? ""]);
  return table(columns, rows, width);
}
