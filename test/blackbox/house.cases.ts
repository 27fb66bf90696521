/** A house of twelve devices: each is found once, by its name, and goes on when one of its protocols fails. */
import { afterEach, expect, test } from "bun:test";
import { composition, platforms } from "../../src/platforms/index.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { EventStream } from "../support/event-stream.ts";
import { type House, openHouseWith } from "../support/house-of.ts";
import { houseOfTwelve, platformsOf, type Resident } from "../support/house-of-twelve.ts";
import { until } from "../support/http-device.ts";
import { dice, shaken } from "../support/shaken.ts";
import { runs, sampleOf, seed, within } from "../support/whole.ts";
import { ask, succeed } from "./checked.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly platforms: readonly string[];
}
const sorted = (all: readonly Shown[]): Shown[] =>
  all.map(({ id, name, platforms }) => ({ id, name, platforms })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
const told = (all: readonly Shown[]) => all.map(({ name, platforms }) => `${name}: ${platforms.join(" ")}`);
const whole = told(
  sorted(houseOfTwelve("own").map((one) => ({ id: "", name: one.name, platforms: platformsOf(one) }))),
);

async function moveIn(house: readonly Resident[]): Promise<void> {
  const sets = house.flatMap(({ parts }) => parts.map(({ set }) => set));
  cleanups.push(() => Promise.all(sets.map((set) => set.stop())));
  await Promise.all(sets.map((set) => set.start()));
}

test(
  "scans with late, repeated and lost answers find the same twelve names and ids",
  async () => {
    await moveIn(houseOfTwelve("own"));
    const shaking = { lost: 0, lateMs: 120 };
    const noisy = shaken(platforms, () => shaking, dice(seed));
    const scan = async (one: House) => {
      await one.api("POST", "/devices/discover");
      return sorted((await one.api("GET", "/devices")).body.data);
    };
    /** Where this machine is too busy to identify all in the time of one scan, the next one finds the rest. */
    const scanForAll = async (one: House) => {
      let found = await scan(one);
      for (let more = 0; more < 3 && told(found).join() !== whole.join(); more++) found = await scan(one);
      expect(told(found)).toEqual(whole);
      return found;
    };
    /** Each time with a new registry: the result must not depend on the order of the answers. */
    const inNewHouse = async (run: (one: House) => Promise<void>) => {
      const one = await openHouseWith({ platforms: noisy, composition }, "timeout_ms = 2_000\n");
      await run(one).finally(() => one.dispose());
    };
    let first: readonly Shown[] | undefined;
    for (let round = 0; round < runs(1, 20); round++) {
      await inNewHouse(async (one) => {
        shaking.lost = 0;
        const found = await scanForAll(one);
        first ??= found;
        expect(found).toEqual([...first]);
        shaking.lost = 0.5;
        for (let again = 0; again < 2; again++) expect(await scan(one)).toEqual(found);
      });
      await inNewHouse(async (one) => {
        shaking.lost = 0.5;
        const early = await scan(one);
        expect(early.length).toBeLessThanOrEqual(whole.length + 3);
        shaking.lost = 0;
        await scanForAll(one);
        // Ids that were shown stay valid.
        for (const { id } of early) expect((await one.api("GET", `/devices/${id}`)).status).toBe(200);
      });
    }
  },
  within(),
);

test(
  "when one protocol of a device fails the others go on, under the same name and id, also after a restart",
  async () => {
    const house = houseOfTwelve("apart");
    await moveIn(house);
    const config = { discovery: { timeout_ms: 2_000 }, devices: { request_timeout_ms: 3_000 } };
    let daemon = await startTestDaemon({ config });
    cleanups.push(() => daemon.dispose());
    const stream = new EventStream({ to: daemon.port });
    cleanups.push(async () => stream.close());
    const scan = async () => {
      await succeed(daemon, "discoverDevices");
      return sorted(await succeed(daemon, "listDevices"));
    };
    await until("all are found", async () => told(await scan()).join() === whole.join());
    const first = await scan();
    // The events of devices that were joined leave the same twelve.
    const followed = () => {
      const live = new Map<string, string>();
      for (const { type, device } of stream.frames) {
        if (type === "device.removed") live.delete(device.id);
        else if (type === "device.added" || type === "device.changed") live.set(device.id, device.name);
      }
      return [...live].toSorted().join();
    };
    const listed = first.map(({ id, name }) => [id, name]).toSorted();
    await until("whoever follows knows the same", () => followed() === listed.join());
    const idOf = (wanted: string) => first.find(({ name }) => name === wanted)?.id ?? "";
    // LG sets must be paired to tell their state.
    for (const { name, parts } of house)
      if (parts[0]?.platform === "webos") await succeed(daemon, "pairDevice", { id: idOf(name) });
    const all = house.flatMap((one) => (one.parts.length < 2 ? [] : one.parts.map((part) => ({ one, part }))));
    for (const [at, { one, part }] of sampleOf(all, 3).entries()) {
      const id = idOf(one.name);
      await part.set.stop();
      expect(await scan()).toEqual(first);
      if (at === 1) {
        await daemon.stop();
        daemon = await startTestDaemon({ folder: daemon.folder });
      }
      const state = async () => (await ask(daemon, "getState", { id })).body.data?.state;
      if (part.platform === "dlna")
        await until(`${one.name} goes on without its renderer`, async () => (await state())?.power === "on");
      else {
        const level = 20 + at;
        // The first call may fail.
        await until(`${one.name} is as loud as it was told`, async () => {
          await ask(daemon, "setVolume", { id, body: { level } });
          return (await state())?.volume?.level === level;
        });
      }
      await part.set.start();
      expect(await scan()).toEqual(first);
      await until(`${one.name} is whole again`, async () => (await state())?.power === "on");
    }
  },
  within(),
);
