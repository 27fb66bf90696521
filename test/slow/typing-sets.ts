/** Simulated sets in a process of their own, which record typed text; `startTypingSets` starts it. */
import { createRokuSimulator, type RokuSimulator } from "../../src/simulators/roku.ts";
import { lane } from "../support/lane.ts";
import { obey, Worker } from "./bench/worker.ts";

const sets: RokuSimulator[] = [];

const orders = {
  /** Starts so many sets, each on its own address; resolves with their addresses. */
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
  /** The text that each received. */
  typed: () => sets.map((set) => set.text),
  /** The first so many accept connections and never answer from now on. */
  async hang({ count }: { readonly count: number }) {
    await Promise.all(sets.slice(0, count).map((set) => set.fault("hang")));
  },
};

export function startTypingSets(): Worker<typeof orders> {
  return new Worker<typeof orders>(import.meta.path);
}

if (import.meta.main) obey(orders);
