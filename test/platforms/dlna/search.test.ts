/** Searches for renderers, and what their descriptions may name: nothing that lives elsewhere is ever asked (SECURITY.md T6). */
import { describe, expect, test } from "bun:test";
import { readAnswer } from "../../../src/discovery/ssdp.ts";
import { dlna } from "../../../src/platforms/dlna/adapter.ts";
import { dlnaMemory } from "../../../src/platforms/dlna/memory.ts";
import {
  describeItem,
  levelOf,
  ownVolume,
  pressedLevel,
  readActions,
  readDescription,
  readPosition,
  readRendering,
  readSearchAnswer,
  readTime,
  readTransport,
  timeOf,
  typeFor,
  usualRange,
} from "../../../src/platforms/dlna/protocol.ts";
import { readXml } from "../../../src/transport/xml.ts";

const source = "192.168.1.40";
const type = "urn:schemas-upnp-org:device:MediaRenderer:";

function judge(lines: readonly string[], from = source) {
  const answer = readAnswer(Buffer.from(["HTTP/1.1 200 OK", ...lines, "", ""].join("\r\n")), from);
  return answer && readSearchAnswer(answer);
}
const at = (location: string) => judge([`ST: ${type}1`, `LOCATION: ${location}`]);

describe("an answer to the search", () => {
  test("of gmediarender and rygel from Debian gives the path of the description", () => {
    const gmediarender = [
      "CACHE-CONTROL: max-age=100",
      "EXT:",
      `LOCATION: http://${source}:49494/description.xml`,
      'OPT: "http://schemas.upnp.org/upnp/1/0/"; ns=01',
      "01-NLS: f88df588-e63f-11f1-9da1-d8f40165a81c",
      "SERVER: Linux/6.18.44, UPnP/1.0, Portable SDK for UPnP devices/1.8.4",
      "X-User-Agent: redsonic",
      `ST: ${type}1`,
      `USN: uuid:11111111-2222-3333-4444-555555555555::${type}1`,
    ];
    expect(judge(gmediarender)).toEqual({ host: source, port: 49_494, path: "/description.xml" });
    const rygel = [
      `Location: http://${source}:45981/9342144b-b61d-4285-a155-1ee6a3530438.xml`,
      "Ext:",
      `USN: uuid:9342144b-b61d-4285-a155-1ee6a3530438::${type}2`,
      `ST: ${type}2`,
      "Content-Length: 0",
    ];
    expect(judge(rygel)?.path).toBe("/9342144b-b61d-4285-a155-1ee6a3530438.xml");
    expect(at(`http://${source}/a?b=1`)).toEqual({ host: source, port: 80, path: "/a?b=1" });
  });

  test("to ssdp:all: only those of the renderer count", () => {
    const location = `LOCATION: http://${source}:1400/xml`;
    const usn = (what: string) => [`ST: ${what}`, `USN: uuid:RINCON_1::${what}`, location];
    expect(judge(usn(`${type}3`))).not.toBeNull();
    expect(judge(["ST: ssdp:all", `USN: uuid:RINCON_1::${type}1`, location])).not.toBeNull();
    for (const other of ["upnp:rootdevice", "urn:schemas-upnp-org:device:MediaServer:1", `${type}x`])
      expect(judge(usn(other))).toBeNull();
    expect(judge(usn("urn:schemas-upnp-org:service:AVTransport:1"))).toBeNull();
    expect(judge(["ST: uuid:RINCON_1", "USN: uuid:RINCON_1", location])).toBeNull();
    expect(judge([`ST: ${type}1`])).toBeNull();
  });

  test("T6 that names another place than its sender is not followed", () => {
    // One of each kind: platforms/roku/search.test.ts has them all.
    for (const location of [
      "http://192.168.1.41/x",
      `https://${source}/x`,
      `http://u:p@${source}/x`,
      `http://${source}:0/x`,
      "",
    ])
      expect([location, at(location)]).toEqual([location, null]);
  });
});

const place = { host: source, port: 49_152 };
const services = (control: string, events = "/e", document = "/d.xml") =>
  ["AVTransport", "RenderingControl"]
    .map(
      (name) =>
        `<service><serviceType>urn:schemas-upnp-org:service:${name}:2</serviceType><controlURL>${control}</controlURL><eventSubURL>${events}</eventSubURL><SCPDURL>${document}</SCPDURL></service>`,
    )
    .join("");
const described = (inner: string, base = "") =>
  `<root xmlns="urn:schemas-upnp-org:device-1-0"><device><deviceType>${type}2</deviceType><friendlyName>Den</friendlyName><UDN>uuid:AB-1</UDN><serviceList>${inner}</serviceList></device>${base}</root>`;
const read = (text: string) =>
  readDescription({ headers: new Map(), body: Buffer.from(text) }, place, "/dir/description.xml");

