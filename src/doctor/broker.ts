/** Checks the MQTT broker, where one is set: whether it accepts us, and how fast it answers. Loads the MQTT modules only then. */
import { type Examination, type Finding, fail, ok, warn } from "./examination.ts";

/** A longer delay means that small packets are held back: Nagle's algorithm and delayed acknowledgements add 40 ms and more. */
const heldBackMs = 30;

export async function brokerAnswers(exam: Examination): Promise<Finding[]> {
  const { config } = await exam.config();
  if (config.mqtt.url === "") return [];
  const daemon = await exam.daemon();
  const mqtt = daemon.state === "running" ? daemon.status.mqtt : undefined;
  if (mqtt?.state === "stopped") return [fail(mqtt.problem ?? "MQTT has stopped", mqtt.hint ?? undefined)];
  const [{ examineBroker }, { BusError }] = await Promise.all([import("../mqtt/examine.ts"), import("../mqtt/bus.ts")]);
  try {
    const { url, wayMs, roundTripMs } = await examineBroker(config.mqtt, mqtt?.site ?? (config.mqtt.site || "doctor"));
    if (roundTripMs === null) {
      const hint = "Its ACL is to let zapd read and write below its site: src/mqtt/README.md has one to copy";
      return [warn(`the broker at ${url} lets us in, and does not hand on what we send below our site`, hint)];
    }
    if (mqtt?.state === "connected" && mqtt.problem !== null) return [warn(mqtt.problem, mqtt.hint ?? undefined)];
    const took = `${roundTripMs < 10 ? roundTripMs.toFixed(1) : Math.round(roundTripMs)} ms`;
    if (roundTripMs < heldBackMs || roundTripMs < 2 * wayMs + heldBackMs / 2)
      return [ok(`the broker at ${url} answers in ${took}`)];
    const hint =
      "It holds small packets back (Nagle's algorithm): in mosquitto.conf, set_tcp_nodelay true; other brokers call it nodelay";
    return [warn(`the broker at ${url} answers in ${took}, and the way there takes ${wayMs.toFixed(1)} ms`, hint)];
  } catch (error) {
    if (error instanceof BusError) return [fail(error.message, error.hint)];
    throw error;
  }
}
