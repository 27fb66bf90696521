/**
 * What Home Assistant takes as the discovery payload of a device, as a strict checker: facts read in home-assistant/core,
 * homeassistant/components/mqtt. schemas.py (the edition that requires a unique_id of each entity, later than c6ca7f5f), config.py
 * (459c79f2), switch.py (58963430 and later), select.py (01dba6ff), number.py (25c30036 and later), button.py (1ecdb9be), text.py
 * (9acf305f), sensor.py (17309b78 and later), image.py (02e61246), notify.py (78247e60), event.py (03ffd74c), discovery.py,
 * util.py (topics), helpers/config_validation.py (urls, icons). Where Home Assistant drops an option that it does not know, this
 * refuses it; so it does with the options that it knows and we do not use: look them up there before you add one.
 */
import { isObject } from "../../src/system/json.ts";

/** Says what is wrong with a value; `null` where nothing is. */
type Check = (value: unknown) => string | null;

const text: Check = (value) => (typeof value === "string" ? null : "is no text");
const flag: Check = (value) => (typeof value === "boolean" ? null : "is neither true nor false");
const whole: Check = (value) => (Number.isInteger(value) && Number(value) >= 0 ? null : "is no whole number");
const decimal: Check = (value) => (typeof value === "number" && Number.isFinite(value) ? null : "is no number");
const qos: Check = (value) => (value === 0 || value === 1 || value === 2 ? null : "is no quality of service");
const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    words.includes(String(value)) && typeof value === "string" ? null : `is none of ${words.join(", ")}`;
const texts: Check = (value) =>
  Array.isArray(value) && value.every((one) => typeof one === "string") ? null : "is no list of texts";