describe("a description", () => {
  test("of a TV with VIDAA, which has a new UDN at each start, shows the same TV by its hardware address", () => {
    // The form of a HE58A6100 and of a 55U7KQ (Krazy998/mqtt-hisensetv#14), whose UDN was seen to change in
    // home-assistant/core#77228 and #73643 and in jellyfin/jellyfin#7303.
    const shown = (udn: string, words: string) =>
      read(described(`</serviceList><modelDescription>${words}</modelDescription><serviceList>`).replace("AB-1", udn))
        .identity;
    const caps =
      "#CAP#\nmac=02005e005377\nmacWifi=02005E005376\nmacEthernet=02005e005377\ntransport_protocol=1140\ncap=0";
    expect([shown("aa-1", caps), shown("aa-2", caps)]).toEqual(["02005e005376", "02005e005376"]);
    expect(shown("aa-1", caps.replace("02005E005376", "000000000000"))).toBe("02005e005377");
    expect(shown("aa-1", caps.replaceAll("\n", " "))).toBe("02005e005376");
    // Any other is what its UDN says, whatever it has in its description.
    expect(shown("aa-1", "macWifi=02005e005376")).toBe("aa-1");
    expect(shown("aa-1", "transport_protocol=1140 macWifi=")).toBe("aa-1");
  });

  test("names services by paths on its own host, relative to itself or URLBase, with their versions", () => {
    const { udn, memory, documents } = read(described(services("control/1", "/e?x=1")));
    expect(udn).toBe("ab-1");
    expect(memory.transport).toEqual({
      type: "urn:schemas-upnp-org:service:AVTransport:2",
      control: "/dir/control/1",
      events: "/e?x=1",
    });
    expect(documents).toEqual({ transport: "/d.xml", rendering: "/d.xml" });
    const based = read(described(services("c"), `<URLBase>http://${source}:49152/base/</URLBase>`));
    expect(based.memory.transport?.control).toBe("/base/c");
    const other = read(described(services("c"), "<URLBase>http://192.168.1.99/</URLBase>"));
    expect([other.memory.transport, other.documents.transport]).toEqual([undefined, null]);
  });

  test("has no service whose type could not be sent in a header", () => {
    for (const odd of ["é", '"', "x".repeat(256)]) {
      const named = services("c").replaceAll(":2</serviceType>", `:${odd}</serviceType>`);
      expect([odd, read(described(named)).memory.transport]).toEqual([odd, undefined]);
    }
  });

  test("at an IPv6 address names its services too, and none on other hosts", () => {
    const at = { host: "fd00::40", port: 49_152 };
    const six = (control: string) =>
      readDescription({ headers: new Map(), body: Buffer.from(described(services(control))) }, at, "/dir/d.xml").memory;
    expect(six("c").transport?.control).toBe("/dir/c");
    expect(six("http://[fd00::40]:49152/c").transport?.control).toBe("/c");
    expect(six("http://[fd00::41]:49152/c").transport).toBeUndefined();
  });

  test("T6 that names services, events or documents elsewhere has none there", () => {
    for (const elsewhere of [
      "http://192.168.1.99:49152/c",
      "http://evil.test/c",
      `https://${source}:49152/c`,
      `http://${source}:22/c`,
      "file:///etc/passwd",
      "//127.0.0.1:7272/v1/devices",
      "http://127.0.0.1:7272/v1/devices",
      `http://${source}:49152/${"x".repeat(3_000)}`,
    ]) {
      const { memory, documents } = read(described(services(elsewhere, elsewhere, elsewhere)));
      expect([elsewhere, memory.transport, memory.volume, documents.transport]).toEqual([
        elsewhere,
        undefined,
        null,
        null,
      ]);
      expect(read(described(services("/c", elsewhere))).memory.transport?.events).toBeNull();
      expect(dlna.describe(read(described("")).facts, memory, true).has.has("media")).toBe(false);
    }
  });

  test("of another device type is none; a renderer within another device is found", () => {
    for (const text of [
      "<html/>",
      "<root><device/></root>",
      described("").replace(type, "urn:schemas-upnp-org:device:MediaServer:"),
      described("").replace("uuid:AB-1", ""),
      described("").replace("AB-1", "x".repeat(200)),
    ])
      expect(() => read(text)).toThrow();
    const inner = /<device>.*<\/device>/.exec(described(services("/c")))?.[0];
    const zone = `<root><device><deviceType>urn:x:device:Zone:1</deviceType><friendlyName>Zone</friendlyName><UDN>uuid:z</UDN><deviceList>${inner}</deviceList></device></root>`;
    expect(read(zone).facts.name).toBe("Den");
  });

  test("tells TV, soundbar and player apart", () => {
    const kindOf = (model: string) =>
      read(described("").replace("<UDN>", `<modelName>${model}</modelName><UDN>`)).facts.kind;
    const models = ["Samsung TV DMR", "Panasonic VIErA", "Sound Bar 5", "Wireless Speaker", "MTV Box", "gmediarender"];
    expect(models.map(kindOf)).toEqual(["tv", "tv", "soundbar", "soundbar", "player", "player"]);
  });

  test("names the port of its page, where that is at its own address", () => {
    const pageOf = (url: string) =>
      read(described("").replace("<UDN>", `<presentationURL>${url}</presentationURL><UDN>`)).page;
    const urls = ["", ":8080", ":49152/page"].map((rest) => `http://${source}${rest}`);
    expect(urls.map(pageOf)).toEqual([80, 8_080, 49_152]);
    for (const other of ["", "/page", `https://${source}:8080/`, "http://192.168.1.99:8080/"])
      expect([other, pageOf(other)]).toEqual([other, null]);
  });

  test("its memory survives storage, and nothing of another shape is read", () => {
    const { memory } = read(described(services("/c")));
    expect(dlnaMemory.parse(memory)).toEqual(memory);
    for (const bad of [
      { path: "http://x/" },
      { path: "/a b" },
      { transport: { type: "x", control: "x", events: null } },
    ])
      expect(dlnaMemory.safeParse(bad).success).toBe(false);
  });
});

