/** The endpoints of SSAP with their permissions. */
import { randomBytes } from "node:crypto";
import { objectIn } from "../bench/json.ts";
import { pushCapped } from "../bench/set.ts";
import { type Model, type PlayState, powerState, type Topic } from "./model.ts";
import { BROWSER, CHANNELS, LIVE_TV, type SimulatedApp, type SimulatedChannel } from "./options.ts";
import {
  bringToFront,
  changeChannel,
  closeApp,
  launch,
  setMuted,
  setPlayback,
  setVolume,
  stepVolume,
  tune,
  typeText,
} from "./remote.ts";
import {
  applicationError,
  flagIn,
  noPermission,
  noSuchMethod,
  notRegistered,
  numberIn,
  type Payload,
  Refusal,
  textIn,
} from "./wire.ts";

/** The connection of a request. */
export interface Caller {
  /** A URL on the port of the connection; `wss` or `https` on the secure one. */
  url(scheme: "ws" | "http", path: string): string;
  /** Closes the connection without a response. */
  hangUp(): void;
}

interface Common {
  /** The required permission; null if registration is enough. */
  readonly permission: string | null;
  /** Whether the firmware has it. Default: every firmware. */
  exists?(model: Model): boolean;
}

/** An endpoint that does something. Null means no response. */
interface Action extends Common {
  answer(model: Model, payload: Payload, caller: Caller): Payload | null;
}

/** An endpoint that can be read, and subscribed to for changes. */
export interface Reading extends Common {
  readonly topic: Topic;
  readonly subscribeOnly?: boolean;
  read(model: Model, caller: Caller): Payload;
  /** The payload after a change, if it differs from that of a request. */
  push?(model: Model, detail: Payload): Payload;
}

type Endpoint = Action | Reading;

/** Endpoints by URI without `ssap://`. */
type Endpoints = Readonly<Record<string, Endpoint>>;

const DONE: Payload = {};
const MAX = 100;

const action = (permission: string | null, answer: Action["answer"], exists?: Common["exists"]): Action => ({
  permission,
  answer,
  ...(exists && { exists }),
});

const reading = (
  permission: string,
  topic: Topic,
  read: Reading["read"],
  more: Pick<Reading, "push" | "exists" | "subscribeOnly"> = {},
): Reading => ({ permission, topic, read, ...more });

const apps: Endpoints = {
  // Empty when the set is off (smart-tvs.md 2.4).
  "com.webos.applicationManager/getForegroundAppInfo": reading("READ_RUNNING_APPS", "app", ({ power, active }) => ({
    appId: power === "on" ? active : "",
    windowId: "",
    processId: "",
  })),
  "com.webos.applicationManager/listLaunchPoints": reading("READ_INSTALLED_APPS", "apps", (model, caller) => ({
    caseDetail: { serviceCountryCode: "GBR", change: [] },
    launchPoints: model.apps.filter(({ hidden }) => !hidden).map((app) => launchPoint(app, model, caller)),
  })),
  // Also those that are no launch points (smart-tvs.md 2.4).
  "com.webos.applicationManager/listApps": action("READ_INSTALLED_APPS", (model, _payload, caller) => ({
    apps: model.apps.map((app) => ({ ...launchPoint(app, model, caller), visible: !app.hidden })),
  })),
  "system.launcher/launch": action("LAUNCH", launchApp),
  "system.launcher/open": action("LAUNCH", (model, payload) => {
    launch(model, { id: BROWSER, contentId: null, params: { target: textIn(payload, "target") } });
    return { id: BROWSER, sessionId: sessionId(BROWSER) };
  }),
  // Another name of the same call, used to play a URL (CONTROLS.md).
  "com.webos.applicationManager/launch": action("LAUNCH", launchApp),
  // Gets 500 on a C1 and a C8 (CONTROLS.md); clients launch the media app instead.
  "media.viewer/open": action("LAUNCH", () => {
    throw new Refusal("500 Application error");
  }),
  "system.launcher/close": action("CLOSE", (model, payload) => {
    const id = textIn(payload, "id");
    // For an app that does not run, the sources say only that it is an application error.
    if (!model.running.has(id)) throw applicationError(-1000, `"${id}" is not running`);
    closeApp(model, id);
    return { sessionId: sessionId(id) };
  }),
};

