/** Messages of a Samsung TV, read and written. Pure. Facts and their evidence: protocols/smart-tvs.md 3. */
import { DeviceError, protocolError } from "../../api/errors.ts";
import { asJson, type Json, listOf, readJson, text } from "../../transport/json.ts";
import { readMac } from "../../transport/wake-on-lan.ts";
import { decode } from "../../transport/xml.ts";
import type { DeepLink, Facts, PlatformApp, Power } from "../platform.ts";
import type { SamsungMemory } from "./memory.ts";
import { knownApps, samsungServices } from "./services.ts";

export const infoPath = "/api/v2/";
export const appPath = (id: string) => `/api/v2/applications/${encodeURIComponent(id)}`;

/** The TV's list of accepted clients is keyed on this name, so it must never change (3.2). */
const ownName = Buffer.from("zapd").toString("base64");

/** The WebSocket path of the remote, with the token. */
export function channelPath(token: string | null): string {
  const query = `name=${encodeURIComponent(ownName)}${token === null ? "" : `&token=${encodeURIComponent(token)}`}`;
  return `/api/v2/channels/samsung.remote.control?${query}`;
}

/** What a TV reports about itself without pairing (3.1). */
export interface Info {
  /** `null` where it has none. */
  readonly duid: string | null;
  /** `null` where it reports none. */
  readonly power: Power | null;
  readonly facts: Facts;
  readonly memory: SamsungMemory & { readonly token: boolean };
}

/** Fails with `device_error` where it is not a TV that zapd can control. */
export function readInfo(body: string): Info {
  const device = asJson(asJson(readJson(body))["device"]);
  // Some escape the name as in HTML: 43&quot; The Frame (NickWaterton/samsung-tv-ws-api#3).
  const [name, model] = [decode(text(device["name"]) ?? ""), text(device["modelName"])];
  const duid = readDuid(device["duid"]) ?? readDuid(device["udn"]);
  const token = device["TokenAuthSupport"];
  if (duid === null && model === null && token === undefined) throw protocolError("is not a Samsung TV");
  const type = text(device["type"]) ?? "Samsung SmartTV";
  if (type !== "Samsung SmartTV") throw noTelevision(type);
  const year = yearOf(text(device["model"]));
  if (year === undefined ? /^.{4}[HJ]/.test(model ?? "") : year < 2016) throw encrypted();
  const { PowerState } = device;
  const state = typeof PowerState === "string" ? PowerState.toLowerCase() : null;
  // Always the Wi-Fi address (1.2): no packet to it wakes a TV on a cable.
  const mac = text(device["networkType"]) === "wired" ? null : readMac(device["wifiMac"]);
  return {
    duid,
    // Some that have been off for a while report nothing here (tavicu/homebridge-samsung-tizen#702, #594).
    power: state === "on" ? "on" : state === "standby" || state === "" ? "standby" : null,
    facts: {
      name: name.replace(/^\[TV\]\s*/, "") || null,
      kind: "tv",
      manufacturer: "Samsung",
      model,
      serial: null,
      macs: mac === null ? [] : [mac],
      softwareVersion: null,
      access: isTrue(token) ? null : "full",
    },
    memory: {
      token: isTrue(token),
      saysPower: state !== null,
      frame: isTrue(device["FrameTVSupport"]),
      ...(year !== undefined && { year }),
    },
  };
}

/** Soundbars and monitors answer here, too (3.1). */
function noTelevision(type: string): DeviceError {
  return new DeviceError("device_error", `is not a TV: it reports that it is a "${type.slice(0, 64)}"`, {
    phase: "answered",
    reason: "protocol",
    hint: "Run zapd discover: if it can play files from the network, it is found as a renderer",
  });
}

/** TVs of 2014 and 2015 answer here, too (3.1). */
function encrypted(): DeviceError {
  return new DeviceError(
    "device_error",
    "is a TV of 2014 or 2015, which uses an encrypted protocol that zapd does not support",
    {
      phase: "answered",
      reason: "protocol",
      hint: "zapd supports Samsung TVs of 2016 and newer",
    },
  );
}

