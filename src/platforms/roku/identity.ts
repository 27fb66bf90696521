/** Reads the identity and the facts of a Roku. Pure. Facts and their evidence: protocols/roku.md, by section. */
import { z } from "zod";
import { protocolError } from "../../api/errors.ts";
import { readMac } from "../../transport/wake-on-lan.ts";
import { child, childText, type Element, readXml } from "../../transport/xml.ts";
import type { Access, Address, Facts, Kind, Power, SsdpAnswer, Target } from "../platform.ts";
import { locationOf } from "../query.ts";

/** Old files hold `yes` and `no`. */
const flag = z.union([z.boolean(), z.enum(["yes", "no"]).transform((word) => word === "yes")]);

/** What zapd remembers of a Roku beyond its facts. */
export const rokuMemory = z
  .object({
    /** Whether the model has the keys of each group (1.3). */
    volume: flag,
    power: flag,
    inputs: flag,
    /** Whether its developer mode is on; missing where it does not report it. */
    developer: flag,
    /** The realm under which the developer installer last accepted the password (2.1). */
    dev_realm: z.string().max(512),
  })
  .partial();

export type RokuMemory = z.infer<typeof rokuMemory>;
export type RokuTarget = Target<RokuMemory>;

/** What one document of a set reports about it. */
export interface RokuIdentity {
  readonly facts: Facts;
  readonly memory: RokuMemory;
  /** Its serial number where it reports one, then the ids that may stand for it; the first is its identity. */
  readonly ids: readonly string[];
}

/** `/query/device-info` (1.3): every element may be missing or empty. */
export function readDeviceInfo(text: string): RokuIdentity & { readonly power: Power } {
  const info = readXml(text);
  const read = (name: string) => childText(info, name);
  const serial = read("serial-number");
  // A document with a serial number is accepted whatever its root is called.
  if (!serial && info.name !== "device-info") throw protocolError("does not answer as a Roku does");
  const kind = kindOf(info);
  const ids = idsOf(serial, read("udn"), read("device-id"));
  return {
    ids,
    facts: {
      serial,
      name: read("user-device-name") ?? read("friendly-device-name") ?? read("default-device-name") ?? modelName(info),
      kind,
      manufacturer: read("vendor-name"),
      model: read("model-name") ?? read("friendly-model-name") ?? read("model-number"),
      macs: macsOf(info),
      softwareVersion: read("software-version"),
      access: accessOf(read("ecp-setting-mode")),
    },
    memory: memoryOf(info, kind),
    power: powerOf(read("power-mode"), kind),
  };
}

/** Reads `GET /` (1.1), the only document in disabled mode. Its manufacturer is the brand, never `Roku`. */
export function readDescription(text: string): RokuIdentity {
  const device = child(readXml(text, "root"), "device");
  const read = (name: string) => childText(device, name);
  if (!read("deviceType")?.startsWith("urn:roku-com:device:player"))
    throw protocolError("does not answer as a Roku does");
  const serial = read("serialNumber");
  const ids = idsOf(serial, read("UDN"), null);
  return {
    ids,
    facts: {
      serial,
      name: read("friendlyName"),
      kind: "unknown",
      manufacturer: read("manufacturer"),
      model: read("modelName") ?? read("modelNumber"),
      macs: [],
      softwareVersion: null,
      access: null,
    },
    memory: {},
  };
}

/** The `udn` stands in both documents, with `uuid:` before it in one. */
function idsOf(serial: string | null, udn: string | null, deviceId: string | null): string[] {
  return [serial, udn?.replace(/^uuid:/i, "").toLowerCase() || null, deviceId].filter((id) => id !== null);
}

function modelName(info: Element): string | null {
  const parts = [childText(info, "vendor-name"), childText(info, "model-name")].filter((part) => part !== null);
  return parts.length > 0 ? parts.join(" ") : null;
}

function kindOf(info: Element): Kind {
  if (isTrue(info, "is-tv")) return "tv";
  // 9101X reads is-tv=false, is-stick=false (1.3). Roku lists 9102X and 9104X as Streambar (rokudev/dev-doc, hardware.md).
  if (/soundbar|streambar|speaker/i.test(childText(info, "model-name") ?? "")) return "soundbar";
  if (child(info, "is-tv") || child(info, "is-stick")) return "player";
  // Firmware 7 has neither, but a TV reports its screen (TCL 55FS3700, bschlenk/homebridge-roku#9).
  return childText(info, "screen-size") ? "tv" : "unknown";
}

function macsOf(info: Element): string[] {
  const wired = childText(info, "ethernet-mac");
  const wireless = childText(info, "wifi-mac");
  const inUseFirst = childText(info, "network-type") === "ethernet" ? [wired, wireless] : [wireless, wired];
  return inUseFirst.map((mac) => readMac(mac)).filter((mac) => mac !== null);
}

/** Old firmware has no modes, and so no restriction (1.3). */
function accessOf(mode: string | null): Access {
  return mode === "limited" || mode === "disabled" ? mode : "full";
}

function powerOf(mode: string | null, kind: Kind): Power {
  if (mode === null) return "unknown";
  // It answers, so it is in standby whatever it calls that; `off` means that it does not answer.
  if (mode.toLowerCase() !== "poweron") return "standby";
  // A player keeps PowerOn while its TV is off (HA core#172200).
  return kind === "tv" || kind === "soundbar" ? "on" : "unknown";
}

/** A TV has its own sound, power and inputs; a player has sound and power where it controls the TV over CEC or infrared (1.3). */
function memoryOf(info: Element, kind: Kind): RokuMemory {
  const any = (...names: string[]) => names.some((name) => isTrue(info, name));
  const developer = childText(info, "developer-enabled");
  return {
    volume: kind !== "player" || any("supports-audio-volume-control", "supports-cec-audio-volume-control"),
    power: kind !== "player" || any("supports-tv-power-control", "supports-cec-power-control"),
    inputs: kind === "tv" || kind === "unknown",
    ...(developer && { developer: developer === "true" }),
  };
}

function isTrue(info: Element, name: string): boolean {
  return childText(info, name) === "true";
}

/** Reads an answer to the search for `roku:ecp` (1.1); `null` for other devices, which answer the multicast too. */
export function readSearchAnswer(answer: SsdpAnswer): Address | null {
  const usn = answer.headers.get("usn") ?? "";
  if (answer.headers.get("st")?.toLowerCase() !== "roku:ecp" && !/^uuid:roku:ecp:/i.test(usn)) return null;
  const place = locationOf(answer);
  return place && { host: place.host, port: place.port };
}
