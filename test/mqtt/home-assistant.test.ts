/** The payload for Home Assistant, validated by its own schema, and its templates rendered as it renders them. */
import { describe, expect, spyOn, test } from "bun:test";
import { spawnSync } from "node:child_process";
import type { Client } from "../../src/api/client.ts";
import type { App, Device, Input, State } from "../../src/api/schemas.ts";
import { type Bus, BusError } from "../../src/mqtt/bus.ts";
import {
  type DiscoveryInput,
  discoveryPayload,
  discoveryTopic,
  HomeAssistant,
  type HomeAssistantOptions,
} from "../../src/mqtt/home-assistant.ts";
import { topicsOf } from "../../src/mqtt/topics.ts";
import { capabilities, keys } from "../../src/platforms/platform.ts";
import { neverAborted } from "../../src/system/never-aborted.ts";
import { device } from "../cli/examined.ts";
import { app as appOf, playing } from "../cli/remote-model.ts";
import { refusals } from "./home-assistant-schema.ts";
import { MemoryBroker } from "./memory-bus.ts";

const id = "3f2b1c4d-5e6f-5a7b-8c9d-0e1f2a3b4c5d";
const at = "2026-11-22T10:00:00.000Z";
const topics = topicsOf("zapd", "7d1f8a52-6f0c-4c3e-9b0e-2f6f0f1c2d3e");

const able: Device = device("Living Room", {
  id,
  manufacturer: "Acme",
  model: "55-X",
  serial: "S1",
  software_version: "9.1",
  capabilities: [...capabilities],
  keys: [...keys],
});
const app = (id: string, name: string, facts: Partial<App> = {}) =>
  appOf(name, { id, platform_id: `p-${id}`, ...facts });
const apps = [app("netflix", "Netflix"), app("youtube", "YouTube")];
const inputs: Input[] = [
  { id: "hdmi1", name: "PlayStation" },
  { id: "hdmi2", name: "HDMI 2" },
];
const full: DiscoveryInput = {
  device: able,
  apps,
  inputs,
  level: true,
  muted: true,
  topics,
  accepts: true,
  page: `http://127.0.0.1:7272/#/remote/${id}`,
  artwork: `http://127.0.0.1:7272/v1/devices/${id}/artwork`,
};

type Components = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
const componentsOf = (given: DiscoveryInput) => discoveryPayload(given)["components"] as Components;
/** Those that the device has. */
const presentOf = (given: DiscoveryInput) =>
  Object.entries(componentsOf(given))
    .filter(([, { unique_id }]) => unique_id !== undefined)
    .map(([word]) => word);

/** A payload of its own, as it comes out of JSON, to be spoiled. */
function payloadOf(
  given: DiscoveryInput,
): Record<string, unknown> & { components: Record<string, Record<string, unknown>> } {
  return JSON.parse(JSON.stringify(discoveryPayload(given)));
}

