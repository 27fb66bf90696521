import { describe, expect, test } from "bun:test";
import { readDescription, readDeviceInfo } from "../../../src/platforms/roku/identity.ts";
import { outcomeOf } from "../../support/failure.ts";
import { capture, noCaptures } from "./captures.ts";

/** A `device-info` with these elements, and a serial number unless it is left out. */
const info = (elements: Readonly<Record<string, string>>, serial = "<serial-number>X1</serial-number>") =>
  `<device-info>${serial}${Object.entries(elements)
    .map(([name, value]) => (value === "" ? `<${name}/>` : `<${name}>${value}</${name}>`))
    .join("")}</device-info>`;

/** What a document says, laid flat: its facts beside its ids, its memory and its power. */
const flat = <S extends { readonly facts: object }>({ facts, ...said }: S) =>
  ({ ...said, ...facts }) as Omit<S, "facts"> & S["facts"];
const facts = (elements: Readonly<Record<string, string>>) => flat(readDeviceInfo(info(elements)));

describe.skipIf(noCaptures !== null)(
  `the captures of a TCL set${noCaptures === null ? "" : ` (skipped: ${noCaptures})`}`,
  () => {
    test("device-info", () => {
      const { ids, ...said } = flat(readDeviceInfo(capture("device-info")));
      expect(ids[0]).toBe("X02000EM0025");
      expect(said).toEqual({
        serial: "X02000EM0025",
        name: "TCL Roku TV 32S357",
        kind: "tv",
        manufacturer: "TCL",
        model: "32S357",
        macs: ["02:00:00:00:00:25"],
        softwareVersion: "15.3.4",
        access: "full",
        memory: { volume: true, power: true, inputs: true, developer: true },
        power: "on",
      });
    });

    test("the description: its manufacturer is the brand, and it says nothing of access", () => {
      const { ids, ...said } = flat(readDescription(capture("device-description")));
      expect(ids[0]).toBe("X02000EM0025");
      expect(said).toEqual({
        serial: "X02000EM0025",
        name: "TCL Roku TV 32S357",
        kind: "unknown",
        manufacturer: "TCL",
        model: "H104X",
        macs: [],
        softwareVersion: null,
        access: null,
        memory: {},
      });
    });
  },
);