function launchApp(model: Model, payload: Payload): Payload {
  const id = textIn(payload, "id");
  if (!model.apps.some((app) => app.id === id))
    throw applicationError(-101, `"${id}" was not found OR Unsupported Application Type`);
  const contentId = typeof payload["contentId"] === "string" ? payload["contentId"] : null;
  const params = objectIn(payload["params"]);
  launch(model, { id, contentId, params });
  if (id === model.firmware.mediaApp && Array.isArray(params["payload"])) setPlayback(model, "playing");
  return { id, sessionId: sessionId(id) };
}

function launchPoint(app: SimulatedApp, { options }: Model, caller: Caller): Payload {
  const icon = options.iconAt(caller.url("http", `/resources/${options.seed.slice(0, 40)}/${app.id}.png`));
  return {
    id: app.id,
    launchPointId: `${app.id}_default`,
    title: app.title,
    icon,
    largeIcon: icon,
    systemApp: app.system ?? false,
    removable: !app.system,
    params: {},
  };
}

const sessionId = (id: string) => Buffer.from(`${id}:undefined`).toString("base64");

const SOUND = "CONTROL_AUDIO";

const audio: Endpoints = {
  "audio/getVolume": reading(SOUND, "volume", (model) => volumeOf(model, {}), { push: volumeOf }),
  "audio/getStatus": reading(SOUND, "volume", (model) => statusOf(model, {}), { push: statusOf }),
  "audio/setVolume": action(SOUND, (model, payload) => {
    const level = numberIn(payload, "volume");
    // With a soundbar on ARC the call is accepted and ignored (smart-tvs.md 2.5).
    if (!onArc(model)) setVolume(model, level, "setVolume");
    return stepped(model);
  }),
  "audio/volumeUp": action(SOUND, (model) => step(model, 1)),
  "audio/volumeDown": action(SOUND, (model) => step(model, -1)),
  "audio/setMute": action(SOUND, (model, payload) => {
    setMuted(model, flagIn(payload, "mute"), "setMuted");
    return DONE;
  }),
};

function volumeOf(model: Model, { changed, cause }: Payload): Payload {
  const { firmware, muted } = model;
  const { soundOutput } = model.options;
  if (firmware.volume === "flat") {
    const scenario = `mastervolume_${soundOutput}`;
    const status = { scenario, active: false, volumeMax: MAX, volume: levelOf(model), muted };
    return changed === undefined
      ? { ...status, action: "requested" }
      : { ...status, action: "changed", changed, cause };
  }
  const volumeStatus = {
    activeStatus: true,
    adjustVolume: true,
    maxVolume: MAX,
    muteStatus: muted,
    volume: levelOf(model),
    mode: "normal",
    soundOutput,
    ...(cause === undefined ? {} : { cause }),
  };
  return { volumeStatus, callerId: "secondscreen.client" };
}

function statusOf(model: Model, detail: Payload): Payload {
  return { ...volumeOf(model, detail), volume: levelOf(model), mute: model.muted };
}

const onArc = (model: Model) => model.options.soundOutput === "external_arc";
const levelOf = (model: Model) => (onArc(model) ? -1 : model.volume);

function step(model: Model, by: 1 | -1): Payload {
  stepVolume(model, by, by > 0 ? "volumeUp" : "volumeDown");
  return stepped(model);
}

/** Newer firmware returns the new level. */
function stepped(model: Model): Payload {
  if (model.firmware.volume === "flat") return DONE;
  return { volume: levelOf(model), soundOutput: model.options.soundOutput };
}

