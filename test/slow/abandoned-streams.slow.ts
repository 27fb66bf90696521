/** A subscriber that stops reading is disconnected, and without subscribers no set is called (next/EVENTS.md, guarantees 7 and 8). */
import { beforeAll, expect, test } from "bun:test";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import type { Runtime } from "../support/daemon.ts";
import { EventStream } from "../support/event-stream.ts";
import { until } from "../support/http-device.ts";
import { freeHost } from "../support/lane.ts";
import { flood, type PushingHouse, startPushingHouse } from "../support/pushing-house.ts";
import { isSample, part, some } from "./length.ts";
import { buildOnce, runtimes, startOn } from "./reading.ts";

beforeAll(buildOnce, 300_000);

/** The clock of one runtime alone runs faster. */
const speed = isSample ? 4 : 1;
const abandoned: readonly Runtime[] = isSample ? ["bun"] : runtimes;

test(`under ${abandoned.join(", ")} a stream that reads no byte for 120 s is closed, and its place is free`, async () => {
  const houses: PushingHouse[] = [];
  const streams: EventStream[] = [];
  /** Whether one more subscriber is accepted. */
  const isFree = async ({ daemon }: PushingHouse) => {
    const one = new EventStream({ to: daemon.port });
    await until("an answer", () => one.status !== 0);
    one.close();
    return one.status === 200;
  };
  const hangUp = async (house: PushingHouse) => {
    const own = Array.from({ length: 64 }, () => new EventStream({ to: house.daemon.port }));
    streams.push(...own);
    for (const stream of own) await stream.until(({ type }) => type === "snapshot");
    const [reader] = own;
    const pausedAt = performance.now();
    reader?.pause();
    // The first events fill the kernel's buffers.
    await flood(house, 3_000);
    expect(await isFree(house)).toBe(false);
    while (performance.now() - pausedAt < 115_000 / speed) await Bun.sleep(1_000);
    expect(await isFree(house)).toBe(false);
    await until("it is hung up", () => isFree(house), 90_000);
    reader?.resume();
    expect(await reader?.ended(10_000)).toBe(true);
  };
  try {
    for (const runtime of abandoned) houses.push(await startOn(runtime, 1, { speed }));
    await Promise.all(houses.map(hangUp));
  } finally {
    for (const stream of streams) stream.close();
    for (const house of houses) await house.dispose();
  }
}, 300_000);

test("no set of any platform is called in ten minutes without followers", async () => {
  const house = await startPushingHouse(1, { speed: 1 });
  const roku = createRokuSimulator({ name: "Quiet Roku", host: freeHost(), kind: "tv", ssdp: false });
  const webos = createWebosSimulator({
    name: "Quiet TV",
    host: freeHost(),
    securePort: 0,
    plainPort: null,
    ssdp: false,
    prompt: "none",
  });
  for (const set of [roku, webos]) await set.start();
  try {
    const { daemon } = house;
    await daemon.api("POST", "/devices", { host: roku.host, port: roku.port, name: "Quiet Roku" });
    const tv = { host: webos.host, port: webos.ports.secure, platform: "webos", name: "Quiet TV" };
    const { id } = (await daemon.api("POST", "/devices", tv)).body.data;
    await daemon.api("POST", `/devices/${id}/pair`);
    // A subscriber has come and gone.
    const reader = new EventStream({ to: daemon.port });
    const known = new Set<string>();
    await reader.until(({ device_id, state }) => {
      if (state?.power === "on") known.add(device_id);
      return known.size === 3;
    });
    reader.close();
    await Bun.sleep(5_000);
    const calls = () => [
      roku.requests.length,
      webos.received.requests.length,
      house.sets[0]?.set.calls.filter(({ method }) => method !== "JSONRPC.Ping").length,
    ];
    const before = calls();
    for (let minute = 0; minute < some(10, 1); minute++) {
      await Bun.sleep(Math.max(10_000, 60_000 * Math.min(1, part * 10)));
      expect(calls()).toEqual(before);
      // What is known is answered as ever.
      expect((await daemon.api("GET", "/devices")).body.data).toHaveLength(3);
    }
  } finally {
    await house.dispose();
    await Promise.all([roku.stop(), webos.stop()]);
  }
}, 700_000);
