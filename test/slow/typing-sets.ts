/** Simulated sets in a process of their own, which write down what is typed on them: `startTypingSets` is its other end. */
import { createRokuSimulator, type RokuSimulator } from "../../src/simulators/roku.ts";
import { lane } from "../support/lane.ts";
import { obey, Worker } from "./bench/worker.ts";

const sets: RokuSimulator[] = [];

const orders = {
  /** So many sets, each on an address of its own; where they answer. */
  async start({ count }: { readonly count: number }) {
    return Promise.all(
      Array.from({ length: count }, async (_, at) => {
        const set = createRokuSimulator({
          name: `Typed ${process.pid} ${at}`,
          host: `127.${20 + lane}.9.${1 + at}`,
          ssdp: false,
          launchMs: 0,
        });
        await set.start();
        sets[at] = set;
        return { host: set.host, port: set.port };
      }),
    );
  },
  /** What each has been sent, in the order in which it came. */
  typed: () => sets.map((set) => set.text),
  /** From now on the first so many take connections, and never say a word. */
  async hang({ count }: { readonly count: number }) {
    await Promise.all(sets.slice(0, count).map((set) => set.fault("hang")));
  },
};

export function startTypingSets(): Worker<typeof orders> {
  return new Worker<typeof orders>(import.meta.path);
}

if (import.meta.main) obey(orders);