/** A colon would mark it as a stand-in. */
function readDuid(value: unknown): string | null {
  return (
    text(value)
      ?.trim()
      .toLowerCase()
      .replace(/^uuid:/, "")
      .replaceAll(":", "-") || null
  );
}

/** `24_KANTSU2E_UB` begins with the model year. */
function yearOf(model: string | null): number | undefined {
  const digits = /^(\d\d)_/.exec(model ?? "")?.[1];
  return digits === undefined ? undefined : 2000 + Number(digits);
}

/** Booleans are texts in some places. */
function isTrue(value: unknown): boolean {
  return value === true || value === "true";
}

/** An app of the TV, and whether it is on the screen. */
export interface AppStatus {
  readonly app: PlatformApp;
  readonly visible: boolean;
}

/** `GET /api/v2/applications/<id>` (3.3). */
export function readAppStatus(id: string, body: string): AppStatus {
  const status = asJson(readJson(body));
  return { app: appOf(id, text(status["name"])), visible: isTrue(status["visible"]) };
}

export function appOf(platformId: string, name: string | null): PlatformApp {
  const id = samsungServices.get(platformId);
  const known = knownApps.find(([one]) => one === platformId)?.[2];
  return { platformId, name: name ?? known ?? platformId, type: "app", version: null, id };
}

export type ListedApp = NonNullable<SamsungMemory["apps"]>[number];

/**
 * `ed.installedApp.get`: each app once; `null` where the TV does not list them (3.4), or lists none, as many of
 * 2020 and newer (0). Apps of type 4 have no status (3.3).
 */
export function readApps(data: unknown): ListedApp[] | null {
  const apps = listOf(asJson(data), "data", 200).flatMap((app) => {
    const id = text(app["appId"]);
    return id === null || !isSamsungAppId(id)
      ? []
      : [{ id, name: text(app["name"]) ?? id, native: app["app_type"] === 4 }];
  });
  return apps.length === 0 ? null : [...new Map(apps.map((app) => [app.id, app])).values()];
}

/** Numbers of eight or more digits, and ids with a dot, such as `org.tizen.browser`. */
export function isSamsungAppId(id: string): boolean {
  return /^(\d{8,20}|[a-z0-9][\w-]*(\.[\w-]+)+)$/i.test(id) && id.length <= 128;
}

/** The launch data: the content id, or all other parameters as a query string. */
export function metaTagOf(link: DeepLink): string {
  const { content_id, contentId = content_id, media_type: _type, ...rest } = link;
  return contentId ?? new URLSearchParams(rest).toString();
}

/** A token is kept as text; some TVs send a number (3.2). */
export function readToken(data: Json): string | null {
  const value = data["token"];
  const token = typeof value === "number" ? String(value) : text(value);
  return token !== null && /^[\x21-\x7e]{1,256}$/.test(token) ? token : null;
}

const control = (params: Json) => JSON.stringify({ method: "ms.remote.control", params });
const emit = (params: Json) => JSON.stringify({ method: "ms.channel.emit", params });

export const messages = {
  key: (code: string, how: "Click" | "Press" | "Release") =>
    control({ Cmd: how, DataOfCmd: code, Option: "false", TypeOfRemote: "SendRemoteKey" }),
  text: (text: string) =>
    control({ Cmd: Buffer.from(text).toString("base64"), DataOfCmd: "base64", TypeOfRemote: "SendInputString" }),
  textEnd: () => control({ TypeOfRemote: "SendInputEnd" }),
  apps: () => emit({ event: "ed.installedApp.get", to: "host" }),
  launch: (appId: string, native: boolean, metaTag: string) => {
    const data = { action_type: native ? "NATIVE_LAUNCH" : "DEEP_LINK", appId, metaTag };
    return emit({ event: "ed.apps.launch", to: "host", data });
  },
};
