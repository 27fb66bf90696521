import type { Method } from "../method.ts";
import type { Model } from "../model.ts";
import { listOf, text } from "../schema.ts";
import { HOME, inFront } from "../windows.ts";

/** Worked out in the background once somebody asks, so the first answer is `Busy` (players.md 7.2); offline it stays so. */
const SLOW = ["Network.MacAddress", "System.OSVersionInfo", "System.KernelVersion"];

const LABELS: Readonly<Record<string, (model: Model) => string>> = {
  "Network.MacAddress": ({ identity }) => identity.mac,
  "Network.IPAddress": ({ identity }) => identity.host,
  "System.OSVersionInfo": () => "Debian GNU/Linux 12 (bookworm)",
  "System.KernelVersion": () => "Linux 6.1.0",
  "System.BuildVersion": ({ identity }) => `${identity.version} Debian package version: 2:${identity.version}+dfsg-1`,
  "System.FriendlyName": ({ name }) => name,
  "System.CurrentWindow": (model) => inFront(model).window.label,
  "Player.Title": ({ playing }) => (playing?.channel ? "" : (playing?.title ?? "")),
  "Player.FolderPath": ({ playing }) => playing?.path.replace(/[^/]*$/, "") ?? "",
  "Player.Filenameandpath": ({ playing }) => playing?.path ?? "",
  "VideoPlayer.Title": ({ playing }) => (playing?.kind === "video" && !playing.channel ? playing.title : ""),
  "VideoPlayer.ChannelName": ({ playing }) => playing?.channel?.name ?? "",
  "Container.FolderPath": ({ folder }) => folder,
  "Container.PluginName": ({ folder }) => /^plugin:\/\/([^/]+)/.exec(folder)?.[1] ?? "",
  // What the field of the keyboard, and that of the number pad, holds (Kodi 20.1, ran).
  "Control.GetLabel(312).index(1)": ({ dialog }) => (dialog?.kind === "keyboard" ? dialog.text : ""),
  "Control.GetLabel(4)": ({ dialog }) => (dialog?.kind === "number" ? dialog.text : ""),
  "Container.FolderName": (model) => addonName(model),
};

const BOOLEANS: Readonly<Record<string, (model: Model) => boolean>> = {
  "System.ScreenSaverActive": ({ screensaver }) => screensaver,
  "System.HasActiveModalDialog": ({ dialog }) => dialog !== null,
  "System.HasModalDialog": ({ dialog }) => dialog !== null,
  "System.HasVisibleModalDialog": ({ dialog }) => dialog !== null,
  "Player.HasMedia": ({ playing }) => playing !== null,
  "Player.HasVideo": ({ playing }) => playing?.kind === "video",
  "Player.HasAudio": ({ playing }) => playing?.kind === "audio",
  "Player.Paused": ({ playing }) => playing?.speed === 0,
  "Window.IsVisible(home)": ({ window }) => window === HOME,
  "System.CanPowerDown": ({ identity }) => identity.can.shutdown,
  "System.CanSuspend": ({ identity }) => identity.can.suspend,
};

/** Whatever it is asked it answers: what it does not know is empty, or false (Kodi 20.1, ran). */
export const xbmc: Readonly<Record<string, Method>> = {
  "XBMC.GetInfoLabels": {
    params: [{ name: "labels", schema: listOf(text), required: true }],
    run: (model, { labels }) => Object.fromEntries(texts(labels).map((label) => [label, labelOf(model, label)])),
  },
  "XBMC.GetInfoBooleans": {
    params: [{ name: "booleans", schema: listOf(text), required: true }],
    run: (model, { booleans }) =>
      Object.fromEntries(texts(booleans).map((name) => [name, BOOLEANS[name]?.(model) ?? false])),
  },
};

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

function labelOf(model: Model, label: string): string {
  const times = model.asked.get(label) ?? 0;
  model.asked.set(label, times + 1);
  if (times === 0 && SLOW.includes(label)) return "Busy";
  return LABELS[label]?.(model) ?? "";
}

function addonName({ addons, folder }: Model): string {
  return addons.find(({ id }) => folder.startsWith(`plugin://${id}/`))?.name ?? "";
}
