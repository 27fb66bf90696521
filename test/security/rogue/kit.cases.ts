/** The strangers record what they are sent, and `leaksIn` finds secrets in it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import net from "node:net";
import WebSocket from "ws";
import type { TestDaemon } from "../../support/daemon.ts";
import { until } from "../../support/http-device.ts";
import { startHouse } from "./house.ts";
import { leaksIn } from "./recorder.ts";
import { freeAddress, platforms, plugIn } from "./sets.ts";
import { manners, startStranger } from "./strangers.ts";

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startHouse({ config: { dev: { vendor_password: "of all sets" } } });
});
afterAll(() => daemon.dispose());

for (const platform of platforms)
  test(`each stranger of ${platform} records what it is sent, and a scan asks those that announce themselves`, async () => {
    const real = await plugIn(platform);
    const all = await Promise.all(
      Object.keys(manners[platform]).map((manner) => startStranger({ of: real, host: freeAddress(), manner })),
    );
    try {
      await real.off();
      await daemon.api("POST", "/devices/discover");
      for (const stranger of all) {
        expect([stranger.manner, stranger.recorder.taken > 0]).toEqual([stranger.manner, true]);
        await stranger.off();
      }
    } finally {
      await Promise.all(all.map((one) => one.off()));
    }
  });

test("the recorder finds a secret sent over TCP, TLS or a masked WebSocket, in each encoding", async () => {
  const real = await plugIn("webos");
  const host = freeAddress();
  const stranger = await startStranger({ of: real, host, manner: "empty-id", announces: false });
  try {
    for (const url of [`wss://${host}:3001`, `ws://${host}:3000`]) {
      const socket = new WebSocket(url, { rejectUnauthorized: false });
      await new Promise((resolve) => socket.on("open", resolve));
      socket.send(`{"client-key":"the-key-${new URL(url).protocol}"}`);
      await until("it was received", () => stranger.recorder.received.includes(`the-key-${new URL(url).protocol}`));
      socket.terminate();
    }
    const line = net.connect(18_044, host);
    line.end(
      "GET / HTTP/1.1\r\nAuthorization: Basic dXNlcjpzZWNyZXQ=\r\n\r\n/keypress/Lit_H\n/keypress/Lit_e\n/keypress/Lit_y\n",
    );
    line.resume();
    await until("it was received", () => stranger.recorder.received.includes("Lit_y"));
  } finally {
    await Promise.all([real.off(), stranger.off()]);
  }
  const { received } = stranger.recorder;
  const nothing = { words: [], logins: [], typed: [] };
  expect(leaksIn(received, { ...nothing, words: ["the-key-wss:"] })[0]).toStartWith("a key or password");
  expect(leaksIn(received, { ...nothing, logins: [{ user: "user", password: "secret" }] }).join()).toContain(
    "a login:",
  );
  expect(leaksIn(received, { ...nothing, typed: ["Hey you"] })[0]).toStartWith("typed text");
  expect(leaksIn(received, nothing)).toHaveLength(1);
  expect(leaksIn("", { ...nothing, words: ["the-key"] })).toEqual([]);
});