const topic: Check = (value) => {
  if (typeof value !== "string" || value === "") return "is no topic";
  if (Buffer.byteLength(value) > 65_535) return "is too long for a topic";
  return /[\p{Cc}\p{Cs}\p{Cn}]/u.test(value) ? "holds what no topic may" : null;
};
const published: Check = (value) => topic(value) ?? (/[+#]/.test(String(value)) ? "has a wildcard" : null);
const subscribed: Check = (value) => {
  const levels = String(value).split("/");
  const isSound = levels.every((level, at) => {
    if (level.includes("#")) return level === "#" && at === levels.length - 1;
    return !level.includes("+") || level === "+";
  });
  return topic(value) ?? (isSound ? null : "has a wildcard where none may stand");
};
const url: Check = (value) => {
  if (typeof value !== "string" || !URL.canParse(value)) return "is no address";
  const { protocol, host } = new URL(value);
  return /^(https?|homeassistant):$/.test(protocol) && host !== "" ? null : "is no address that it opens";
};
const icon: Check = (value) => (/^[a-z0-9-]+:[a-z0-9-]+$/.test(String(value)) ? null : "is no icon: prefix:name");
/** Jinja: what is opened is closed, outside of quotes, and what a template names is there. */
const template: Check = (value) => {
  if (typeof value !== "string") return "is no template";
  let rest = value.replaceAll(/'(?:[^'\\]|\\.)*'/gs, "''");
  for (const [, inside = ""] of rest.matchAll(/\{[{%](.*?)[%}]\}/gs))
    if (/\{[{%]|[%}]\}/.test(inside)) return "opens what is open";
  rest = rest.replaceAll(/\{\{.*?\}\}(?!\})|\{%.*?%\}/gs, "");
  return /\{[{%#]|[%}#]\}/.test(rest) ? "is not closed" : null;
};

interface Shape {
  readonly required?: Readonly<Record<string, Check>>;
  readonly optional: Readonly<Record<string, Check>>;
  /** What holds of all of it. */
  readonly whole?: (value: Readonly<Record<string, unknown>>) => string | null;
}

const availability = { availability_topic: subscribed, availability_template: template } as const;

/** What every entity takes; one that tells something, and one that is told something, besides. */
const entity: Shape["optional"] = {
  ...availability,
  qos,
  name: (value) => (value === null ? null : text(value)),
  enabled_by_default: flag,
  icon,
  unique_id: text,
};
const reads = { required: { state_topic: subscribed }, optional: { ...entity, value_template: template } } as const;
const commands = { required: { command_topic: published }, optional: entity } as const;
const writes = { required: commands.required, optional: { ...reads.optional, ...reads.required } } as const;

/** The platforms that we use, each with its options. */
const platforms: Readonly<Record<string, Shape>> = {
  switch: {
    required: writes.required,
    optional: { ...writes.optional, payload_on: text, payload_off: text, state_on: text, state_off: text },
  },
  select: { required: { ...writes.required, options: texts }, optional: writes.optional },
  number: {
    required: writes.required,
    optional: {
      ...writes.optional,
      min: decimal,
      max: decimal,
      step: (value) => decimal(value) ?? (Number(value) >= 0.001 ? null : "is less than 0.001"),
      mode: oneOf("auto", "box", "slider"),
      unit_of_measurement: text,
    },
    whole: ({ min = 1, max = 100 }) => (Number(min) >= Number(max) ? "has a min that is not below its max" : null),
  },
  button: { required: commands.required, optional: { ...commands.optional, payload_press: text } },
  text: {
    required: writes.required,
    optional: { ...writes.optional, max: whole },
    whole: ({ max = 255 }) => (Number(max) > 255 ? "has lengths that no state can have" : null),
  },
  sensor: {
    required: reads.required,
    optional: { ...reads.optional, options: texts, device_class: text },
    whole({ options, device_class }) {
      if (options === undefined) return null;
      if (Array.isArray(options) && options.length === 0) return "has no options";
      return device_class === "enum" ? null : "has options, and is no enum";
    },
  },
  image: { required: { url_topic: subscribed }, optional: { ...entity, url_template: template } },
  notify: commands,
  event: { required: { ...reads.required, event_types: texts }, optional: reads.optional },
};

/** What a component has of the device, where it does not say it itself; what its platform does not know of it is dropped. */
const shared = ["availability_template", "availability_topic", "command_topic", "state_topic", "qos"] as const;

const device: Shape = {
  required: { identifiers: (value) => texts(value) ?? (Array.isArray(value) && value.length > 0 ? null : "is empty") },
  optional: {
    manufacturer: text,
    model: text,
    name: text,
    serial_number: text,
    sw_version: text,
    configuration_url: url,
  },
};
const origin: Shape = { required: { name: text }, optional: { sw_version: text } };
const object: Check = (value) => (isObject(value) ? null : "is no object");
const payload: Shape = {
  required: { device: object, origin: object, components: object },
  optional: { ...availability, state_topic: subscribed, command_topic: published, qos },
};

/** Everything that Home Assistant would refuse, or drop, of a discovery payload: `components.power.options is no list of texts`. */
export function refusals(given: unknown): readonly string[] {
  if (!isObject(given)) return ["it is no object"];
  const found = problemsOf(given, payload, "");
  const { device: its, origin: from, components } = given;
  if (isObject(its)) found.push(...problemsOf(its, device, "device"));
  if (isObject(from)) found.push(...problemsOf(from, origin, "origin"));
  const ids = new Set<unknown>();
  for (const [word, one] of Object.entries(isObject(components) ? components : {})) {
    const place = `components.${word}`;
    if (!isObject(one)) found.push(`${place} is no object`);
    else found.push(...componentProblems(one, given, place));
    const id = isObject(one) ? one["unique_id"] : undefined;
    if (id !== undefined && ids.has(id)) found.push(`${place}.unique_id is another's`);
    ids.add(id);
    // The id of a component is made with spaces between its parts.
    if (/\s/.test(word) || word === "") found.push(`${place} has an id that is none`);
  }
  return found;
}

function componentProblems(
  { platform, ...options }: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, unknown>>,
  place: string,
): string[] {
  const shape = typeof platform === "string" && Object.hasOwn(platforms, platform) ? platforms[platform] : undefined;
  if (!shape) return [`${place}.platform is none that we know`];
  // One that is gone.
  if (Object.keys(options).length === 0) return [];
  const known = { ...shape.required, ...shape.optional };
  const inherited = Object.fromEntries(
    shared.filter((one) => one in given && one in known).map((one) => [one, given[one]]),
  );
  const found = problemsOf({ ...inherited, ...options }, shape, place);
  if (typeof options["unique_id"] !== "string") found.push(`${place}.unique_id is missing`);
  return found;
}

function problemsOf(
  value: Readonly<Record<string, unknown>>,
  { required = {}, optional, whole: all }: Shape,
  place: string,
): string[] {
  const at = (key: string) => (place === "" ? key : `${place}.${key}`);
  const missing = Object.keys(required).filter((key) => value[key] === undefined);
  const found = missing.map((key) => `${at(key)} is missing`);
  for (const [key, one] of Object.entries(value)) {
    const check = required[key] ?? optional[key];
    const problem = one === undefined ? null : check ? check(one) : "is not known";
    if (problem) found.push(`${at(key)} ${problem}`);
  }
  const problem = all?.(value);
  if (problem) found.push(`${place || "it"} ${problem}`);
  return found;
}