describe("the payload of a device", () => {
  test("is valid in Home Assistant, whatever the device can do", () => {
    const bare = { capabilities: [], keys: [], manufacturer: null, model: null, serial: null, software_version: null };
    const cases: DiscoveryInput[] = [
      full,
      { ...full, device: { ...able, ...bare }, apps: null, inputs: null, page: undefined, artwork: undefined },
      ...capabilities.map((one) => ({ ...full, device: { ...able, keys: [], capabilities: [one] } })),
      ...keys.map((one) => ({ ...full, device: { ...able, keys: [one] } })),
      { ...full, apps: [], inputs: [] },
    ];
    for (const one of cases) expect(refusals(payloadOf(one))).toEqual([]);
    expect(discoveryTopic(able)).toMatch(/^homeassistant\/device\/[a-zA-Z0-9_-]+\/config$/);
  });

  test("has exactly the components that the device can do", () => {
    const buttons = keys.map((key) => `key_${key.replaceAll("-", "_")}`);
    const rest = ["power", "app", "input", "volume", "muted", "text", "message"];
    const told = ["app_shown", "playback", "title", "artwork", "failure"];
    expect(presentOf(full).sort()).toEqual([...buttons, ...rest, ...told].sort());
    const speaker: Device = { ...able, capabilities: ["state", "volume"], keys: ["play"] };
    expect(presentOf({ ...full, device: speaker }).sort()).toEqual(
      ["failure", "key_play", "playback", "title", "volume"].sort(),
    );
    // Without a list of its apps it has none to choose from.
    const cast: DiscoveryInput = { ...full, apps: null, device: { ...able, capabilities: ["state", "launch"] } };
    expect(componentsOf(cast)).toMatchObject({ app: { platform: "select" }, app_shown: { name: "App" } });
    // On and off are one switch: who can be told but one of them has its key.
    const offOnly: Device = { ...able, keys: ["power-off", "power"] };
    expect(presentOf({ ...full, device: offOnly })).not.toContain("power");
    // Where no command is accepted, only what shows something is there.
    expect(presentOf({ ...full, accepts: false }).sort()).toEqual([...told].sort());
    // What it lacks is taken away, where it was told before; what is not known yet stays there, with the name its user gave it.
    expect(componentsOf({ ...full, device: speaker })["text"]).toEqual({ platform: "text" });
    expect(componentsOf({ ...full, apps: [], inputs: [] })).toMatchObject({
      app: { platform: "select" },
      input: { platform: "select" },
    });
    const unknown = Object.keys(componentsOf({ ...full, apps: null, inputs: null, level: null, muted: null }));
    expect(unknown.filter((word) => ["app", "input", "volume", "muted"].includes(word))).toEqual([]);
    // A set that takes only steps, and does not show its level.
    expect(componentsOf({ ...full, level: false, muted: false })).toMatchObject({
      volume: { platform: "number" },
      muted: { platform: "switch" },
      key_volume_up: { name: "Volume up" },
    });
    expect(presentOf({ ...full, level: false })).not.toContain("volume");
  });

  test("has 24 enabled keys, the rest disabled by default", () => {
    const buttons = Object.values(componentsOf(full)).filter(({ platform }) => platform === "button");
    expect(buttons).toHaveLength(keys.length);
    expect(buttons.filter(({ enabled_by_default }) => enabled_by_default !== false)).toHaveLength(24);
  });

  test("lists an app by its name where that is unique, else by its id; and no removed app", () => {
    const odd = [
      app("news-1", "News"),
      app("news-2", "News"),
      app("none", "None"),
      app("gone", "Gone", { installed: false }),
      app("twelve", "p-netflix"),
      ...apps,
      app("quotes", `It's "50 %" {{ x }} {% y %} \\ 😀`),
      app("lines", "two\nlines"),
      app("trimmed", "YouTube "),
      app("empty", " "),
      app("longest", "x".repeat(255)),
      app("longer", "y".repeat(256)),
      app("own", "My own", { type: "dev" }),
      app("spaces", " Spaces around "),
      app("hdmi1", "HDMI 1", { type: "input" }),
    ];
    const { options } = componentsOf({ ...full, apps: odd })["app"] ?? {};
    expect(options).toEqual([
      "news-1",
      "news-2",
      "twelve",
      "Netflix",
      "youtube",
      `It's "50 %" {{ x }} {% y %} \\ 😀`,
      "lines",
      "trimmed",
      "empty",
      "x".repeat(255),
      "longer",
      "My own",
      "Spaces around",
    ]);
    expect(componentsOf({ ...full, apps: odd, inputs: null })["app"]?.["options"]).toContain("HDMI 1");
    expect(refusals(payloadOf({ ...full, apps: odd }))).toEqual([]);
    const many = Array.from({ length: 2_000 }, (_, n) => app(`app-${n}`, `App ${n}`));
    expect(componentsOf({ ...full, apps: many })["app"]?.["options"]).toHaveLength(250);
  });

  test("has 14 kB at most for a usual set, no playback position and no typed text", () => {
    const usual = Array.from({ length: 30 }, (_, n) => app(`service-${n}`, `Service Number ${n}`));
    const text = JSON.stringify(discoveryPayload({ ...full, apps: usual }));
    expect(text.length).toBeLessThan(14_336);
    expect(text).not.toContain("position");
    // Optimistic, Home Assistant would keep what was typed as its state.
    expect(componentsOf(full)["text"]).toMatchObject({ value_template: "{{ '' }}" });
  });
});

