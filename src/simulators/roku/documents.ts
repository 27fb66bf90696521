/** The documents of ECP. An empty value makes an empty element. */
import { element, scpd, tag, upnpDescription, xmlDocument } from "../bench/documents.ts";
import { lifecycle, type Playback, playbackState, position } from "./apps.ts";
import { appType, findApp, installed, type Model } from "./model.ts";
import { CHANNELS, type RokuKind, type RokuOptions, type SimulatedApp, type SimulatedChannel } from "./options.ts";

/** The UPnP description at `/`: manufacturer is the brand, modelName repeats the model number (1.1). */
export function deviceDescription(model: Model): string {
  const { vendor, model: modelName, modelNumber, serial } = model.options;
  const service = (word: string) =>
    tag("service", {
      serviceType: `urn:roku-com:service:${word}:1`,
      serviceId: `urn:roku-com:serviceId:${word}1-0`,
      controlURL: null,
      eventSubURL: null,
      SCPDURL: `${word}_SCPD.xml`,
    });
  const device = {
    deviceType: "urn:roku-com:device:player:1-0",
    friendlyName: model.name,
    manufacturer: vendor,
    manufacturerURL: "http://www.example.com/",
    modelDescription: "Roku Streaming Player Network Media",
    modelName: model.isTv ? modelNumber : modelName,
    modelNumber,
    modelURL: "http://www.roku.com/",
    serialNumber: serial,
    UDN: `uuid:${udn(model.options)}`,
  };
  return upnpDescription(device, [service("ecp"), service("dial")]);
}

export const SERVICE_DESCRIPTION = scpd();

/** `/query/device-info`: in the order of 1.3, without some fields that no client reads. */
export function deviceInfo(model: Model): string {
  const { name, options, access, bootedAt } = model;
  const { kind, vendor, modelNumber, serial, seed, legacy, mac, softwareVersion } = options;
  const friendly = model.isTv ? `${vendor}•Roku TV` : options.model;
  return xmlDocument(
    tag("device-info", {
      udn: udn(options),
      "serial-number": serial,
      "device-id": `S${seed.slice(10, 20).toUpperCase()}`,
      "vendor-name": vendor,
      "model-name": options.model,
      "model-number": modelNumber,
      "model-region": "US",
      "is-tv": String(model.isTv),
      "is-stick": String(kind === "stick"),
      "friendly-device-name": name === "" ? friendly : name,
      "friendly-model-name": friendly,
      "default-device-name": `${friendly} - ${serial}`,
      "user-device-name": name,
      "user-device-location": "",
      ...KIND_FIELDS[kind](options),
      "supports-ethernet": String(kind === "box"),
      ...(kind === "box" && { "ethernet-mac": mac }),
      "wifi-mac": mac,
      "network-name": "Simulated “Wi-Fi”",
      "build-number": "ZAP.52E04242A",
      "software-version": softwareVersion,
      "software-build": "4242",
      // Firmware up to 11 has no ecp-setting-mode and no ui-software-version (1.3).
      ...(!legacy && {
        "ui-build-number": "ZAP.52E04242A",
        "ui-software-version": softwareVersion,
        "ui-software-build": "4242",
      }),
      ...(!legacy && { "ecp-setting-mode": access }),
      language: "en",
      country: "US",
      locale: "en_US",
      "time-zone": "Etc/UTC",
      uptime: String(Math.floor((Date.now() - bootedAt) / 1000)),
      "power-mode": model.power === "on" ? "PowerOn" : "Ready",
      "supports-suspend": "true",
      "supports-find-remote": String(kind === "box"),
      "supports-ecs-textedit": "true",
      "supports-wake-on-wlan": "true",
      "supports-airplay": "true",
      "search-enabled": "true",
      "supports-private-listening": "true",
      // Not a boolean for all its name (1.3).
      "av-sync-calibration-enabled": "3.0",
      "developer-enabled": String(options.developer !== null),
      "keyed-developer-id": options.developer === null ? "" : seed.slice(0, 40),
      ...(options.developer && { "brightscript-debugger-version": "3.5.0" }),
    }),
  );
}

type Fields = Readonly<Record<string, string>>;

const PLAYER_FIELDS: Fields = { "supports-cec-power-control": "true", "supports-cec-audio-volume-control": "true" };

/** Fields of one kind of set only (1.3). */
const KIND_FIELDS: Readonly<Record<RokuKind, (identity: RokuOptions) => Fields>> = {
  tv: ({ screenSize }) => ({
    "screen-size": screenSize,
    "mobile-has-live-tv": "true",
    "ui-resolution": "1080p",
    "tuner-type": "ATSC",
    "supports-warm-standby": "true",
    "supports-private-listening-dtv": "true",
  }),
  stick: () => ({ "ui-resolution": "1080p", "is-powered-by-tv": "false", ...PLAYER_FIELDS }),
  box: () => ({ "ui-resolution": "1080p", "find-remote-is-possible": "true", ...PLAYER_FIELDS }),
  soundbar: () => ({ "mobile-has-live-tv": "true", "ui-resolution": "1080p", ...PLAYER_FIELDS }),
};