const scpd = (actions: readonly string[], variables = "") =>
  `<scpd><actionList>${actions.map((name) => `<action><name>${name}</name></action>`).join("")}</actionList><serviceStateTable>${variables}</serviceStateTable></scpd>`;
const volume = (range: string) => `<stateVariable><name>Volume</name>${range}</stateVariable>`;

test("the actions of services, and invalid ranges", () => {
  const all = ["SetVolume", "SetMute"];
  const ranged = (min: number | string, max: number | string, step: number | string) =>
    volume(
      `<allowedValueRange><minimum>${min}</minimum><maximum>${max}</maximum><step>${step}</step></allowedValueRange>`,
    );
  expect(readRendering(scpd(all, ranged(0, 30, 2)))).toEqual({ volume: { min: 0, max: 30, step: 2 }, mutes: true });
  for (const odd of ["", volume(""), ranged(0, 0, 1), ranged(5, 1, 1), ranged("x", "y", 1), ranged(0, "1e999", 1)])
    expect(readRendering(scpd(all, odd)).volume).toEqual({ min: 0, max: 100, step: 1 });
  for (const step of ["0", "-1", "x"])
    expect(readRendering(scpd(all, ranged(0, 30, step))).volume).toEqual({ min: 0, max: 30, step: 1 });
  const without = scpd(all, "<stateVariable><name>Mute</name></stateVariable>");
  for (const text of [scpd(["SetMute"]), without]) expect(readRendering(text)).toEqual({ volume: null, mutes: true });
  const modes = (...values: string[]) =>
    `<stateVariable><name>A_ARG_TYPE_SeekMode</name><allowedValueList>${values.map((one) => `<allowedValue>${one}</allowedValue>`).join("")}</allowedValueList></stateVariable>`;
  expect(readTransport(scpd(["Play", "Seek", "X_Own"], modes("TRACK_NR")))).toEqual({
    actions: ["Play"],
    seeks: false,
  });
  for (const document of [scpd(["Seek"]), scpd(["Seek"], modes("TRACK_NR", "REL_TIME"))])
    expect(readTransport(document).seeks).toBe(true);
});

test("times in the forms of three stacks, and invalid ones", () => {
  const times = { "0:02:00": 120_000, "00:02:00": 120_000, "0:02:00.032": 120_032, "100:00:01": 360_001_000 };
  for (const [text, ms] of Object.entries(times)) expect([text, readTime(text)]).toEqual([text, ms]);
  const parts = { "0:00:05.5": 5_500, "0:00:05.1/2": 5_500, "0:00:05.1/3": 5_333 };
  for (const [text, ms] of Object.entries(parts)) expect([text, readTime(text)]).toEqual([text, ms]);
  for (const text of ["0:00:05.1/0", "", "NOT_IMPLEMENTED", "2147483647", "-1:00:00", "1:2", "x", undefined])
    expect(readTime(text)).toBeNull();
  expect([timeOf(0), timeOf(3_723_999)]).toEqual(["00:00:00", "01:02:03"]);
});

