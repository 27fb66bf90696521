/**
 * The retained MQTT discovery payload for Home Assistant of each device.
 * Format: home-assistant/core, homeassistant/components/mqtt, schemas.py and a file for each platform.
 */
import type { Client } from "../api/client.ts";
import type { App, Device, Input, State } from "../api/schemas.ts";
import { type Key, keys, playbackStatuses } from "../platforms/platform.ts";
import { sleep } from "../system/sleep.ts";
import { version } from "../system/version.ts";
import { type Bus, objectIn } from "./bus.ts";
import { isLocal, type MqttSettings } from "./settings.ts";
import type { Settable, SiteTopics } from "./topics.ts";

/** The input of the payload. */
export interface DiscoveryInput {
  readonly device: Device;
  /** `null`: not known yet. */
  readonly apps: readonly App[] | null;
  /** `null`: not known yet. */
  readonly inputs: readonly Input[] | null;
  /** Whether its state shows a level, and whether it is muted: others take only steps. `null`: not known yet. */
  readonly level: boolean | null;
  readonly muted: boolean | null;
  readonly topics: SiteTopics;
  /** Whether commands from the broker are run. */
  readonly accepts: boolean;
  /** The page of the device, where one is served. */
  readonly page?: string | undefined;
  /** The URL of the artwork, where Home Assistant can reach it. */
  readonly artwork?: string | undefined;
}

/** A component, and whether the device has it; `null`: not known yet. One with only a platform removes an earlier one. */
interface Component {
  readonly platform: string;
  readonly isPresent: boolean | null;
  readonly [option: string]: unknown;
}

/** An app or an input: its id in the state, and its option in the list. */
interface Choice {
  readonly id: string;
  readonly option: string;
}

/** At least once. */
const qos = 1;
/** Longer lists are cut. */
const maxOptions = 250;
/** The longest state in Home Assistant (`MAX_LENGTH_STATE_STATE`). */
const maxStateLength = 255;
/** Keys with a better entity: their buttons are disabled by default. */
const disabledByDefault: ReadonlySet<Key> = new Set<Key>([
  ...(["power-on", "power-off"] as const),
  ...(["input-hdmi1", "input-hdmi2", "input-hdmi3", "input-hdmi4", "input-av", "input-tuner"] as const),
]);

/** Material Design icons of keys. */
const icons: Readonly<Partial<Record<Key, string>>> = {
  home: "home",
  back: "keyboard-return",
  up: "chevron-up",
  down: "chevron-down",
  left: "chevron-left",
  right: "chevron-right",
  select: "checkbox-blank-circle-outline",
  play: "play",
  pause: "pause",
  "play-pause": "play-pause",
  stop: "stop",
  rewind: "rewind",
  "fast-forward": "fast-forward",
  replay: "replay",
  skip: "skip-forward",
  "volume-up": "volume-plus",
  "volume-down": "volume-minus",
  mute: "volume-mute",
  power: "power",
  "channel-up": "chevron-up-box-outline",
  "channel-down": "chevron-down-box-outline",
  search: "magnify",
  info: "information-outline",
  options: "menu",
};

export interface HomeAssistantOptions {
  readonly settings: Pick<MqttSettings, "home_assistant" | "url" | "commands">;
  readonly topics: SiteTopics;
  /** The URL of the HTTP listener; `null` without one. */
  address(): string | null;
  /** Whether the web page is served. */
  page(): boolean;
}

/** Retained messages have arrived after this time. */
const settleMs = 1_000;

/** How long after it did not tell its inputs a device is asked again, and how long one that is on may not show its volume. */
const askAgainMs = 60_000;

interface KnownInputs {
  /** What they depend on. */
  readonly of: string;
  readonly inputs: readonly Input[] | null;
  /** When the device last did not tell them, by `performance.now()`; `null` where it has since. */
  readonly failedAt: number | null;
}

/** What a device has shown of its volume since the daemon's start; `onSince`: since when it is on, by `performance.now()`. */
interface KnownVolume extends Pick<DiscoveryInput, "level" | "muted"> {
  readonly onSince: number | null;
}
const unknownVolume: KnownVolume = { level: null, muted: null, onSince: null };

/** Publishes the payload of each device, and clears it where discovery is off. */
export class HomeAssistant {
  readonly #options: HomeAssistantOptions;
  /** Inputs by device: reading them asks the device, so that it is not done with every change. */
  readonly #inputs = new Map<string, KnownInputs>();
  readonly #volumes = new Map<string, KnownVolume>();
  /** Whether a broker may still be asked for what was published while discovery was on. */
  #mayClear = true;

