import { words } from "../../bench/set.ts";
import { failed, invalidParams, limits, type Methods, method, pick, required } from "../method.ts";
import type { Model } from "../model.ts";
import { thumbnailOf } from "../playback.ts";
import { anything, either, integer, listOf, names, oneOf, text } from "../schema.ts";
import { FULLSCREEN, go, inFront, VIDEOS, WINDOWS } from "../windows.ts";

const PROPERTIES = ["currentwindow", "currentcontrol", "skin", "fullscreen", "stereoscopicmode"];

export const gui: Methods = {
  "GUI.GetProperties": method(
    { properties: required(names("GUI.Property.Name", PROPERTIES)) },
    (model, { properties }) => {
      const { window, control } = inFront(model);
      return pick(properties, {
        currentwindow: { id: window.id, label: window.label },
        currentcontrol: { label: control },
        skin: { id: "skin.estuary", name: "Estuary" },
        fullscreen: model.window === FULLSCREEN,
        stereoscopicmode: { label: "Disabled", mode: "off" },
      });
    },
  ),
  "GUI.ActivateWindow": method(
    { window: required(oneOf(...Object.keys(WINDOWS))), parameters: listOf(text) },
    (model, { window, parameters }) => {
      const found = WINDOWS[String(window)];
      // Under a dialog the result is OK without effect (players.md 7.3).
      if (found === undefined || model.dialog !== null) return;
      const [path = ""] = texts(parameters);
      model.screensaver = false;
      go(model, found, found === VIDEOS || path.startsWith("plugin://") ? path : "");
    },
  ),
  "GUI.ShowNotification": method(
    { title: required(text), message: required(text), image: text, displaytime: integer(1_500) },
    (model, { title, message }) => {
      model.emit("toast", `toast "${title}": "${message}"`);
    },
  ),
};

const CHANNEL_FIELDS = words("thumbnail channeltype channel channelnumber subchannelnumber hidden locked lastplayed");

export const pvr: Methods = {
  "PVR.GetProperties": method(
    { properties: required(names("PVR.Property.Name", ["available", "recording", "scanning"])) },
    ({ options }, { properties }) =>
      pick(properties, { available: options.channels.length > 0, recording: false, scanning: false }),
  ),
  "PVR.GetChannels": method(
    {
      channelgroupid: required(either(integer(1), oneOf("alltv", "allradio"))),
      properties: names("PVR.Fields.Channel", CHANNEL_FIELDS),
      limits: anything,
    },
    (model, { channelgroupid, properties }) => {
      // Fails without a tuner (Kodi 20.1, ran).
      if (model.options.channels.length === 0) throw failed();
      const isTv = channelgroupid !== "allradio" && channelgroupid !== 2;
      const found = (isTv ? model.options.channels : []).map((channel) => {
        const { id, name, number } = channel;
        const channeltype = "tv";
        const thumbnail = thumbnailOf(channel);
        const all = {
          channel: name,
          channelnumber: number,
          subchannelnumber: 0,
          channeltype,
          hidden: false,
          thumbnail,
        };
        return { channelid: id, label: name, ...pick(properties, all) };
      });
      return { channels: found, limits: limits(found.length) };
    },
  ),
};

