import { element, xmlDocument } from "../xml.ts";
import { lifecycle } from "./apps.ts";
import { appType, findApp, installed, type Model } from "./model.ts";
import type { SimulatedApp } from "./options.ts";
import { type Playback, playbackState, position } from "./playback.ts";
import { hasVolume } from "./remote.ts";

export function apps(model: Model): string {
  return xmlDocument(
    element(
      "apps",
      {},
      installed(model).map((app) => appElement(app)),
    ),
  );
}

export function activeApp(model: Model): string {
  const app = model.active === null ? undefined : findApp(model, model.active);
  const children = [app === undefined ? home(model) : appElement(app)];
  // Beside the app, which stays what it was (1.5).
  if (model.screensaver) children.push(element("screensaver", SCREENSAVER, "Slow Skyline"));
  return xmlDocument(element("active-app", {}, children));
}

const SCREENSAVER = { id: "700900", type: "ssvr", version: "2.4.1" };

// In standby the app is Roku too; only power-mode tells (1.5). Since OS 11 some sets give home an id.
function home({ identity }: Model): string {
  if (!identity.legacy) return element("app", {}, "Roku");
  const attributes = { id: "562859", type: "menu", version: "2.1.7", "ui-location": "home" };
  return element("app", attributes, "Roku Dynamic Menu");
}

function appElement(app: SimulatedApp): string {
  const version = app.version === undefined ? "1.0.0" : app.version;
  return element("app", { id: app.id, subtype: app.subtype, type: appType(app), version }, app.name);
}

/** `/query/media-player` (1.6). */
export function mediaPlayer(model: Model): string {
  const { playback, active } = model;
  if (playback !== null) return xmlDocument(playing(model, playback));
  const app = active === null ? undefined : findApp(model, active);
  // The home screen plays nothing in a plugin of its own.
  if (app === undefined) return player("none", { id: "native-ui", name: "Native UI" });
  return player("close", { id: app.id, name: app.name });
}

function player(state: string, plugin: Record<string, string>): string {
  return xmlDocument(element("player", { state, error: "false" }, [element("plugin", plugin)]));
}

function playing(model: Model, playback: Playback): string {
  const { app, media } = playback;
  const state = playbackState(playback);
  const at = position(playback);
  // Live television shows a duration that moves along.
  const duration = media.durationMs ?? (media.live ? at : undefined);
  const name = findApp(model, app)?.name ?? app;
  const live = String(media.live ?? false);
  return element("player", { state, error: "false" }, [
    element("plugin", { id: app, name, bandwidth: "14000000 bps" }),
    element("format", { audio: "aac", video: "mpeg4_10b", container: "hls", captions: "none", drm: "none" }),
    ...(state === "close" ? [] : [element("buffering", { current: "1000", max: "1000", target: "0" })]),
    element("new_stream", { speed: "128000 bps" }),
    element("position", {}, milliseconds(at)),
    ...(duration === undefined ? [] : [element("duration", {}, milliseconds(duration))]),
    element("is_live", {}, live),
    ...(duration === undefined ? [] : [element("runtime", {}, milliseconds(duration))]),
  ]);
}

const milliseconds = (value: number) => `${Math.round(value)} ms`;

/** `/query/audio-device`: the only place a volume can be read (1.7). Players know none. */
export function audioDevice(model: Model): string {
  const [destination, all] = hasVolume(model) ? ["speakers", "speakers,spdif,lineout"] : ["hdmi", "hdmi"];
  const level = [
    element("muted", {}, String(model.muted)),
    ...(hasVolume(model) ? [element("volume", {}, String(model.volume))] : []),
  ];
  return xmlDocument(
    element("audio-device", {}, [
      element("capabilities", {}, [element("all-destinations", {}, all ?? null)]),
      element("global", {}, [...level, element("destination-list", {}, destination ?? null)]),
      element("destinations", {}, [element("destination", { name: destination }, level)]),
    ]),
  );
}

export function tvChannels(model: Model): string {
  const channel = ({ number, name }: { number: string; name: string }) => element("channel", {}, tuned(number, name));
  return xmlDocument(element("tv-channels", {}, model.channels.map(channel)));
}

// Without a lineup the channel is there and empty (1.7).
export function tvActiveChannel(model: Model): string {
  const { channel } = model;
  const children = channel === null ? null : [...tuned(channel.number, channel.name), ...signal(model)];
  return xmlDocument(element("tv-channel", {}, [element("channel", {}, children)]));
}

function tuned(number: string, name: string): string[] {
  return [
    element("number", {}, number),
    element("name", {}, name),
    element("type", {}, "air-digital"),
    element("user-hidden", {}, "false"),
  ];
}

function signal(model: Model): string[] {
  return [
    element("active-input", {}, String(model.active === "tvinput.dtv")),
    element("signal-state", {}, "valid"),
    element("signal-mode", {}, "1080i"),
    element("signal-quality", {}, "87"),
    element("signal-strength", {}, "-54"),
  ];
}

/** Developer documents of the app in front: the envelope, with nothing an app would have put in it. */
export function developerDocument(model: Model, word: string): string {
  const id = model.active ?? "";
  return xmlDocument(
    element(word, {}, [
      element("timestamp", {}, String(Date.now())),
      element("channel-id", {}, id),
      element("channel-title", {}, findApp(model, id)?.name ?? null),
      element("status", {}, "OK"),
    ]),
  );
}

/** `/query/registry/dev`, with nothing an app would have kept in it. */
export function registry({ identity }: Model): string {
  return xmlDocument(
    element("plugin-registry", {}, [
      element("registry", {}, [
        element("dev-id", {}, identity.seed.slice(0, 40)),
        element("plugins", {}, "dev"),
        element("space-available", {}, "32768"),
        element("sections", {}, []),
      ]),
      element("status", {}, "OK"),
    ]),
  );
}

/** What `/exit-app` answers for an app that was running (1.8). */
export function exited(): string {
  return xmlDocument(element("exit-app", {}, [element("status", {}, "OK")]));
}

export function appState(model: Model, app: SimulatedApp): string {
  return xmlDocument(
    element("app-state", {}, [
      element("app-id", {}, app.id),
      element("app-title", {}, app.name),
      element("app-version", {}, app.version ?? null),
      element("state", {}, lifecycle(model, app.id)),
      element("status", {}, "OK"),
    ]),
  );
}
