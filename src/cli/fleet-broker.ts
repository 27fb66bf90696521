/** Connects `zapd fleet` to the broker of the config, or of its options. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { exits } from "../api/errors.ts";
import { configPath } from "../config/paths.ts";
import { readConfig, readSource } from "../config/read.ts";
import { problemOf, settings } from "../config/schema.ts";
import { connectBus } from "../mqtt/broker.ts";
import { BusError } from "../mqtt/bus.ts";
import { Fleet } from "../mqtt/fleet.ts";
import { brokerOf, type MqttSettings } from "../mqtt/settings.ts";
import { topicsOf } from "../mqtt/topics.ts";
import type { Context } from "./context.ts";
import { timeoutMessage } from "./explain.ts";
import { CommandError, UsageError } from "./failure.ts";
import { locateDaemon } from "./running.ts";

/** Options, and the setting of `mqtt` that each one overrides. */
const settingOfOption = {
  broker: "url",
  username: "username",
  "password-file": "password_file",
  ca: "ca",
  cert: "cert",
  key: "key",
  prefix: "prefix",
} as const;
const files: readonly string[] = ["password_file", "ca", "cert", "key"];

interface OpenFleet {
  readonly fleet: Fleet;
  /** The topic for answers of a site to this caller. */
  readonly replyTo: (site: string) => string;
  close(): Promise<void>;
}

/** Connects, and reads the retained documents of the sites; with `states`, the devices' states too. Fails with CommandError, or ZapdError for a wrong config. */
export async function openFleet(context: Context, states: boolean): Promise<OpenFleet> {
  const mqtt = await settingsOf(context);
  const signal = context.deadline();
  const name = `zapd-fleet-${randomBytes(6).toString("hex")}`;
  try {
    const bus = await connectBus(brokerOf(mqtt, process.env), { clientId: name, ...(signal && { signal }) });
    try {
      const fleet = await Fleet.open(bus, mqtt.prefix, { states, signal });
      return { fleet, replyTo: (site) => topicsOf(mqtt.prefix, site).reply(name), close: () => bus.close() };
    } catch (error) {
      await bus.close();
      throw error;
    }
  } catch (error) {
    if (context.isTimedOut)
      throw new CommandError(
        timeoutMessage(context.timeoutMs ?? 0),
        exits.unreachable,
        "Nothing was sent to a device: the broker was still asked which devices there are",
        { code: "broker_unreachable" },
      );
    if (!(error instanceof BusError)) throw error;
    const status = error.reason === "login" ? exits.refused : exits.unreachable;
    throw new CommandError(inOptions(error.message, context), status, error.hint && inOptions(error.hint, context), {
      code: "broker_unreachable",
    });
  }
}

/** A text about settings, with the options that were given in their places. */
function inOptions(text: string, context: Context): string {
  return Object.entries(settingOfOption).reduce((said, [option, key]) => {
    if (context.option(option) === undefined) return said;
    return said.replace(new RegExp(`(zapd config set )?\\bmqtt\\.${key}\\b`, "g"), `--${option}`);
  }, text);
}

async function settingsOf(context: Context): Promise<MqttSettings> {
  let mqtt = settingsIn(configPath(process.env, context.option("config")));
  const broker = context.option("broker");
  const isGiven = broker ?? context.option("config") ?? process.env["ZAPD_CONFIG"];
  // `zapd config set` writes the config of the daemon that runs, which may not be at the usual place.
  if (mqtt.url === "" && isGiven === undefined) mqtt = settingsIn((await locateDaemon(context)).configFile);
  // The login of the config is for its own broker.
  const own = URL.parse(mqtt.url);
  if (broker !== undefined && own !== null && URL.parse(broker)?.hostname !== own.hostname)
    mqtt = { ...mqtt, username: "", password_file: "" };
  for (const [option, key] of Object.entries(settingOfOption)) {
    const given = context.option(option);
    if (given === undefined) continue;
    const value = files.includes(key) ? resolve(given) : given;
    const setting = settings.get(`mqtt.${key}`);
    const problem = setting ? problemOf(setting, value) : null;
    if (problem !== null) throw new UsageError(`--${option} ${problem}`);
    if (files.includes(key) && !existsSync(value))
      throw new CommandError(`${value}, the file of --${option}, does not exist`, exits.failed, undefined, {
        code: "file_unreadable",
      });
    mqtt = { ...mqtt, [key]: value };
  }
  if (mqtt.url === "")
    throw new CommandError(
      "no broker is known",
      exits.usage,
      "Give it with --broker mqtt://HOST:1883, or set it: zapd config set mqtt.url mqtt://HOST:1883",
      { code: "usage" },
    );
  return mqtt;
}

function settingsIn(path: string): MqttSettings {
  return readConfig(readSource(path).text, path).config.mqtt;
}