const LABELS: Readonly<Record<string, (model: Model) => string>> = {
  "Network.MacAddress": ({ options }) => options.mac,
  "System.BuildVersion": () => "20.1 Debian package version: 2:20.1+dfsg-1",
  "System.FriendlyName": ({ name }) => name,
  "Player.Art(thumb)": ({ playing }) => playing?.thumbnail ?? "",
  "Player.Art(poster)": ({ playing }) => playing?.poster ?? "",
  "Player.Title": ({ playing }) => (playing?.channel ? "" : (playing?.title ?? "")),
  "Player.FolderPath": ({ playing }) => playing?.path.replace(/[^/]*$/, "") ?? "",
  "Player.Filenameandpath": ({ playing }) => playing?.path ?? "",
  "VideoPlayer.ChannelName": ({ playing }) => playing?.channel?.name ?? "",
  "Container.FolderPath": ({ folder }) => folder,
  "Container.PluginName": ({ folder }) => /^plugin:\/\/([^/]+)/.exec(folder)?.[1] ?? "",
  // The text in the field of the keyboard, and of the number pad (Kodi 20.1, ran).
  "Control.GetLabel(312).index(1)": ({ dialog }) => (dialog?.kind === "keyboard" ? dialog.text : ""),
  "Control.GetLabel(4)": ({ dialog }) => (dialog?.kind === "number" ? dialog.text : ""),
  "Container.FolderName": (model) => addonName(model),
};

const BOOLEANS: Readonly<Record<string, (model: Model) => boolean>> = {
  "System.ScreenSaverActive": ({ screensaver }) => screensaver,
  "Player.HasMedia": ({ playing }) => playing !== null,
};

/** An unknown label is empty, an unknown boolean false (Kodi 20.1, ran). */
export const xbmc: Methods = {
  "XBMC.GetInfoLabels": method({ labels: required(listOf(text)) }, (model, { labels }) =>
    Object.fromEntries(texts(labels).map((label) => [label, labelOf(model, label)])),
  ),
  "XBMC.GetInfoBooleans": method({ booleans: required(listOf(text)) }, (model, { booleans }) =>
    Object.fromEntries(texts(booleans).map((name) => [name, own(BOOLEANS, name)?.(model) ?? false])),
  ),
};

/** A client may ask for any name, such as `constructor`. */
const own = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

function labelOf(model: Model, label: string): string {
  // Kodi looks the address up in the background once it is asked for; until then the answer is `Busy` (players.md 7.2).
  if (label === "Network.MacAddress" && !model.knowsMac) {
    model.knowsMac = true;
    return "Busy";
  }
  return own(LABELS, label)?.(model) ?? "";
}

function addonName({ addons, folder }: Model): string {
  return addons.find(({ id }) => folder.startsWith(`plugin://${id}/`))?.name ?? "";
}

/** Fails with -32100 if the operating system does not allow it (players.md 7.2). */
const powerCommand = (what: "shutdown" | "suspend" | "hibernate") =>
  method({}, (model) => {
    if (!model.options.power[what]) throw failed();
    if (what === "shutdown") model.notify("System.OnQuit", { exitcode: 64 });
    else model.notify("System.OnSleep", null);
    model.shutDown("asleep", "clean");
  });

const ABILITIES = ["canshutdown", "cansuspend", "canhibernate", "canreboot"];

export const system: Methods = {
  "System.GetProperties": method(
    { properties: required(names("System.Property.Name", ABILITIES)) },
    ({ options }, { properties }) => {
      const can = Object.entries(options.power).map(([name, value]) => [`can${name}`, value]);
      return pick(properties, Object.fromEntries(can));
    },
  ),
  "System.Shutdown": powerCommand("shutdown"),
  "System.Suspend": powerCommand("suspend"),
  "System.Hibernate": powerCommand("hibernate"),
  // `services.deviceuuid` cannot be read (Kodi 20.1, ran).
  "Settings.GetSettingValue": method({ setting: required(text) }, (model, { setting }) => {
    const value = own(settingsOf(model), String(setting));
    if (value === undefined) throw invalidParams();
    return { value };
  }),
};

/** Settings by their ids (Kodi 20.1, ran). */
function settingsOf({ name, webPort, options, password, screenshots }: Model): Record<string, unknown> {
  const port = webPort();
  return {
    "services.devicename": name,
    "services.webserver": port !== null,
    // The setting of the port stays while the web server is off.
    "services.webserverport": port ?? 8080,
    "services.webserverauthentication": password !== null,
    "services.webserverusername": options.user,
    "debug.screenshotpath": screenshots?.folder ?? "",
  };
}