  constructor(options: HomeAssistantOptions) {
    this.#options = options;
  }

  /** The topics of a device, to be cleared when it is removed. */
  topicsFor(deviceId: string): readonly string[] {
    return this.#options.settings.home_assistant ? [discoveryTopic({ id: deviceId })] : [];
  }

  /** The payload of a device; `null` where discovery is off. */
  async payloadFor(device: Device, zapd: Client): Promise<object | null> {
    if (!this.#options.settings.home_assistant) return null;
    const { topics, settings, address, page } = this.#options;
    const { id } = device;
    const can = (one: Device["capabilities"][number]) => device.capabilities.includes(one);
    const [apps, inputs] = await Promise.all([
      can("apps") && zapd.listApps({ id }).then(({ apps }) => apps, nothing),
      can("inputs") && this.#inputsOf(device, zapd),
    ]);
    const volume = this.#volumes.get(id) ?? unknownVolume;
    const { level, muted } = volume;
    if (device.status !== "online") this.#volumes.set(id, { ...volume, onSince: null });
    const at = address();
    // Home Assistant fetches the artwork itself. Where the broker is on another machine, Home Assistant probably is too, and
    // cannot reach our loopback address.
    const isBrokerLocal = isLocal(new URL(settings.url));
    return discoveryPayload({
      device,
      apps: apps || null,
      inputs: inputs || null,
      level,
      muted,
      topics,
      accepts: settings.commands !== "none",
      page: at !== null && page() ? `${at}/#/remote/${id}` : undefined,
      artwork: at !== null && isBrokerLocal ? `${at}/v1/devices/${id}/artwork` : undefined,
    });
  }

  /**
   * Clears the payloads of this site from when discovery was on; another site with the same devices may have it on. Some brokers
   * close the connection of a client that subscribes to what it may not: what was not answered once is not asked again.
   */
  async clearDisabled(bus: Bus, deviceIds: readonly string[], signal: AbortSignal): Promise<void> {
    if (this.#options.settings.home_assistant || deviceIds.length === 0 || !this.#mayClear) return;
    this.#mayClear = false;
    const topics = new Set(deviceIds.map((id) => discoveryTopic({ id })));
    const leave = await bus.subscribe([...topics], ({ topic, payload, retained }) => {
      const isOwn = objectIn(payload)?.["availability_topic"] === this.#options.topics.status;
      if (!retained || !isOwn || !topics.delete(topic)) return;
      bus.publish(topic, "", { retain: true, qos: 1 }).catch(() => {});
    });
    this.#mayClear = true;
    await sleep(settleMs, signal);
    await leave();
  }

  async #inputsOf(device: Device, zapd: Client): Promise<readonly Input[] | null> {
    const { id, capabilities, software_version, status } = device;
    const of = JSON.stringify([capabilities, software_version]);
    const known = this.#inputs.get(id);
    if (known?.of === of && known.failedAt === null) return known.inputs;
    // Not worth waiting for a device that does not answer.
    if (status === "offline") return known?.inputs ?? null;
    const read = await zapd.listInputs({ id }).then(({ inputs }) => inputs, nothing);
    const inputs = read ?? known?.inputs ?? null;
    this.#inputs.set(id, { of, inputs, failedAt: read ? null : performance.now() });
    return inputs;
  }

  /** The device was removed. */
  forget(deviceId: string): void {
    this.#inputs.delete(deviceId);
    this.#volumes.delete(deviceId);
  }

  /**
   * Takes a state of a device, and gives whether its payload may be another by now: it shows its volume, has not for a minute, or
   * answers again and is to be asked for what it did not tell.
   */
  stateChanged({ id, status }: Device, state: State | null): boolean {
    if (!this.#options.settings.home_assistant) return false;
    const isOver = (since: number | null) => since !== null && performance.now() - since >= askAgainMs;
    const before = this.#volumes.get(id) ?? unknownVolume;
    const { power = "off", volume = null } = state ?? {};
    // Some never report their power.
    const isOn = status === "online" && (power === "on" || power === "unknown");
    const onSince = isOn ? (before.onSince ?? performance.now()) : null;
    // A single read may fail, and some show their volume only a while after they were turned on.
    const known = (was: boolean | null, shown: unknown) => was || shown != null || (isOver(onSince) ? false : was);
    const [level, muted] = [known(before.level, volume?.level), known(before.muted, volume?.muted)];
    this.#volumes.set(id, { level, muted, onSince });
    return level !== before.level || muted !== before.muted || isOver(this.#inputs.get(id)?.failedAt ?? null);
  }
}

const nothing = () => null;
const discoveryPrefix = "homeassistant/";

/** The discovery topic of a device; an empty payload removes the device. */
export function discoveryTopic({ id }: Pick<Device, "id">): string {
  return `${discoveryPrefix}device/${id}/config`;
}

export function isDiscoveryTopic(topic: string): boolean {
  return topic.startsWith(discoveryPrefix);
}

/** The payload. A component that the device lacks has only its platform, which removes an earlier one. */
export function discoveryPayload(discovered: DiscoveryInput): Readonly<Record<string, unknown>> {
  const { device, topics, accepts, page } = discovered;
  const { id, name, manufacturer, model, serial, software_version } = device;
  const commands = Object.entries({ ...controls(discovered), ...buttons(device) });
  const accepted = accepts ? commands : commands.map(([name, one]) => [name, { ...one, isPresent: false }] as const);
  return {
    device: {
      identifiers: [`zapd_${id}`],
      name,
      ...(manufacturer !== null && { manufacturer }),
      ...(model !== null && { model }),
      ...(serial !== null && { serial_number: serial }),
      ...(software_version !== null && { sw_version: software_version }),
      ...(page !== undefined && { configuration_url: page }),
    },
    origin: { name: "zapd", sw_version: version },
    availability_topic: topics.status,
    availability_template: "{{ 'online' if value_json is defined and value_json.online else 'offline' }}",
    state_topic: topics.state(id),
    // For the buttons; other components have their own.
    command_topic: topics.set(id, "key"),
    qos,
    components: Object.fromEntries(
      [...accepted, ...Object.entries(sensors(discovered))].flatMap(([name, { platform, isPresent, ...options }]) => {
        // One that is left out stays in Home Assistant as it was.
        if (isPresent === null) return [];
        return [[name, isPresent ? { platform, unique_id: `zapd_${id}_${name}`, ...options } : { platform }]];
      }),
    ),
  };
}

/** Components that control the device. */
function controls({ device, apps, inputs, level, muted, topics }: DiscoveryInput): Record<string, Component> {
  const can = (one: Device["capabilities"][number]) => device.capabilities.includes(one);
  const setTopic = (field: Settable) => topics.set(device.id, field);
  const hasKey = (key: Key) => device.keys.includes(key);
  const appChoices = choices(
    (apps ?? []).filter(({ installed, type }) => installed && (type === "app" || type === "dev" || inputs === null)),
  );
  const inputChoices = choices(inputs ?? []);
  return {
    power: {
      platform: "switch",
      isPresent: hasKey("power-on") && hasKey("power-off"),
      name: "Power",
      icon: "mdi:power",
      command_topic: setTopic("power"),
      ...onOff,
      value_template: from("power", "{'on': 'on', 'standby': 'off', 'off': 'off'}.get(it, 'None')"),
    },
    app: {
      platform: "select",
      isPresent: can("launch") && (apps === null && can("apps") ? null : appChoices.length > 0),
      name: "App",
      icon: "mdi:apps",
      command_topic: setTopic("app"),
      options: appChoices.map(({ option }) => option),
      value_template: from("app", `${dictionary(appChoices)}.get(it.id, 'None')`),
    },
    input: {
      platform: "select",
      isPresent: can("inputs") && (inputs === null ? null : inputChoices.length > 0),
      name: "Input",
      icon: "mdi:import",
      command_topic: setTopic("input"),
      options: inputChoices.map(({ option }) => option),
      value_template: from("input", `${dictionary(inputChoices)}.get(it, 'None')`),
    },
    volume: {
      platform: "number",
      isPresent: can("volume") && level,
      name: "Volume",
      icon: "mdi:volume-high",
      command_topic: setTopic("volume"),
      min: 0,
      max: 100,
      step: 1,
      mode: "slider",
      unit_of_measurement: "%",
      value_template: from("volume", "it.level"),
    },
    muted: {
      platform: "switch",
      isPresent: can("mute") && muted,
      name: "Muted",
      icon: "mdi:volume-off",
      command_topic: setTopic("mute"),
      ...onOff,
      value_template: from("volume", "{true: 'on', false: 'off'}.get(it.muted, 'None')"),
    },
    text: {
      platform: "text",
      isPresent: can("text"),
      name: "Type",
      icon: "mdi:keyboard",
      command_topic: setTopic("text"),
      max: maxStateLength,
      // Without a template Home Assistant would store the typed text, which may be a password, as a state.
      value_template: "{{ '' }}",
    },
    message: {
      platform: "notify",
      isPresent: can("notify"),
      name: "Message",
      icon: "mdi:message-outline",
      command_topic: setTopic("notify"),
    },
  };
}

const onOff = { payload_on: "on", payload_off: "off", state_on: "on", state_off: "off" } as const;

/** Components that only show something. */
function sensors({ device, topics, artwork }: DiscoveryInput): Record<string, Component> {
  const hasState = device.capabilities.includes("state");
  const hasApps = device.capabilities.includes("launch") || device.capabilities.includes("apps");
  const cut = `| string | truncate(${maxStateLength}, true, '', 0)`;
  return {
    app_shown: {
      platform: "sensor",
      isPresent: hasState && hasApps,
      name: "App",
      icon: "mdi:apps",
      value_template: from("app", `it.name ${cut}`),
    },
    playback: {
      platform: "sensor",
      isPresent: hasState,
      name: "Playback",
      icon: "mdi:play-pause",
      device_class: "enum",
      options: playbackStatuses,
      value_template: from("playback", "it.status"),
    },
    title: {
      platform: "sensor",
      isPresent: hasState,
      name: "Title",
      icon: "mdi:subtitles-outline",
      value_template: from("playback", `it.title ${cut} if it.title else 'None'`),
    },
    artwork: {
      platform: "image",
      isPresent: device.capabilities.includes("artwork") && artwork !== undefined,
      name: "Artwork",
      url_topic: topics.state(device.id),
      url_template: artwork,
    },
    failure: {
      platform: "event",
      isPresent: true,
      name: "Failure",
      icon: "mdi:alert-circle-outline",
      state_topic: topics.events,
      event_types: ["failure"],
      value_template: `{% if value_json.type == 'action.finished' and value_json.device_id == '${device.id}' and not value_json.ok %}{{ {'event_type': 'failure', 'action': value_json.action, 'code': value_json.error.code, 'message': value_json.error.message} | to_json }}{% endif %}`,
    },
  };
}

/** A button for each key. */
function buttons({ keys: ownKeys }: Device): Record<string, Component> {
  return Object.fromEntries(
    keys.map((key) => [
      `key_${key.replaceAll("-", "_")}`,
      {
        platform: "button",
        isPresent: ownKeys.includes(key),
        name: keyLabel(key),
        payload_press: key,
        ...(icons[key] !== undefined && { icon: `mdi:${icons[key]}` }),
        ...(disabledByDefault.has(key) && { enabled_by_default: false }),
      },
    ]),
  );
}

/** `Volume up`, `Input HDMI 1`. */
function keyLabel(key: Key): string {
  const words = key
    .replaceAll("-", " ")
    .replace(/hdmi(\d)/, "HDMI $1")
    .replace(/\bav\b/, "AV");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/**
 * A template for a part of the state, named `it`. `None` means unknown in Home Assistant; an empty text would leave the state
 * unchanged. A cleared topic has no `value_json`.
 */
function from(part: string, expression: string): string {
  return `{% set it = value_json.state.${part} if value_json is defined and value_json.state else none %}{{ (${expression}) if it is not none else 'None' }}`;
}

/**
 * The options of a list: each has its name, where that is unambiguous and valid in Home Assistant, or else its id. Commands
 * have the same word, which zapd resolves by platform id, id and name, in this order. Without the spaces around it, since
 * Home Assistant strips what a template renders (helpers/template.py).
 */
function choices(all: readonly (Input & Partial<Pick<App, "platform_id">>)[]): readonly Choice[] {
  const isUnambiguous = (word: string, own: Input) =>
    all.every((other) => other === own || ![other.id, other.name.trim(), other.platform_id].includes(word));
  return all.slice(0, maxOptions).flatMap((one) => {
    const option = [one.name.trim(), one.id].find((word) => isOption(word) && isUnambiguous(word, one));
    return option === undefined ? [] : [{ id: one.id, option }];
  });
}

/** Whether a select can have the option: `none` means no selection, and a state has no control characters. */
function isOption(word: string): boolean {
  return word.length > 0 && word.length <= maxStateLength && word.toLowerCase() !== "none" && !/\p{C}/u.test(word);
}

/** The options by their ids, as a template writes them. */
function dictionary(all: readonly Choice[]): string {
  return `{${all.map(({ id, option }) => `${literal(id)}: ${literal(option)}`).join(", ")}}`;
}

/** A string literal for a template; characters with a meaning in it are escaped. */
function literal(text: string): string {
  const escaped = (character: string) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
  return `'${text.replace(/['"\\{}%#]/g, escaped)}'`;
}
