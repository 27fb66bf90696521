/** A daemon with Kodis that push the changes of their volume. */

import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { type DaemonSetup, startTestDaemon } from "./daemon.ts";
import { freeHost } from "./lane.ts";

export type PushingHouse = Awaited<ReturnType<typeof startPushingHouse>>;

/** Starts so many sets, which push as soon as somebody follows. */
export async function startPushingHouse(count: number, setup: DaemonSetup = {}) {
  const daemon = await startTestDaemon({ ...setup, config: { discovery: { interfaces: ["none"] }, ...setup.config } });
  const sets = await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const name = `Pusher ${at}`;
      const set = createKodiSimulator({ name, host: freeHost(), port: 0, tcpPort: 0, mdns: false });
      await set.start();
      const ports = { websocket: set.ports.tcp ?? 0 };
      const { body } = await daemon.api("POST", "/devices", {
        host: set.host,
        port: set.port,
        platform: "kodi",
        name,
        ports,
      });
      if (!body.ok) throw new Error(`a set could not be added: ${JSON.stringify(body)}`);
      return { set, id: body.data.id as string };
    }),
  );
  let changes = 0;
  return {
    daemon,
    /** Each with the id of its device. */
    sets,
    /** Changes the volume of the next set; returns its device and level. */
    change() {
      const one = sets[changes % count];
      if (!one) throw new Error("the house has no sets");
      // Another level than before.
      const level = (one.set.state.volume + 1 + (changes++ % 7)) % 101;
      one.set.setVolume(level);
      return { id: one.id, level };
    },
    async dispose() {
      await daemon.dispose();
      await Promise.all(sets.map(({ set }) => set.stop()));
    },
  };
}

/** Makes so many events of 4 KB by commands that fail before they reach a set: more than a kernel buffers for a reader. */
export async function flood({ daemon, sets }: PushingHouse, count: number): Promise<void> {
  const body = { keys: [...Array(255).fill("volume-down"), "nothing"] };
  let left = count;
  const call = async () => {
    while (left-- > 0) {
      const { status, body: answered } = await daemon.api("POST", `/devices/${sets[0]?.id}/remote/sequence`, body);
      // On a very busy machine the daemon takes a delay for sleep.
      if (status !== 400 && answered.error?.code !== "device_busy")
        throw new Error(`the flood was answered ${status}: ${JSON.stringify(answered)}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, call));
}
