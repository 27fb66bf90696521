/** Checks the MQTT broker, where one is set: whether it accepts us, and how fast it answers. Loads the MQTT modules only then. */
import { type Examination, type Finding, fail, ok, warn } from "./examination.ts";

/** A longer delay means that small packets are held back: Nagle's algorithm and delayed acknowledgements add 40 ms and more. */
const heldBackMs = 30;

export async function brokerAnswers(exam: Examination): Promise<Finding[]> {
  const { config } = await exam.config();
  if (config.mqtt.url === "") return [];
  const daemon = await exam.daemon();
  const mqtt = daemon.state === "running" ? daemon.status.mqtt : undefined;
  if (daemon.state === "running" && mqtt?.url !== config.mqtt.url)
    return [
      warn(
        `the daemon does not use ${config.mqtt.url} yet`,
        "If it still does not in a few seconds: zapd config reload",
      ),
    ];
  if (mqtt?.state === "stopped") return [fail(mqtt.problem ?? "MQTT has stopped", mqtt.hint ?? undefined)];
  const [{ examineBroker }, { BusError }] = await Promise.all([import("../mqtt/examine.ts"), import("../mqtt/bus.ts")]);
  try {
    const { broker, roundTripMs } = await examineBroker(config.mqtt, mqtt?.site ?? (config.mqtt.site || "doctor"));
    const { url, host, port } = broker;
    if (mqtt && mqtt.problem !== null) return [warn(mqtt.problem, mqtt.hint ?? undefined)];
    if (roundTripMs === null) {
      const hint =
        "Allow zapd in the broker's ACL to read and write below its site; src/mqtt/README.md has an ACL to copy";
      return [
        warn(
          `the broker at ${url} accepts zapd's connection, but does not deliver what zapd publishes for its site`,
          hint,
        ),
      ];
    }
    const since = performance.now();
    await exam.machine.isListening(host, port);
    const wayMs = performance.now() - since;
    const took = `${roundTripMs < 10 ? roundTripMs.toFixed(1) : Math.round(roundTripMs)} ms`;
    if (roundTripMs < heldBackMs || roundTripMs < 2 * wayMs + heldBackMs / 2)
      return [ok(`the broker at ${url} answers in ${took}`)];
    const hint =
      "It delays small packets (Nagle's algorithm): set set_tcp_nodelay true in mosquitto.conf; other brokers call it nodelay";
    return [
      warn(`the broker at ${url} answers in ${took}, and a network round trip takes ${wayMs.toFixed(1)} ms`, hint),
    ];
  } catch (error) {
    if (error instanceof BusError) return [fail(error.message, error.hint)];
    throw error;
  }
}
