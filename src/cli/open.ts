/** `zapd open`: opens the page of the daemon in the user's browser. */
import { spawn } from "node:child_process";
import { exits, type Failure } from "../api/errors.ts";
import { listenerUrl } from "../system/text.ts";
import { call, sendRequest } from "./client.ts";
import type { Context } from "./context.ts";
import { CommandError } from "./failure.ts";

/** The opener may become the browser and not exit: after this it counts as successful. */
const startTimeoutMs = 2_000;

export async function open(context: Context): Promise<void> {
  const { data } = await call(context, "status", {});
  if (!data.http_enabled)
    throw new CommandError(
      "HTTP is off, so there is no page to open",
      exits.failed,
      "Turn it on with: zapd config set daemon.http_enabled true",
    );
  const isDocs = context.flag("docs");
  const id = context.device;
  const device = id === "default" ? null : (await call(context, "getDevice", { id })).data;
  const path = isDocs ? "/docs" : "/";
  await checkServed(context, path);
  const behind = device === null || isDocs ? "" : `#/remote/${device.id}`;
  const url = `${listenerUrl(data)}${path}${behind}`;
  const isOpen = !context.json && (await openInBrowser(url));
  if (isOpen) context.say(`opened ${url}`);
  else context.print(context.json ? JSON.stringify({ ok: true, data: { url } }) : url);
}

/** Fails with the daemon's answer where the page is off or was not built. */
async function checkServed(context: Context, path: string): Promise<void> {
  const response = await sendRequest(context, new Request(`http://zapd${path}`));
  const text = await response.text();
  if (response.ok) return;
  const isEnvelope = response.headers.get("content-type")?.startsWith("application/json") === true;
  if (isEnvelope) throw CommandError.of((JSON.parse(text) as { error: Failure }).error, text);
  throw new CommandError(text.trim(), exits.failed);
}

/** Starts a browser; false where there is none, or no screen. */
async function openInBrowser(url: string): Promise<boolean> {
  const [program = "", ...words] = opener(url);
  if (program === "") return false;
  return new Promise<boolean>((resolve) => {
    const child = spawn(program, words, { stdio: "ignore", detached: true });
    const timer = setTimeout(() => resolve(true), startTimeoutMs);
    const end = (isOpen: boolean) => {
      clearTimeout(timer);
      resolve(isOpen);
    };
    child.on("error", () => end(false));
    child.on("exit", (status) => end(status === 0));
    child.unref();
    // What cannot be run, such as a script without `#!`, is thrown.
  }).catch(() => false);
}

/** The command that opens an address on this system; empty where there is no screen. */
function opener(url: string): readonly string[] {
  const { BROWSER, DISPLAY, WAYLAND_DISPLAY } = process.env;
  if (BROWSER) return [BROWSER, url];
  if (process.platform === "darwin") return ["open", url];
  // `start` takes its first quoted word as a title.
  if (process.platform === "win32") return ["cmd", "/c", "start", '""', url];
  return DISPLAY || WAYLAND_DISPLAY ? ["xdg-open", url] : [];
}
