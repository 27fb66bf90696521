/** The documents a fake set answers with: own values, in the shapes that protocols/roku.md describes. */

export interface FakeApp {
  readonly id: string;
  readonly name: string;
  /** `null`: the attribute is missing, as on old firmware. */
  readonly type: string | null;
  readonly version: string | null;
}

export interface FakePlayback {
  state: string;
  plugin: string;
  position: number | null;
  duration: number | null;
  live: boolean;
}

export const app = (
  id: string,
  name: string,
  type: string | null = "appl",
  version: string | null = "4.2.17",
): FakeApp => ({
  id,
  name,
  type,
  version,
});

/** What a television of this street has: inputs with the user's own labels, twins, entities, non-ASCII. */
export const tvApps: readonly FakeApp[] = [
  app("tvinput.hdmi1", "Blu-ray player", "tvin", "1.0.0"),
  app("tvinput.hdmi2", "Roku", "tvin", "1.0.0"),
  app("tvinput.hdmi3", "HDMI 3 (eARC)", "tvin", "1.0.0"),
  app("tvinput.hdmi4", "Konsole von Jörg", "tvin", "1.0.0"),
  app("tvinput.cvbs", "AV", "tvin", "1.0.0"),
  app("tvinput.dtv", "Live TV", "tvin", "1.0.0"),
  app("12", "Netflix", "appl", "71.0.14"),
  app("837", "YouTube"),
  app("13", "Prime Video"),
  app("90210", "Opéra & Ballet <HD>"),
  app("31001", "Weather"),
  app("31002", "Weather"),
  app("31003", "Sports!"),
  app("31004", "sports"),
  app("77_a1b2c3", "Private Cinema"),
];

const declaration = '<?xml version="1.0" encoding="UTF-8" ?>\n';

export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

export function deviceInfo(facts: ReadonlyMap<string, string>): string {
  const lines = [...facts].map(([name, value]) =>
    value === "" ? `\t<${name} />` : `\t<${name}>${escaped(value)}</${name}>`,
  );
  return `${declaration}<device-info>\n${lines.join("\n")}\n</device-info>\n`;
}

function element(tag: string, found: FakeApp, more = ""): string {
  const type = found.type === null ? "" : ` type="${found.type}"`;
  const version = found.version === null ? "" : ` version="${found.version}"`;
  return `\t<${tag} id="${found.id}"${type}${version}${more}>${escaped(found.name)}</${tag}>\n`;
}

export function appsDocument(apps: readonly FakeApp[]): string {
  return apps.length === 0
    ? `${declaration}<apps />\n`
    : `${declaration}<apps>\n${apps.map((one) => element("app", one)).join("")}</apps>\n`;
}

/** The ways sets spell "nothing runs". */
export const homes = {
  plain: "\t<app>Roku</app>\n",
  menu: '\t<app id="562859" type="menu" version="1.8.44" ui-location="home">Roku Dynamic Menu</app>\n',
  bareMenu: '\t<app id="562859" version="1.8.44">Roku Dynamic Menu</app>\n',
  emptyId: '\t<app id="">Home</app>\n',
} as const;

export function activeApp(
  home: string,
  active: FakeApp | null,
  options: { saver?: boolean; twice?: boolean } = {},
): string {
  const first = active ? element("app", active, active.type === "appl" ? ' subtype="sdka"' : "") : home;
  const second = options.twice ? element("app", app("99999", "Shadow")) : "";
  const saver = options.saver ? element("screensaver", app("60606", "Aquarium ™", "ssvr", "3.1.0")) : "";
  return `${declaration}<active-app>\n${first}${second}${saver}</active-app>\n`;
}

export function mediaPlayer(playback: FakePlayback | null): string {
  if (!playback)
    return `${declaration}<player state="none" error="false">\n\t<plugin id="native-ui" name="Native UI" />\n</player>\n`;
  const times = [
    playback.position === null ? "" : `\t<position>${playback.position} ms</position>\n`,
    playback.duration === null ? "" : `\t<duration>${playback.duration} ms</duration>\n`,
  ];
  return (
    `${declaration}<player error="false" state="${playback.state}">\n` +
    `\t<plugin bandwidth="17834211 bps" id="${playback.plugin}" name="Player" />\n` +
    '\t<format audio="eac3" captions="none" drm="widevine" video="hevc" video_res="3840x2160" />\n' +
    '\t<buffering current="1000" max="1000" target="0" />\n\t<new_stream speed="17834211 bps" />\n' +
    `${times.join("")}\t<is_live>${playback.live}</is_live>\n` +
    '\t<stream_segment bitrate="3128000" media_sequence="7" segment_type="video" time="41" />\n</player>\n'
  );
}