describe("device-info", () => {
  test("with a serial alone is a device of which nothing else is known", () => {
    expect(facts({})).toEqual({
      ids: ["X1"],
      serial: "X1",
      name: null,
      kind: "unknown",
      manufacturer: null,
      model: null,
      macs: [],
      softwareVersion: null,
      access: "full",
      memory: { volume: true, power: true, inputs: true },
      power: "unknown",
    });
  });

  test("is read whatever its root is called", () => {
    expect(readDeviceInfo("<device><serial-number>X1</serial-number></device>").ids[0]).toBe("X1");
    expect(outcomeOf(() => readDeviceInfo("<device/>"))).toBe("device_error");
  });

  test("has the same id as the description where neither has a serial, and none where that is empty", () => {
    const device = (udn: string) =>
      `<root><device><deviceType>urn:roku-com:device:player:1-0</deviceType><UDN>uuid:${udn}</UDN><modelNumber>9101X</modelNumber></device></root>`;
    expect(readDeviceInfo(info({ udn: "0a-B1" }, "")).ids).toEqual(["0a-b1"]);
    expect(flat(readDescription(device("0A-b1")))).toMatchObject({ ids: ["0a-b1"], model: "9101X" });
    expect(readDescription(device("")).ids).toEqual([]);
  });

  test("gives the name the user chose, then what the set would call itself", () => {
    const names = {
      "user-device-name": "Stube &amp; K&#252;che",
      "friendly-device-name": 'TCL 43" Roku TV',
      "default-device-name": "TCL•Roku TV - X1",
      "vendor-name": "TCL",
      "model-name": "43S",
    };
    expect(facts(names).name).toBe("Stube & Küche");
    expect(facts({ ...names, "user-device-name": "" }).name).toBe('TCL 43" Roku TV');
    expect(facts({ ...names, "user-device-name": "", "friendly-device-name": "" }).name).toBe("TCL•Roku TV - X1");
    expect(facts({ "vendor-name": "TCL", "model-name": "43S" }).name).toBe("TCL 43S");
    expect(facts({ "vendor-name": "TCL" }).name).toBe("TCL");
  });

  const tv = { "is-tv": "true", "is-stick": "false" };
  const stick = { "is-tv": "false", "is-stick": "true" };
  const box = { "is-tv": "false", "is-stick": "false" };
  const soundbar = {
    ...box,
    "model-name": "Roku Smart Soundbar",
    "model-number": "9101X",
    "mobile-has-live-tv": "true",
  };

  test("tells TV, player and soundbar apart", () => {
    const streambar = { ...box, "model-name": "Roku Streambar" };
    const all = [tv, stick, box, soundbar, streambar, { "is-stick": "true" }, {}];
    const kinds: string[] = all.map((one) => facts(one).kind);
    expect(kinds).toEqual(["tv", "player", "player", "soundbar", "soundbar", "player", "unknown"]);
  });

  test("tells a TV on firmware 7, too, which has no word for it", () => {
    // TCL 55FS3700 with 7.7 (bschlenk/homebridge-roku#9), and a Roku 3 with 7.5 (a fixture of rokuecp).
    const old = { "vendor-name": "TCL", "model-name": "TCL 55FS3700", "screen-size": "55", "power-mode": "PowerOn" };
    expect(facts(old)).toMatchObject({ kind: "tv", power: "on" });
    expect(facts({ "vendor-name": "Roku", "model-name": "Roku 3", "power-mode": "Ready" }).kind).toBe("unknown");
  });

  test("power: only a set that shows a picture knows that it is on", () => {
    const modes: readonly [mode: string, tv: string, stick: string][] = [
      ["PowerOn", "on", "unknown"],
      ["Ready", "standby", "standby"],
      ["DisplayOff", "standby", "standby"],
      ["Headless", "standby", "standby"],
      ["PowerOff", "standby", "standby"],
      ["SomethingNew", "standby", "standby"],
      ["", "unknown", "unknown"],
    ];
    for (const [mode, asTv, asStick] of modes) {
      expect(String(facts({ ...tv, "power-mode": mode }).power)).toBe(asTv);
      expect(String(facts({ ...stick, "power-mode": mode }).power)).toBe(asStick);
    }
    expect(facts({ ...soundbar, "power-mode": "PowerOn" }).power).toBe("on");
    expect(facts(tv).power).toBe("unknown");
  });

  test("access: four modes, and old firmware that knows none", () => {
    const modes = {
      limited: "limited",
      disabled: "disabled",
      enabled: "full",
      permissive: "full",
      other: "full",
      "": "full",
    };
    for (const [mode, access] of Object.entries(modes))
      expect(String(facts({ "ecp-setting-mode": mode }).access)).toBe(access);
    expect(facts({}).access).toBe("full");
  });

  test("memory: a player has volume and power only where it steers the TV", () => {
    const has = { volume: false, power: false, inputs: false };
    expect(facts(stick).memory).toEqual(has);
    expect(facts({ ...stick, "supports-cec-audio-volume-control": "true" }).memory).toEqual({ ...has, volume: true });
    expect(facts({ ...stick, "supports-audio-volume-control": "true" }).memory).toEqual({ ...has, volume: true });
    expect(facts({ ...stick, "supports-cec-power-control": "true" }).memory).toEqual({ ...has, power: true });
    expect(facts({ ...stick, "supports-tv-power-control": "true" }).memory).toEqual({ ...has, power: true });
    expect(facts({ ...stick, "supports-tv-power-control": "3.0" }).memory).toEqual(has);
    expect(facts(soundbar).memory).toEqual({ ...has, volume: true, power: true });
    expect(facts(tv).memory).toEqual({ volume: true, power: true, inputs: true });
  });

  test("developer mode: yes, no, and unknown where an old set does not say", () => {
    expect(facts({ ...stick, "developer-enabled": "true" }).memory.developer).toBe(true);
    expect(facts({ ...stick, "developer-enabled": "false" }).memory.developer).toBe(false);
    expect(facts({ ...stick, "developer-enabled": "" }).memory.developer).toBeUndefined();
  });

  test("network addresses: the one in use first, in lower case with colons, none that is none", () => {
    const both = { "wifi-mac": "AA-BB-CC-00-00-01", "ethernet-mac": "aa:bb:cc:00:00:02" };
    expect(facts({ ...both, "network-type": "wifi" }).macs).toEqual(["aa:bb:cc:00:00:01", "aa:bb:cc:00:00:02"]);
    expect(facts({ ...both, "network-type": "ethernet" }).macs).toEqual(["aa:bb:cc:00:00:02", "aa:bb:cc:00:00:01"]);
    expect(facts({ "wifi-mac": "00:00:00:00:00:00", "ethernet-mac": "nonsense" }).macs).toEqual([]);
    expect(facts({ "wifi-mac": "aa:bb:cc:00:00:0g" }).macs).toEqual([]);
  });

  test("software: its version, without the build", () => {
    expect(facts({ "software-version": "15.2.4", "software-build": "4242" }).softwareVersion).toBe("15.2.4");
    expect(facts({ "software-version": "7.5.0", "software-build": "" }).softwareVersion).toBe("7.5.0");
    expect(facts({ "software-build": "4242" }).softwareVersion).toBeNull();
  });
});

test("the description of another device is refused", () => {
  const description = (device: string) => `<root><device>${device}</device></root>`;
  for (const text of [
    description(
      "<deviceType>urn:schemas-upnp-org:device:Basic:1</deviceType><serialNumber>1</serialNumber><manufacturer>Roku</manufacturer>",
    ),
    description("<serialNumber>1</serialNumber>"),
    description(""),
    "<html><body>Router</body></html>",
  ])
    expect(outcomeOf(() => readDescription(text))).toBe("device_error");
});
