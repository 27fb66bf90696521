/** Devices that come and go: added, driven and removed, at rest and in the middle of whatever they are asked. */
import { getEventListeners } from "node:events";
import type { Pairing } from "../../src/platforms/platform.ts";
import { until } from "../support/http-device.ts";
import { openHouse } from "./harness.ts";

/** So many are there at the same time. */
const together = 100;

export interface Left {
  /** What is held of devices that are gone, by what holds it. */
  readonly held: Readonly<Record<string, number>>;
  /** Connections that were made, and not closed. */
  readonly open: number;
  /** Pairings that were begun, and not ended. */
  readonly pairing: number;
  /** Who still listens to callers that asked something. */
  readonly listeners: number;
  /** Live devices, in memory, after the garbage was collected. */
  readonly alive: number;
}

/** Has so many devices come and go; tells what is left of them. */
export async function comeAndGo(count: number): Promise<Left> {
  let pairing = 0;
  const house = await openHouse(undefined, [], undefined, async (): Promise<Pairing> => {
    pairing++;
    const over = Promise.withResolvers<never>();
    over.promise.catch(() => {});
    let isOver = false;
    const cancel = () => {
      if (!isOver) pairing--;
      isOver = true;
      over.reject(new Error("given up"));
    };
    return { step: "confirm", expiresMs: 60_000, done: over.promise, cancel };
  });
  const callers: AbortSignal[] = [];
  const caller = () => {
    const { signal } = new AbortController();
    callers.push(signal);
    return signal;
  };
  const refs: WeakRef<object>[] = [];
  let opened = 0;
  house.set.takes = 5;
  for (let done = 0; done < count; done += together) {
    callers.length = 0;
    const life = async (at: number) => {
      const record = await house.add(`${done}-${at}`);
      const device = house.devices.deviceOf(record);
      refs.push(new WeakRef(device), new WeakRef(device.leading));
      const asked = [
        () => house.actions.key(record, "home", { signal: caller() }),
        () => device.state(caller()),
        () => device.pair({}, caller()),
        () => house.actions.refresh(record, false, caller()),
        async () => device.watch.subscribe()(),
      ];
      // One thing is over, and another in its middle, when the device is removed.
      if (at % 2 === 0) await house.actions.key(record, "up", { signal: caller() });
      const under = asked[at % asked.length]?.().catch(() => {});
      await house.devices.remove(device);
      await under;
      opened += house.connected.splice(0).length;
    };
    await Promise.all(Array.from({ length: Math.min(together, count - done) }, (_, at) => life(at)));
  }
  const open = () => opened - house.set.closed.length;
  await until("the last has been closed", () => open() === 0 && pairing === 0).catch(() => {});
  await Promise.all([house.registry.settled(), house.catalog.settled(), house.credentials.settled()]);
  const listeners = callers.reduce((sum, signal) => sum + getEventListeners(signal, "abort").length, 0);
  const held = house.devices.sizes;
  const alive = await stillAlive(refs);
  const left = { held, open: open(), pairing, listeners, alive };
  await house.remove();
  return left;
}

async function stillAlive(refs: readonly WeakRef<object>[]): Promise<number> {
  const count = () => refs.filter((ref) => ref.deref() !== undefined).length;
  // A reference that was looked at lives until the turn is over.
  for (let round = 0; round < 10 && count() > 0; round++) {
    await Bun.sleep(20);
    Bun.gc(true);
  }
  return count();
}