function udn({ seed }: RokuOptions): string {
  return `${seed.slice(0, 8)}-${seed.slice(8, 12)}-1000-8000-${seed.slice(12, 24)}`;
}

export function apps(model: Model): string {
  return xmlDocument(tag("apps", installed(model).map(appElement)));
}

export function activeApp(model: Model): string {
  const app = model.active === null ? undefined : findApp(model, model.active);
  const children = [app === undefined ? home(model) : appElement(app)];
  // The screensaver is listed beside the app, which stays the same (1.5).
  if (model.screensaver) children.push(element("screensaver", SCREENSAVER, "Slow Skyline"));
  return xmlDocument(tag("active-app", children));
}

const SCREENSAVER = { id: "700900", type: "ssvr", version: "2.4.1" };

// In standby the app is Roku too; only power-mode differs (1.5). Since OS 11 some sets give home an id.
function home({ options }: Model): string {
  if (!options.legacy) return tag("app", "Roku");
  const attributes = { id: "562859", type: "menu", version: "2.1.7", "ui-location": "home" };
  return element("app", attributes, "Roku Dynamic Menu");
}

function appElement(app: SimulatedApp): string {
  const version = app.version === undefined ? "1.0.0" : app.version;
  return element("app", { id: app.id, type: appType(app), version }, app.name);
}

/** `/query/media-player` (1.6). */
export function mediaPlayer(model: Model): string {
  const { playback, active } = model;
  if (playback !== null) return xmlDocument(playing(model, playback));
  const app = active === null ? undefined : findApp(model, active);
  // The home screen has a plugin of its own.
  const [state, id, name] = app ? ["close", app.id, app.name] : ["none", "native-ui", "Native UI"];
  return xmlDocument(element("player", { state, error: "false" }, [element("plugin", { id, name })]));
}

function playing(model: Model, playback: Playback): string {
  const { app, media } = playback;
  const state = playbackState(playback);
  const milliseconds = (name: string, value: number | undefined) =>
    value === undefined ? [] : [tag(name, `${Math.round(value)} ms`)];
  return element("player", { state, error: "false" }, [
    element("plugin", { id: app, name: findApp(model, app)?.name ?? app, bandwidth: "14000000 bps" }),
    element("format", { audio: "aac", video: "mpeg4_10b", container: "hls", captions: "none", drm: "none" }),
    ...(state === "close" ? [] : [element("buffering", { current: "1000", max: "1000", target: "0" })]),
    element("new_stream", { speed: "128000 bps" }),
    ...milliseconds("position", position(playback)),
    ...milliseconds("duration", media.durationMs),
    tag("is_live", "false"),
    ...milliseconds("runtime", media.durationMs),
  ]);
}

/** `/query/audio-device`: the only document with a volume (1.7). Players have none. */
export function audioDevice({ hasVolume, muted, volume }: Model): string {
  const [destination = "", all = ""] = hasVolume ? ["speakers", "speakers,spdif,lineout"] : ["hdmi", "hdmi"];
  const level = [tag("muted", String(muted)), ...(hasVolume ? [tag("volume", String(volume))] : [])];
  return xmlDocument(
    tag("audio-device", [
      tag("capabilities", { "all-destinations": all }),
      tag("global", [...level, tag("destination-list", destination)]),
      tag("destinations", [element("destination", { name: destination }, level)]),
    ]),
  );
}

export function tvChannels(): string {
  return xmlDocument(
    tag(
      "tv-channels",
      CHANNELS.map((channel) => tag("channel", tuned(channel))),
    ),
  );
}

// Without a lineup the channel element is empty (1.7).
export function tvActiveChannel({ channel, active }: Model): string {
  const content = channel && {
    ...tuned(channel),
    "active-input": String(active === "tvinput.dtv"),
    "signal-state": "valid",
    "signal-mode": "1080i",
    "signal-quality": "87",
    "signal-strength": "-54",
  };
  return xmlDocument(tag("tv-channel", [tag("channel", content)]));
}

function tuned({ number, name }: SimulatedChannel): Fields {
  return { number, name, type: "air-digital", "user-hidden": "false" };
}

/** The response of `/exit-app` for an app that was running (1.8). */
export const EXITED = xmlDocument(tag("exit-app", { status: "OK" }));

/** `/query/app-state`; 404 for an unknown app. */
export function appState(model: Model, [id = ""]: readonly string[]): string | 404 {
  const app = findApp(model, id);
  if (app === undefined) return 404;
  const content = {
    "app-id": app.id,
    "app-title": app.name,
    "app-version": app.version ?? null,
    state: lifecycle(model, app.id),
    status: "OK",
  };
  return xmlDocument(tag("app-state", content));
}
