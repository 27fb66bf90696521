/** Measures how fast a broker answers, over two connections of its own. */
import { randomBytes } from "node:crypto";
import { type Broker, connectBus } from "./broker.ts";
import { BusError } from "./bus.ts";
import { brokerOf, type MqttSettings } from "./settings.ts";
import { topicsOf } from "./topics.ts";

export interface BrokerExamined {
  readonly broker: Broker;
  /** The median time from the request of one client to the answer of another; `null`: no answer. */
  readonly roundTripMs: number | null;
}

const rounds = 15;
const timeoutMs = 2_000;
const expiresInS = 10;

/** Fails with a `BusError`. */
export async function examineBroker(settings: MqttSettings, site: string): Promise<BrokerExamined> {
  const broker = brokerOf(settings, process.env);
  const mark = randomBytes(4).toString("hex");
  const connected = (who: string) => connectBus(broker, { clientId: `zapd-${site}-doctor-${mark}-${who}` });
  const asks = await connected("asks");
  // Requests one after another reveal a broker that delays small packets until earlier ones are acknowledged (Nagle).
  const answers = await connected("answers").catch(async (error: unknown) => {
    await asks.close();
    throw error;
  });
  try {
    const { base, reply } = topicsOf(settings.prefix, site);
    const topic = `${base}/doctor/${mark}`;
    const replyTo = reply(`doctor-${mark}`);
    await answers.subscribe([topic], ({ payload, correlation }) => {
      answers.publish(replyTo, payload, { qos: 1, expiresInS, correlation }).catch(() => {});
    });
    const took: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const since = performance.now();
      await asks.request(topic, { round }, { replyTo, timeoutMs });
      took.push(performance.now() - since);
    }
    took.sort((one, other) => one - other);
    return { broker, roundTripMs: took[Math.floor(rounds / 2)] ?? 0 };
  } catch (error) {
    if (!(error instanceof BusError) || error.reason !== "timeout") throw error;
    return { broker, roundTripMs: null };
  } finally {
    await Promise.all([asks.close(), answers.close()]);
  }
}
