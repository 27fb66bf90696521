/** What a Samsung TV says, read into zapd's words, and what is said to it. Pure. Facts and their evidence: protocols/smart-tvs.md 3. */
import { DeviceError, protocolError } from "../../api/errors.ts";
import { asJson, isJson, type Json, listOf, readJson, text } from "../../transport/json.ts";
import { readMac } from "../../transport/wake-on-lan.ts";
import type { DeepLink, Facts, PlatformApp, Power } from "../platform.ts";
import type { SamsungMemory } from "./memory.ts";
import { knownApps, samsungServices } from "./services.ts";

/** Where the TV says who it is, and where its apps are. */
export const infoPath = "/api/v2/";
export const appPath = (id: string) => `/api/v2/applications/${encodeURIComponent(id)}`;

/** The name by which the TV knows zapd: its list of those that it lets in is kept by it, so that it must never change (3.2). */
const ownName = Buffer.from("zapd").toString("base64");

/** The channel of the remote, with the token that lets us in. */
export function channelPath(token: string | null): string {
  const query = `name=${encodeURIComponent(ownName)}${token === null ? "" : `&token=${encodeURIComponent(token)}`}`;
  return `/api/v2/channels/samsung.remote.control?${query}`;
}

/** What a TV says of itself to everybody (3.1). */
export interface Info {
  /** `null` where it does not say. */
  readonly duid: string | null;
  /** `null` of those that do not tell it. */
  readonly power: Power | null;
  readonly facts: Facts;
  readonly memory: SamsungMemory & { readonly token: boolean };
}

/** Reads it. Fails with `device_error` where it is no TV that is driven so. */
export function readInfo(body: string): Info {
  const said = readJson(body);
  const device = isJson(said) ? asJson(said["device"]) : {};
  const [name, model, duid] = [text(device["name"]), text(device["modelName"]), readDuid(device["duid"])];
  const token = device["TokenAuthSupport"];
  if (duid === null && model === null && token === undefined)
    throw protocolError("says nothing that a Samsung set says");
  const type = text(device["type"]) ?? "Samsung SmartTV";
  if (type !== "Samsung SmartTV") throw noTelevision(type);
  const year = yearOf(text(device["model"]));
  if (year === undefined ? /^.{4}[HJ]/.test(model ?? "") : year < 2016) throw encrypted();
  const state = text(device["PowerState"])?.toLowerCase();
  // It is the address of its Wi-Fi, whichever it uses (1.2): a packet to that wakes no TV on a cable.
  const mac = text(device["networkType"]) === "wired" ? null : readMac(device["wifiMac"]);
  return {
    duid,
    power: state === "on" ? "on" : state === "standby" ? "standby" : null,
    facts: {
      name: name?.replace(/^\[TV\]\s*/, "") || null,
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
      saysPower: state !== undefined,
      frame: isTrue(device["FrameTVSupport"]),
      ...(year !== undefined && { year }),
    },
  };
}

/** A soundbar or a monitor, which answers here, too (3.1). */
function noTelevision(type: string): DeviceError {
  return new DeviceError("device_error", `is no television: it says that it is a "${type.slice(0, 64)}"`, {
    phase: "answered",
    reason: "protocol",
    hint: "If it plays what it is handed over the network, a search finds it as a renderer: zapd discover",
  });
}

/** TVs of 2014 and 2015, which answer here, too (3.1). */
export function encrypted(): DeviceError {
  return new DeviceError("device_error", "is a set of 2014 or 2015, and speaks an encrypted protocol of its own", {
    phase: "answered",
    reason: "protocol",
    hint: "zapd drives Samsung sets of 2016 and newer",
  });
}

/** A colon would make a stand-in of it. */
function readDuid(said: unknown): string | null {
  return (
    text(said)
      ?.trim()
      .toLowerCase()
      .replace(/^uuid:/, "")
      .replaceAll(":", "-") || null
  );
}

/** `24_KANTSU2E_UB`: the year of the model stands in front. */
function yearOf(model: string | null): number | undefined {
  const digits = /^(\d\d)_/.exec(model ?? "")?.[1];
  return digits === undefined ? undefined : 2000 + Number(digits);
}

/** What is told as a text in one place is none in another. */
function isTrue(said: unknown): boolean {
  return said === true || said === "true";
}

/** An app as the TV has it now: whether it is on the screen. */
export interface AppNow {
  readonly app: PlatformApp;
  readonly visible: boolean;
}

/** `GET /api/v2/applications/<id>` (3.3). */
export function readAppNow(id: string, body: string): AppNow {
  const said = asJson(readJson(body));
  return { app: appOf(id, text(said["name"]), text(said["version"])), visible: isTrue(said["visible"]) };
}

export function appOf(platformId: string, name: string | null, version: string | null = null): PlatformApp {
  const id = samsungServices.get(platformId);
  const known = knownApps.find(([one]) => one === platformId)?.[2];
  return { platformId, name: name ?? known ?? platformId, type: "app", version, ...(id !== undefined && { id }) };
}

export type ListedApp = NonNullable<SamsungMemory["apps"]>[number];

/** `ed.installedApp.get`: each app once; `null` where it keeps its list to itself (3.4). Those of type 4 have no state (3.3). */
export function readApps(data: unknown): ListedApp[] | null {
  const list = asJson(data);
  if (!Array.isArray(list["data"])) return null;
  const apps = listOf(list, "data", 200).flatMap((app) => {
    const id = text(app["appId"]);
    return id === null || !isSamsungAppId(id)
      ? []
      : [{ id, name: text(app["name"]) ?? id, native: app["app_type"] === 4 }];
  });
  return [...new Map(apps.map((app) => [app.id, app])).values()];
}

/** Numbers of eight digits and more, and ids with a dot, as `org.tizen.browser`. */
export function isSamsungAppId(given: string): boolean {
  return /^(\d{8,20}|[a-z0-9][\w-]*(\.[\w-]+)+)$/i.test(given) && given.length <= 128;
}

/** What an app is started with: one text, made of what it is to show, or of all that was given. */
export function metaTagOf(given: DeepLink): string {
  const { content_id, contentId = content_id, media_type: _type, ...rest } = given;
  return contentId ?? new URLSearchParams(rest).toString();
}

/** A token is a text, though some TVs say it as a number (3.2). */
export function readToken(data: Json): string | null {
  const said = data["token"];
  const token = typeof said === "number" ? String(said) : text(said);
  return token !== null && /^[\x21-\x7e]{1,256}$/.test(token) ? token : null;
}

const control = (params: Json) => JSON.stringify({ method: "ms.remote.control", params });
const emitted = (params: Json) => JSON.stringify({ method: "ms.channel.emit", params });

/** Messages (3.3). */
export const messages = {
  key: (code: string, how: "Click" | "Press" | "Release") =>
    control({ Cmd: how, DataOfCmd: code, Option: "false", TypeOfRemote: "SendRemoteKey" }),
  text: (given: string) =>
    control({ Cmd: Buffer.from(given).toString("base64"), DataOfCmd: "base64", TypeOfRemote: "SendInputString" }),
  textEnd: () => control({ TypeOfRemote: "SendInputEnd" }),
  apps: () => emitted({ event: "ed.installedApp.get", to: "host" }),
  launch: (appId: string, native: boolean, metaTag: string) => {
    const data = { action_type: native ? "NATIVE_LAUNCH" : "DEEP_LINK", appId, metaTag };
    return emitted({ event: "ed.apps.launch", to: "host", data });
  },
};
