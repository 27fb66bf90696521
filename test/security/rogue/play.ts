/** Plays the orders of one platform beside each other, each with sets and strangers of its own, in one daemon. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import type { TestDaemon } from "../../support/daemon.ts";
import { hasWholeTables, isQuick } from "../../support/whole.ts";
import { Scene, startHouse } from "./house.ts";
import { halfOf, onceEach, playedOn, Round } from "./orders.ts";
import { type PlatformName, plugIn } from "./sets.ts";

export function playOrders(platform: PlatformName): void {
  const password = `dev-${randomBytes(8).toString("hex")}`;
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startHouse(platform === "roku" ? { config: { dev: { vendor_password: password } } } : {});
  });
  afterAll(() => daemon.dispose());

  describe.concurrent(`T27 T29 a stranger gets no key, login, digest or text: ${platform}`, () => {
    for (const { order, manner } of hasWholeTables
      ? playedOn(platform)
      : isQuick
        ? halfOf(platform)
        : onceEach(platform)) {
      const stranger = order.manners === "none" ? "" : ` (${manner})`;
      test(`${order.title}${stranger}`, async () => {
        const real = await plugIn(platform, platform === "kodi" ? { login: order.secrets } : { password });
        const scene = new Scene(daemon, real);
        try {
          await order.play(new Round(scene, manner));
          const spared = order.accepted?.(platform, manner)?.leaks ?? [];
          const leaks = scene.leaks();
          expect(leaks.filter((leak) => !spared.some((one) => leak.startsWith(`${manner}: ${one}`)))).toEqual([]);
        } finally {
          await scene.end();
        }
      });
    }
  });
}