export function audioDevice(volume: number, muted: boolean): string {
  const levels = `<muted>${muted}</muted>\n\t\t<volume>${volume}</volume>`;
  return (
    `${declaration}<audio-device>\n\t<capabilities>\n\t\t<all-destinations>headphones,speakers,spdif</all-destinations>\n\t</capabilities>\n` +
    `\t<global>\n\t\t${levels}\n\t\t<destination-list>speakers,spdif</destination-list>\n\t</global>\n\t<destinations>\n` +
    `\t\t<destination name="speakers">\n\t\t${levels}\n\t\t</destination>\n` +
    '\t\t<destination name="spdif">\n\t\t\t<muted>true</muted>\n\t\t\t<volume>100</volume>\n\t\t</destination>\n' +
    "\t</destinations>\n\t<rtp-info>\n\t\t<rtp-address />\n\t\t<rtcp-port>5150</rtcp-port>\n\t</rtp-info>\n</audio-device>\n"
  );
}

export function description(facts: ReadonlyMap<string, string>): string {
  const fact = (name: string): string => escaped(facts.get(name) ?? "");
  const fields = {
    deviceType: "urn:roku-com:device:player:1-0",
    friendlyName: fact("user-device-name"),
    manufacturer: fact("vendor-name"),
    manufacturerURL: "http://norwood.test/",
    modelName: fact("model-number"),
    modelDescription: "Roku Streaming Player Network Media",
    modelNumber: fact("model-number"),
    modelURL: "http://www.roku.com/",
    serialNumber: fact("serial-number"),
    UDN: `uuid:${fact("udn")}`,
  };
  const lines = Object.entries(fields).map(([name, value]) => `<${name}>${value}</${name}>`);
  return (
    '<?xml version="1.0"?>\n<root xmlns="urn:schemas-upnp-org:device-1-0">\n<specVersion>\n<major>1</major>\n<minor>0</minor>\n' +
    `</specVersion>\n<device>\n${lines.join("\n")}\n</device>\n</root>\n`
  );
}

export interface Identity {
  readonly serial: string;
  readonly name: string;
  readonly mac: string;
  readonly kind: "tv" | "stick" | "soundbar";
}

/** `device-info`, in the order of a real one. */
export function factsOf(identity: Identity): Map<string, string> {
  const tv = identity.kind === "tv";
  const model = tv ? ["Norwood", "55N7", "N107X"] : ["Roku", "Streaming Stick Plus", "3830X"];
  if (identity.kind === "soundbar") model.splice(0, 3, "Roku", "Roku Smart Soundbar", "9101X");
  const [vendor = "", modelName = "", modelNumber = ""] = model;
  return new Map([
    [
      "udn",
      `2930c${identity.serial
        .slice(-3)
        .toLowerCase()
        .replace(/[^0-9a-f]/g, "0")}-0000-1000-8000-${identity.mac.replaceAll(":", "")}`,
    ],
    ["serial-number", identity.serial],
    ["device-id", `S${identity.serial.slice(-9)}`],
    ["vendor-name", vendor],
    ["model-name", modelName],
    ["model-number", modelNumber],
    ["model-region", "DE"],
    ["is-tv", String(tv)],
    ["is-stick", String(identity.kind === "stick")],
    ...(tv
      ? ([
          ["screen-size", "55"],
          ["panel-id", "9"],
          ["tuner-type", "DVB"],
        ] as [string, string][])
      : []),
    ["mobile-has-live-tv", String(identity.kind !== "stick")],
    ["supports-ethernet", "false"],
    ["wifi-mac", identity.mac],
    ["network-type", "wifi"],
    ["network-name", 'Café "Größe" <5G> & mehr'],
    ["friendly-device-name", `${identity.name} (friendly)`],
    ["friendly-model-name", tv ? "Norwood•Roku TV" : modelName],
    ["default-device-name", `${modelName} - ${identity.serial}`],
    ["user-device-name", identity.name],
    ["user-device-location", ""],
    ["software-version", "14.6.4"],
    ["software-build", "4120"],
    ["lightning-base-build-number", ""],
    ["ecp-setting-mode", "enabled"],
    ["language", "de"],
    ["uptime", "86512"],
    ["power-mode", "PowerOn"],
    ["supports-suspend", "true"],
    ["supports-find-remote", String(!tv)],
    ["developer-enabled", "true"],
    ["keyed-developer-id", ""],
    ...(tv
      ? ([["supports-warm-standby", "true"]] as [string, string][])
      : ([["supports-cec-power-control", "true"]] as [string, string][])),
    ["supports-wake-on-wlan", String(tv)],
    ["av-sync-calibration-enabled", "3.0"],
    ["brightscript-debugger-version", "3.5.0"],
  ]);
}