describe("payloads that Home Assistant would refuse", () => {
  type Spoiled = ReturnType<typeof payloadOf>;
  const spoilt: Readonly<Record<string, (one: Spoiled) => unknown>> = {
    "no device": (one) => delete one["device"],
    "a device with a fact that is null": (one) => (one["device"] = { identifiers: ["x"], model: null }),
    "an address that is none": (one) => (one["device"] = { identifiers: ["x"], configuration_url: "page" }),
    "an unknown option of the device": (one) => (one["friendly_name"] = "TV"),
    "a quality of service that is none": (one) => (one["qos"] = 3),
    "a topic to write with a wildcard": (one) => (one["command_topic"] = "zapd/+/set"),
    "a topic with a wildcard in a word": (one) => (one["state_topic"] = "zapd/a+/state"),
    "an unknown platform": (one) => (one.components["power"] = { platform: "media_player", unique_id: "x" }),
    "no unique_id": (one) => delete one.components["power"]?.["unique_id"],
    "the unique_id of another": (one) =>
      (one.components["app"] = { ...one.components["app"], unique_id: `zapd_${id}_power` }),
    "a select without options": (one) => delete one.components["app"]?.["options"],
    "a number that cannot be": (one) => Object.assign(one.components["volume"] ?? {}, { min: 100 }),
    "a text longer than a state": (one) => Object.assign(one.components["text"] ?? {}, { max: 1_024 }),
    "an enum that is none": (one) => delete one.components["playback"]?.["device_class"],
    "a template that is not closed": (one) => Object.assign(one.components["power"] ?? {}, { value_template: "{{ x" }),
    "an icon without its prefix": (one) => Object.assign(one.components["power"] ?? {}, { icon: "power" }),
    "a word where a flag stands": (one) =>
      Object.assign(one.components["key_power_on"] ?? {}, { enabled_by_default: "no" }),
    "no topic for the state": (one) => {
      delete one["state_topic"];
    },
    "a component with a space in its id": (one) => (one.components["key up"] = { platform: "button" }),
  };
  test.each(Object.entries(spoilt))("%s", (_what, spoil) => {
    const payload = payloadOf(full);
    spoil(payload);
    expect(refusals(payload)).not.toEqual([]);
  });
});

const state: State = {
  ...playing(new Date(at), { title: "Big Buck Bunny" }),
  app: apps[0] ?? null,
  input: "hdmi1",
  volume: { level: 12, muted: false },
};

/** Renders templates as Home Assistant does: Jinja, with its own `to_json`. */
function render(asked: readonly { readonly template: string; readonly value: unknown }[]): string[] {
  const program = `
import json, sys
from jinja2.sandbox import ImmutableSandboxedEnvironment
env = ImmutableSandboxedEnvironment()
env.filters["to_json"] = json.dumps
asked = json.load(sys.stdin)
print(json.dumps([env.from_string(one["template"]).render({"value_json": one["value"]} if "value" in one else {}) for one in asked]))`;
  const ran = spawnSync("python3", ["-c", program], { input: JSON.stringify(asked), encoding: "utf8" });
  if (ran.status !== 0) throw new Error(ran.stderr);
  return JSON.parse(ran.stdout);
}

const noJinja =
  Bun.which("python3") !== null && spawnSync("python3", ["-c", "import jinja2"]).status === 0
    ? null
    : "there is no Jinja (Debian: python3-jinja2)";
if (noJinja !== null) process.stderr.write(`skipped: templates of Home Assistant: ${noJinja}\n`);

test.skipIf(noJinja !== null)(
  "each template says what the state says, `None` where nothing is known, and nothing that Home Assistant refuses",
  () => {
    const odd = app("quotes", `It's "50 %" {{ x }} {% y %} \\ 😀`);
    const components = componentsOf({ ...full, apps: [...apps, odd] });
    const values = [
      { state },
      { state: { ...state, app: odd, power: "standby", volume: { level: null, muted: null }, input: "av" } },
      {
        state: {
          ...state,
          app: app("other", "Somebody's"),
          playback: null,
          volume: null,
          input: null,
          power: "unknown",
        },
      },
      { state: { ...state, app: null, volume: { level: 33.5, muted: true } } },
      { state: null },
      // The topic was cleared.
      undefined,
    ];
    const expected: Readonly<Record<string, readonly string[]>> = {
      power: ["on", "off", "None", "on", "None", "None"],
      app: ["Netflix", odd.name, "None", "None", "None", "None"],
      input: ["PlayStation", "None", "None", "PlayStation", "None", "None"],
      volume: ["12", "None", "None", "33.5", "None", "None"],
      muted: ["off", "None", "None", "on", "None", "None"],
      text: ["", "", "", "", "", ""],
      app_shown: ["Netflix", odd.name, "Somebody's", "None", "None", "None"],
      playback: ["playing", "playing", "None", "playing", "None", "None"],
      title: ["Big Buck Bunny", "Big Buck Bunny", "None", "Big Buck Bunny", "None", "None"],
    };
    const own = { type: "action.finished", device_id: id, action: "key", ok: false };
    const failed = { ...own, error: { code: "device_timeout", message: `did "not" answer` } };
    const asked = [
      ...Object.keys(expected).flatMap((word) =>
        values.map((value) => ({ template: String(components[word]?.["value_template"]), value })),
      ),
      ...[failed, { ...failed, ok: true }, { ...failed, device_id: "another" }, { type: "device.added" }].map(
        (value) => ({
          template: String(components["failure"]?.["value_template"]),
          value,
        }),
      ),
      ...[{ online: true }, { online: false }, undefined].map((value) => ({
        template: String(discoveryPayload(full)["availability_template"]),
        value,
      })),
      { template: `{{ '${"x".repeat(300)}' | string | truncate(255, true, '', 0) }}`, value: {} },
    ];
    const rendered = render(asked);
    for (const [word, texts] of Object.entries(expected))
      expect({ [word]: rendered.splice(0, texts.length) }).toEqual({ [word]: [...texts] });
    const [told = "", ...silent] = rendered.splice(0, 4);
    expect(JSON.parse(told)).toEqual({
      event_type: "failure",
      action: "key",
      code: "device_timeout",
      message: `did "not" answer`,
    });
    expect(silent).toEqual(["", "", ""]);
    expect(rendered.splice(0, 3)).toEqual(["online", "offline", "offline"]);
    expect(rendered[0]).toHaveLength(255);
  },
);