test("a press of a volume key always has an effect, by the device's step where that is coarser", () => {
  const coarse = { min: 0, max: 10, step: 1 };
  const pressed = (level: number, by: 1 | -1) => ownVolume(pressedLevel(level, by, coarse), coarse);
  expect([pressed(50, 1), pressed(52, 1), pressed(50, -1), pressed(100, 1), pressed(0, -1)]).toEqual([6, 6, 4, 10, 0]);
  expect([1, -1].map((by) => pressedLevel(50, by as 1 | -1, { min: 0, max: 100, step: 1 }))).toEqual([52, 48]);
  expect([pressedLevel(99, 1, usualRange), pressedLevel(1, -1, usualRange)]).toEqual([100, 0]);
  expect(pressedLevel(50, 1, { min: 0, max: 50, step: 5 })).toBe(60);
});

test("a volume converts between any range and 0 to 100, within bounds", () => {
  const range = { min: 10, max: 40, step: 5 };
  expect([0, 17, 50, 100].map((level) => ownVolume(level, range))).toEqual([10, 15, 25, 40]);
  expect([0, 10, 17, 25, 40, 99].map((own) => levelOf(own, range))).toEqual([0, 0, 23, 50, 100, 100]);
  expect(ownVolume(100, { min: 0, max: 30, step: 4 })).toBeLessThanOrEqual(30);
});

test("actions with escaped commas, and types by the names that a device lists", () => {
  const said = new Map([["Actions", "Pause,Stop,X_DLNA_PS=-1\\,1/2\\,2, SEEK "]]);
  expect([...readActions(said)]).toEqual(["pause", "stop", "x_dlna_ps=-1\\,1/2\\,2", "seek"]);
  expect(readActions(new Map()).size).toBe(0);
  const sink = "http-get:*:audio/x-flac:DLNA.ORG_PN=X, http-get:*:Audio/WAVE;rate=44100:*,rtsp:*:video/x-mkv:*";
  expect(typeFor("audio/flac", sink)).toBe("audio/x-flac");
  expect(typeFor("video/x-matroska", sink)).toBe("video/x-matroska");
  expect(typeFor("audio/flac", "")).toBe("audio/flac");
  expect(typeFor("Audio/WAV", sink)).toBe("audio/wave");
});

test("metadata of what plays: title, and performer or creator; unreadable metadata is ignored", () => {
  const said = (item: string) => {
    const didl = `<DIDL-Lite xmlns:dc="d" xmlns:upnp="u"><item>${item}</item></DIDL-Lite>`;
    const { title, artist } = readPosition("playing", new Map([["TrackMetaData", didl]]));
    return [title, artist];
  };
  const [title, creator] = ["<dc:title>Song</dc:title>", "<dc:creator>A Writer</dc:creator>"];
  expect(said(`${creator}${title}<upnp:artist>A Singer</upnp:artist>`)).toEqual(["Song", "A Singer"]);
  expect(said(`${creator}${title}`)).toEqual(["Song", "A Writer"]);
  expect(said(`${title}<upnp:albumArtist>Nobody</upnp:albumArtist>`)).toEqual(["Song", null]);
  for (const didl of ["", "no < XML", "NOT_IMPLEMENTED"])
    expect(readPosition("playing", new Map([["TrackMetaData", didl]]))).toMatchObject({ title: null, artist: null });
});

test("what plays has the rate that the renderer tells, where that is one", () => {
  const rates = ["1", "2", "-4", "1/2", "", "0", "1/0", "NOT_IMPLEMENTED"];
  const rateOf = (speed: string) => readPosition("playing", new Map([["CurrentSpeed", speed]])).rate;
  expect(rates.map(rateOf)).toEqual([1, 2, -4, 0.5, undefined, undefined, undefined, undefined]);
  expect(readPosition("paused", new Map([["CurrentSpeed", "1"]])).rate).toBeUndefined();
});

test("metadata for a file is valid XML for any name, with type, title, picture and address", () => {
  const item = {
    url: "http://192.0.2.7/a%20b.mp3?x=1&y=2",
    mime: "audio/mpeg",
    title: `</dc:title><x> "'&\0`,
    image: "http://192.0.2.7/c.jpg?a&b",
  };
  const [first] = readXml(describeItem(item), "didl-lite").children;
  expect(first?.children.map(({ name, text }) => [name, text])).toEqual([
    ["dc:title", `</dc:title><x> "'&`],
    ["upnp:class", "object.item.audioItem.musicTrack"],
    ["upnp:albumArtURI", item.image],
    ["res", item.url],
  ]);
  expect(first?.children.at(-1)?.attributes["protocolInfo"]).toStartWith("http-get:*:audio/mpeg:DLNA.ORG_OP=01;");
  const untitled = describeItem({ ...item, title: null, image: null, mime: null });
  expect(untitled).toContain("<dc:title>a b.mp3</dc:title><upnp:class>object.item.videoItem</upnp:class><res");
  expect(untitled).toContain("http-get:*:*:");
  expect(describeItem({ ...item, url: "http://192.0.2.7/", title: null })).toContain("<dc:title>http://192.0.2.7/<");
});
