/** Devices that speak first: what comes in the breath of the upgrade, or right behind it, is heard, and that they hang up. */
import { afterEach, expect, test } from "bun:test";
import type net from "node:net";
import { until } from "../support/http-device.ts";
import { frame, opened } from "../support/websocket-frames.ts";
import { openLine, workshop } from "./websocket-device.ts";

for (const secure of [false, true]) {
  const { device, stop } = workshop(secure);
  afterEach(stop);

  const heard = async (say: (socket: net.Socket, head: string) => unknown, slowMs = 0) => {
    const { port } = await device(say);
    const { line, texts, ends } = await openLine(secure, port, {
      heard() {
        for (const until = performance.now() + slowMs; performance.now() < until; );
      },
    });
    await until("it has ended", () => ends.length > 0);
    expect(line.open).toBe(false);
    return texts.join();
  };

  test(`what they say is heard in order, and none of it lost, ${secure ? "over TLS" : "in clear"}`, async () => {
    const words = ["one", "two", "three"].map((word) => frame(0x81, word));
    const ways: readonly ((socket: net.Socket, head: string) => unknown)[] = [
      (socket, head) => socket.end(Buffer.concat([Buffer.from(opened(head)), ...words])),
      (socket, head) => {
        socket.write(opened(head));
        for (const word of words) socket.write(word);
        socket.end();
      },
      (socket, head) => {
        socket.write(Buffer.concat([Buffer.from(opened(head)), ...words.slice(0, 1)]));
        setImmediate(() => socket.end(Buffer.concat(words.slice(1))));
      },
    ];
    for (const way of ways) for (let round = 0; round < 10; round++) expect(await heard(way)).toBe("one,two,three");
    // Each takes longer than a slice of the reading: what is left to read when the device closes is read all the same.
    for (const way of ways) expect(await heard(way, 25)).toBe("one,two,three");
  });
}