describe("the retained document", () => {
  /** One that keeps count of what it is asked. */
  function client(asked: string[]): Client {
    const listApps = async () => ({ device: able, apps });
    const listInputs = async () => {
      asked.push("inputs");
      return { device: able, inputs };
    };
    // Nothing else is asked.
    return { listApps, listInputs } as unknown as Client;
  }
  const own = {
    topics: topicsOf("zapd", "den"),
    address: (): string | null => "http://127.0.0.1:7272",
    page: () => true,
  };
  const settings = { home_assistant: true, url: "mqtt://127.0.0.1:1883", commands: "control" } as const;

  test("is the payload, with its page, and with artwork where Home Assistant can be on this machine", async () => {
    const payloadAt = async (more: Partial<typeof own>, set: Partial<HomeAssistantOptions["settings"]> = {}) => {
      const homeAssistant = new HomeAssistant({ ...own, ...more, settings: { ...settings, ...set } });
      const payload = await homeAssistant.payloadFor(able, client([]));
      expect(refusals(JSON.parse(JSON.stringify(payload)))).toEqual([]);
      return payload as { device: { configuration_url?: string }; components: Components };
    };
    const here = await payloadAt({});
    expect(here.device.configuration_url).toBe(`http://127.0.0.1:7272/#/remote/${id}`);
    expect(here.components["artwork"]).toMatchObject({
      url_template: `http://127.0.0.1:7272/v1/devices/${id}/artwork`,
    });
    expect(here.components["app"]?.["options"]).toEqual(["Netflix", "YouTube"]);
    expect(here.components["input"]?.["options"]).toEqual(["PlayStation", "HDMI 2"]);
    // Without its HTTP listener, neither can be fetched.
    const closed = await payloadAt({ address: () => null });
    expect([closed.device.configuration_url, closed.components["artwork"]]).toEqual([undefined, { platform: "image" }]);
    expect((await payloadAt({}, { url: "mqtts://broker.lan" })).components["artwork"]).toEqual({ platform: "image" });
    expect((await payloadAt({ page: () => false })).device.configuration_url).toBeUndefined();
    expect((await payloadAt({}, { commands: "none" })).components["power"]).toEqual({ platform: "switch" });
  });

  test("reads the inputs of a device once, and again when it has changed; not those of an offline one", async () => {
    const asked: string[] = [];
    const homeAssistant = new HomeAssistant({ ...own, settings });
    await homeAssistant.payloadFor({ ...able, status: "offline" }, client(asked));
    expect(asked).toHaveLength(0);
    for (const power of ["on", "standby", "on"] as const)
      await homeAssistant.payloadFor({ ...able, power }, client(asked));
    expect(asked).toHaveLength(1);
    await homeAssistant.payloadFor({ ...able, software_version: "9.2" }, client(asked));
    expect(asked).toHaveLength(2);
  });

  test("has a volume once the device has shown it, and none where it is on for a minute without", async () => {
    const clock = spyOn(performance, "now");
    const homeAssistant = new HomeAssistant({ ...own, settings });
    const steps = { ...state, volume: { level: null, muted: false } };
    const silent = { ...state, power: "unknown", volume: null } as const;
    const told: string[] = [];
    const at = async (seconds: number, shown: State | null, facts: Partial<Device> = {}) => {
      clock.mockReturnValue(seconds * 1_000);
      const device = { ...able, ...facts };
      const isDue = homeAssistant.stateChanged(device, shown);
      const payload = await homeAssistant.payloadFor(device, client([]));
      const { components } = payload as { components: Components };
      // One that is left out stays as it was.
      const shownOf = ["volume", "muted"].flatMap((name) => {
        const one = components[name];
        return one ? [`${name}: ${one["unique_id"] !== undefined}`] : [];
      });
      told.push([...(isDue ? ["due"] : []), ...shownOf].join(", "));
    };
    try {
      await at(0, null);
      await at(1, { ...state, power: "standby", volume: null });
      // Its volume may be read later than its power.
      await at(2, { ...state, volume: null });
      await at(3, steps);
      await at(30, { ...state, power: "standby", volume: null });
      // It begins anew. A device whose power is not known may be on.
      await at(70, silent);
      await at(120, { ...silent, app: null });
      await at(129, silent, { status: "offline" });
      await at(140, silent);
      await at(201, silent);
      await at(202, silent);
      await at(203, state);
      // What was shown once stays.
      for (const seconds of [204, 300, 400]) await at(seconds, silent);
    } finally {
      clock.mockRestore();
    }
    const [unknown, mutedOnly, both] = ["", "muted: true", "volume: true, muted: true"];
    expect(told).toEqual([
      unknown,
      unknown,
      unknown,
      `due, ${mutedOnly}`,
      mutedOnly,
      mutedOnly,
      mutedOnly,
      mutedOnly,
      mutedOnly,
      "due, volume: false, muted: true",
      "volume: false, muted: true",
      `due, ${both}`,
      both,
      both,
      both,
    ]);
  });

  test("is cleared when discovery is turned off, and nothing else is", async () => {
    const broker = new MemoryBroker();
    const bus = broker.client();
    const other = "homeassistant/device/somebody-elses/config";
    const payload = await new HomeAssistant({ ...own, settings }).payloadFor(able, client([]));
    for (const topic of [discoveryTopic(able), other])
      await bus.publish(topic, JSON.stringify(payload), { retain: true });
    const homeAssistant = new HomeAssistant({ ...own, settings: { ...settings, home_assistant: false } });
    expect(await homeAssistant.payloadFor(able, client([]))).toBeNull();
    // What another daemon publishes for a set that is removed here is not ours.
    expect(homeAssistant.topicsFor(id)).toEqual([]);
    expect(new HomeAssistant({ ...own, settings }).topicsFor(id)).toEqual([discoveryTopic(able)]);
    await homeAssistant.clearDisabled(bus, [id, "another"], neverAborted);
    expect([...broker.kept.keys()]).toEqual([other]);
    // What was told anew meanwhile would be taken away with it, were it heard for ever.
    expect(broker.subscriptions.size).toBe(0);
  });

  test("is left to another site that has the same device, and discovery on", async () => {
    const broker = new MemoryBroker();
    const bus = broker.client();
    const other = { ...own, topics: topicsOf("zapd", "other"), settings };
    const payload = await new HomeAssistant(other).payloadFor(able, client([]));
    await bus.publish(discoveryTopic(able), JSON.stringify(payload), { retain: true });
    const homeAssistant = new HomeAssistant({ ...own, settings: { ...settings, home_assistant: false } });
    await homeAssistant.clearDisabled(bus, [id], neverAborted);
    expect([...broker.kept.keys()]).toEqual([discoveryTopic(able)]);
  });

  test("is not cleared again where the broker has closed the connection for it", async () => {
    const homeAssistant = new HomeAssistant({ ...own, settings: { ...settings, home_assistant: false } });
    const strict = { subscribe: () => Promise.reject(new BusError("closed", "closed")) };
    const clear = (bus: object) => homeAssistant.clearDisabled(bus as Bus, [id], neverAborted);
    // Nothing is asked for no device, nor while it is on.
    await homeAssistant.clearDisabled(strict as unknown as Bus, [], neverAborted);
    await new HomeAssistant({ ...own, settings }).clearDisabled(strict as unknown as Bus, [id], neverAborted);
    await expect(clear(strict)).rejects.toThrow("closed");
    await clear(strict);
  });
});
