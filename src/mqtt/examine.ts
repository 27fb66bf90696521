/** Measures how fast a broker answers, over connections of its own beside the daemon's. */
import { randomBytes } from "node:crypto";
import net from "node:net";
import { connectBus } from "./broker.ts";
import { BusError } from "./bus.ts";
import { brokerOf, type MqttSettings } from "./settings.ts";
import { topicsOf } from "./topics.ts";

export interface BrokerFound {
  readonly url: string;
  /** Milliseconds that the network takes to the broker and back: those of a TCP connect. */
  readonly wayMs: number;
  /** The median of milliseconds from the request of one client to the answer of another; `null`: none came. */
  readonly roundTripMs: number | null;
}

const trips = 15;
const returnsWithinMs = 2_000;
const expiresInS = 10;

/** Fails with a `BusError` that says what is in the way. */
export async function examineBroker(settings: MqttSettings, site: string): Promise<BrokerFound> {
  const broker = brokerOf(settings, process.env);
  const mark = randomBytes(4).toString("hex");
  const connected = (who: string) => connectBus(broker, { clientId: `zapd-${site}-doctor-${mark}-${who}` });
  const asks = await connected("asks");
  // Small packets are held back while an earlier one is not acknowledged, which requests one after another show.
  const answers = await connected("answers").catch(async (error: unknown) => {
    await asks.close();
    throw error;
  });
  try {
    const wayMs = await wayTo(broker.host, broker.port);
    const { base, reply } = topicsOf(settings.prefix, site);
    const topic = `${base}/doctor/${mark}`;
    const replyTo = reply(`doctor-${mark}`);
    await answers.subscribe([topic], ({ payload, correlation }) => {
      answers.publish(replyTo, payload, { qos: 1, expiresInS, correlation }).catch(() => {});
    });
    const took: number[] = [];
    for (let trip = 0; trip < trips; trip++) {
      const since = performance.now();
      await asks.request(topic, { trip }, { replyTo, timeoutMs: returnsWithinMs });
      took.push(performance.now() - since);
    }
    took.sort((one, other) => one - other);
    return { url: broker.url, wayMs, roundTripMs: took[Math.floor(trips / 2)] ?? 0 };
  } catch (error) {
    if (!(error instanceof BusError) || error.reason !== "timeout") throw error;
    return { url: broker.url, wayMs: 0, roundTripMs: null };
  } finally {
    await Promise.all([asks.close(), answers.close()]);
  }
}

function wayTo(host: string, port: number): Promise<number> {
  const since = performance.now();
  return new Promise((resolve) => {
    const socket = net.connect({ host, port, timeout: returnsWithinMs });
    const done = () => {
      resolve(performance.now() - since);
      socket.destroy();
    };
    socket.once("connect", done).once("error", done).once("timeout", done);
  });
}
