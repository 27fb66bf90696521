import { element, xmlDocument } from "../xml.ts";
import type { Model } from "./model.ts";
import type { Identity, RokuKind } from "./options.ts";

/** The UPnP description at `/`: manufacturer is the brand, modelName repeats the model number (1.1). */
export function deviceDescription(model: Model): string {
  const { vendor, model: modelName, modelNumber, serial } = model.identity;
  const service = (word: string) =>
    element("service", {}, [
      element("serviceType", {}, `urn:roku-com:service:${word}:1`),
      element("serviceId", {}, `urn:roku-com:serviceId:${word}1-0`),
      element("controlURL"),
      element("eventSubURL"),
      element("SCPDURL", {}, `${word}_SCPD.xml`),
    ]);
  const root = element("root", { xmlns: "urn:schemas-upnp-org:device-1-0" }, [
    element("specVersion", {}, [element("major", {}, "1"), element("minor", {}, "0")]),
    element("device", {}, [
      element("deviceType", {}, "urn:roku-com:device:player:1-0"),
      element("friendlyName", {}, model.name),
      element("manufacturer", {}, vendor),
      element("manufacturerURL", {}, "http://www.example.com/"),
      element("modelDescription", {}, "Roku Streaming Player Network Media"),
      element("modelName", {}, model.identity.kind === "tv" ? modelNumber : modelName),
      element("modelNumber", {}, modelNumber),
      element("modelURL", {}, "http://www.roku.com/"),
      element("serialNumber", {}, serial),
      element("UDN", {}, `uuid:${udn(model.identity)}`),
      element("serviceList", {}, [service("ecp"), service("dial")]),
    ]),
  ]);
  return `<?xml version="1.0"?>\n${root}\n`;
}

export const SERVICE_DESCRIPTION = `<?xml version="1.0"?>\n${element(
  "scpd",
  { xmlns: "urn:schemas-upnp-org:service-1-0" },
  [element("specVersion", {}, [element("major", {}, "1"), element("minor", {}, "0")])],
)}\n`;

/** `/query/device-info`. The fields and their order are those of 1.3; an empty value is an empty element. */
export function deviceInfo(model: Model): string {
  const fields = [
    ...names(model),
    ...KIND_FIELDS[model.identity.kind](model.identity),
    ...network(model),
    ...software(model),
    ...condition(model),
    ...developer(model.identity),
  ];
  const children = fields.map(([name, value]) => element(name, {}, value));
  return xmlDocument(element("device-info", {}, children));
}

type Field = readonly [name: string, value: string];

function names({ name, identity }: Model): Field[] {
  const { kind, vendor, model, modelNumber, serial, seed } = identity;
  const friendly = kind === "tv" ? `${vendor}•Roku TV` : model;
  return [
    ["udn", udn(identity)],
    ["serial-number", serial],
    ["device-id", `S${seed.slice(10, 20).toUpperCase()}`],
    ["vendor-name", vendor],
    ["model-name", model],
    ["model-number", modelNumber],
    ["model-region", "US"],
    ["is-tv", String(kind === "tv")],
    ["is-stick", String(kind === "stick")],
    ["friendly-device-name", name === "" ? friendly : name],
    ["friendly-model-name", friendly],
    ["default-device-name", `${friendly} - ${serial}`],
    ["user-device-name", name],
    ["user-device-location", ""],
  ];
}

// Fields a kind of set has and the others do not (1.3).
const KIND_FIELDS: Readonly<Record<RokuKind, (identity: Identity) => Field[]>> = {
  tv: ({ screenSize }) => [
    ["screen-size", screenSize],
    ["panel-id", "7"],
    ["mobile-has-live-tv", "true"],
    ["ui-resolution", "1080p"],
    ["tuner-type", "ATSC"],
    ["supports-warm-standby", "true"],
    ["supports-private-listening-dtv", "true"],
    ["trc-version", "3.0"],
    ["trc-channel-version", "9.8.7"],
  ],
  stick: () => [["ui-resolution", "1080p"], ["is-powered-by-tv", "false"], ...PLAYER_FIELDS],
  box: () => [["ui-resolution", "1080p"], ["find-remote-is-possible", "true"], ...PLAYER_FIELDS],
  soundbar: () => [["mobile-has-live-tv", "true"], ["ui-resolution", "1080p"], ...PLAYER_FIELDS],
};

const PLAYER_FIELDS: readonly Field[] = [
  ["supports-cec-power-control", "true"],
  ["supports-cec-audio-volume-control", "true"],
];

function network({ identity }: Model): Field[] {
  const ethernet: Field[] = identity.kind === "box" ? [["ethernet-mac", identity.mac]] : [];
  return [
    ["supports-ethernet", String(identity.kind === "box")],
    ...ethernet,
    ["wifi-mac", identity.mac],
    ["wifi-driver", "simulated"],
    ["has-wifi-5G-support", "true"],
    ["network-type", "wifi"],
    ["network-name", "Simulated “Wi-Fi”"],
  ];
}

// Firmware up to 11 has no ecp-setting-mode and no ui-software-version (1.3).
function software({ identity, access }: Model): Field[] {
  const { softwareVersion, legacy } = identity;
  const modern: Field[] = [
    ["ui-build-number", "ZAP.52E04242A"],
    ["ui-software-version", softwareVersion],
    ["ui-software-build", "4242"],
  ];
  return [
    ["build-number", "ZAP.52E04242A"],
    ["software-version", softwareVersion],
    ["software-build", "4242"],
    ["lightning-base-build-number", ""],
    ...(legacy ? [] : modern),
    ["secure-device", "true"],
    ...(legacy ? [] : ([["ecp-setting-mode", access]] satisfies Field[])),
    ["language", "en"],
    ["country", "US"],
    ["locale", "en_US"],
    ["time-zone-auto", "true"],
    ["time-zone", "Etc/UTC"],
    ["time-zone-offset", "0"],
    ["clock-format", "24-hour"],
  ];
}

function condition({ identity, power, bootedAt }: Model): Field[] {
  return [
    ["uptime", String(Math.floor((Date.now() - bootedAt) / 1000))],
    ["power-mode", power === "on" ? "PowerOn" : "Ready"],
    ["supports-suspend", "true"],
    ["supports-find-remote", String(identity.kind === "box")],
    ["supports-audio-guide", "true"],
    ["headphones-connected", "false"],
    ["supports-audio-settings", "false"],
    ["supports-ecs-textedit", "true"],
    ["supports-ecs-microphone", "true"],
    ["supports-wake-on-wlan", "true"],
    ["supports-airplay", "true"],
    ["search-enabled", "true"],
    ["voice-search-enabled", "true"],
    ["supports-private-listening", "true"],
    // Not a boolean for all its name (1.3).
    ["av-sync-calibration-enabled", "3.0"],
  ];
}

function developer({ developer, seed }: Identity): Field[] {
  return [
    ["developer-enabled", String(developer !== null)],
    ["keyed-developer-id", developer === null ? "" : seed.slice(0, 40)],
    ...(developer === null ? [] : ([["brightscript-debugger-version", "3.5.0"]] satisfies Field[])),
  ];
}

function udn({ seed }: Identity): string {
  return `${seed.slice(0, 8)}-${seed.slice(8, 12)}-1000-8000-${seed.slice(12, 24)}`;
}