const inputs: Endpoints = {
  "tv/getExternalInputList": reading("READ_INPUT_DEVICE_LIST", "inputs", (model) => ({
    devices: model.options.inputs.map((input, at) => ({
      ...input,
      port: at + 1,
      favorite: false,
      subList: [],
      subCount: 0,
    })),
  })),
  "tv/switchInput": action("CONTROL_INPUT_TV", (model, payload) => {
    const id = textIn(payload, "inputId");
    const input = model.options.inputs.find((one) => one.id === id);
    // No source gives the error code of an unknown input.
    if (input === undefined) throw applicationError(-1, `no such input: ${id}`);
    bringToFront(model, input.appId);
    return DONE;
  }),
  "tv/channelUp": action("CONTROL_INPUT_TV", (model) => stepChannel(model, 1)),
  "tv/channelDown": action("CONTROL_INPUT_TV", (model) => stepChannel(model, -1)),
  // By channel id; no source gives the error code of an unknown one.
  "tv/openChannel": action("CONTROL_INPUT_TV", (model, payload) => {
    const id = textIn(payload, "channelId");
    const channel = CHANNELS.find((one) => channelOf(one)["channelId"] === id);
    if (channel === undefined) throw applicationError(-1, `no such channel: ${id}`);
    tune(model, channel);
    return DONE;
  }),
  "tv/getCurrentChannel": reading("READ_CURRENT_CHANNEL", "channel", (model) => {
    const { active, activeSince, options, channel, power } = model;
    const settled = Date.now() - activeSince >= options.channelMs;
    // Fails with 500 in the first 2 s or so of live TV (smart-tvs.md 2.4).
    if (power !== "on" || active !== LIVE_TV || channel === null || !settled)
      throw applicationError(-1000, "live TV is not ready");
    return channelOf(channel);
  }),
  "tv/getChannelList": action("READ_TV_CHANNEL_LIST", (model, _payload, caller) => {
    if (model.options.tuner) return { channelList: CHANNELS.map(channelOf) };
    // A set without a tuner closes the socket (smart-tvs.md 2.5).
    caller.hangUp();
    return null;
  }),
};

function stepChannel(model: Model, by: 1 | -1): Payload {
  changeChannel(model, by);
  return DONE;
}

function channelOf({ number, name }: SimulatedChannel): Payload {
  const channelId = `1_${number}`;
  return { channelId, channelNumber: number, channelName: name, channelMode: "Terrestrial" };
}

const PLAYBACK = "CONTROL_INPUT_MEDIA_PLAYBACK";

const media: Endpoints = {
  "com.webos.media/getForegroundAppInfo": reading(
    "READ_APP_STATUS",
    "media",
    ({ playback }) => ({
      foregroundAppInfo:
        playback === null ? [] : [{ ...playback, type: "media", mediaId: "_media_1", windowId: "_Window_Id_1" }],
    }),
    { exists: ({ firmware }) => firmware.media },
  ),
  "media.controls/play": control("playing"),
  "media.controls/pause": control("paused"),
  "media.controls/stop": control(null),
  // These move the position, which the set does not report.
  "media.controls/rewind": action(PLAYBACK, () => DONE),
  "media.controls/fastForward": action(PLAYBACK, () => DONE),
};

function control(playState: PlayState | null): Endpoint {
  return action(PLAYBACK, (model) => {
    if (model.playback !== null) setPlayback(model, playState);
    return DONE;
  });
}

const power: Endpoints = {
  "com.webos.service.tvpower/power/getPowerState": reading(
    "READ_POWER_STATE",
    "power",
    (model) => ({
      state: powerState(model),
      ...(model.processing === null ? {} : { processing: model.processing }),
    }),
    { exists: ({ firmware }) => firmware.powerState },
  ),
  "system/turnOff": action("CONTROL_POWER", (model) => {
    // In standby this turns the set on (smart-tvs.md 2.5).
    model.togglePower();
    return DONE;
  }),
  "com.webos.service.tvpower/power/turnOnScreen": turnOnScreen("tvpower"),
  "com.webos.service.tv.power/turnOnScreen": turnOnScreen("tv.power"),
};

/** Always refused, because the screen of this set is never off: code -102 (smart-tvs.md 2.5); no source gives the text. */
function turnOnScreen(service: Model["firmware"]["screen"]): Endpoint {
  const refuse: Action["answer"] = (model) => {
    throw applicationError(-102, `the screen cannot be turned on in state "${powerState(model)}"`);
  };
  return action("CONTROL_TV_SCREEN", refuse, ({ firmware }) => firmware.screen === service);
}

/** The only endpoint that needs no registration (smart-tvs.md 2.3). */
const SYSTEM_INFO = "system/getSystemInfo";

const system: Endpoints = {
  [SYSTEM_INFO]: action(null, systemInfo),
  // Some clients end the connection without it (aiowebostv).
  "com.webos.service.update/getCurrentSWInformation": action("READ_UPDATE_INFO", ({ firmware, options }) => {
    const [major = "", ...minor] = firmware.release.split(".");
    const versions = { major_ver: major.padStart(2, "0"), minor_ver: minor.join(".") };
    return {
      product_name: "webOSTV",
      model_name: options.model,
      sw_type: "FIRMWARE",
      ...versions,
      device_id: options.mac,
    };
  }),
  "com.webos.service.connectionmanager/getinfo": action("READ_NETWORK_STATE", ({ options }) => ({
    subscribed: false,
    wiredInfo: { macAddress: options.mac },
    wifiInfo: { macAddress: options.wifiMac },
    p2pInfo: { macAddress: `06${options.wifiMac.slice(2)}` },
  })),
  "system.notifications/createToast": action("WRITE_NOTIFICATION_TOAST", (model, payload) => {
    const message = pushCapped(model.received.toasts, textIn(payload, "message"));
    model.emit("toast", `toast "${message}"`);
    return { toastId: `com.webos.service.apiadapter-${model.received.toasts.length}` };
  }),
  "com.webos.service.networkinput/getPointerInputSocket": action("CONTROL_MOUSE_AND_KEYBOARD", (model, _, caller) => {
    const path = `/resources/${randomBytes(20).toString("hex")}/netinput.pointer.sock`;
    model.pointerPaths.add(path);
    return { socketPath: caller.url("ws", path) };
  }),
};

function systemInfo({ options }: Model): Payload {
  return {
    features: { "3d": false, dvr: true },
    receiverType: options.tuner ? "dvb" : "none",
    modelName: options.model,
  };
}

const TYPING = "CONTROL_INPUT_TEXT";

const text: Endpoints = {
  // The focus is reported to subscribers only (smart-tvs.md 2.4).
  "com.webos.service.ime/registerRemoteKeyboard": reading(
    TYPING,
    "keyboard",
    (model) => ({ currentWidget: widgetOf(model) }),
    { subscribeOnly: true, push: (model, detail) => ({ ...detail, currentWidget: widgetOf(model) }) },
  ),
  "com.webos.service.ime/insertText": action(TYPING, (model, payload) => {
    typeText(model, textIn(payload, "text"), payload["replace"] === 1 || payload["replace"] === true);
    return DONE;
  }),
  "com.webos.service.ime/deleteCharacters": action(TYPING, (model, payload) => {
    const count = numberIn(payload, "count");
    if (model.focused && count > 0) model.text = [...model.text].slice(0, -count).join("");
    return DONE;
  }),
  "com.webos.service.ime/sendEnterKey": action(TYPING, () => DONE),
};

function widgetOf({ focused, text: typed }: Model): Payload {
  if (!focused) return { focus: false };
  const length = [...typed].length;
  return {
    focus: true,
    contentType: "text",
    hiddenText: false,
    predictionEnabled: true,
    correctionEnabled: false,
    autoCapitalizationEnabled: true,
    hasSurroundingText: length > 0,
    surroundingTextLength: length,
    cursorPosition: length,
  };
}

const SCHEME = "ssap://";
const ENDPOINTS: Endpoints = { ...apps, ...audio, ...inputs, ...media, ...power, ...system, ...text };

/** The endpoint at a URI. `granted` is null for a client that is not registered. Throws a `Refusal`. */
export function endpointAt(model: Model, uri: string, granted: ReadonlySet<string> | null): Endpoint {
  const path = uri.startsWith(SCHEME) ? uri.slice(SCHEME.length) : "";
  const endpoint = Object.hasOwn(ENDPOINTS, path) ? ENDPOINTS[path] : undefined;
  if (granted === null) throw notRegistered();
  if (endpoint === undefined || endpoint.exists?.(model) === false) throw noSuchMethod();
  if (path === SYSTEM_INFO && model.firmware.systemInfo === "before-registration") throw noPermission();
  // A client without any permission gets 401 for everything (smart-tvs.md 2.3).
  if (granted.size === 0 || (endpoint.permission !== null && !granted.has(endpoint.permission))) throw noPermission();
  return endpoint;
}

/** The response that needs no registration; null for every other URI. */
export function publicAnswer(model: Model, uri: string): Payload | null {
  if (model.firmware.systemInfo === "after-registration") return null;
  return uri === `${SCHEME}${SYSTEM_INFO}` ? systemInfo(model) : null;
}
