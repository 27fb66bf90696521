/** What can be made to go wrong on the ports of a set, whichever it is. */
import { expect, test } from "bun:test";
import { exchange, listen, plugIn, until } from "./roku-harness.ts";

const asked = Buffer.from("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");

test("a port refuses, hangs, drops, talks noise or is slow until all is well again, and stays the same port", async () => {
  const set = await plugIn();
  const { host, port } = set;
  await set.fault("refuse");
  await expect(exchange(host, port, asked)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  await set.fault("hang");
  const hanging = listen(host, port);
  hanging.socket.write(asked);
  await Bun.sleep(50);
  expect([hanging.text(), hanging.closed()]).toEqual(["", false]);
  await set.fault("drop");
  await until("what hung is cut", hanging.closed);
  const dropped = listen(host, port);
  dropped.socket.write(asked);
  await until("it is cut", dropped.closed);
  expect(dropped.text()).toBe("");
  await set.fault("garbage");
  const noise = listen(host, port);
  noise.socket.write(asked);
  await until("noise comes", () => noise.text() !== "");
  expect(noise.text()).not.toStartWith("HTTP/1.1");
  await set.fault("slow");
  const begun = performance.now();
  expect(await exchange(host, port, asked)).toStartWith("HTTP/1.1 200 OK");
  expect(performance.now() - begun).toBeGreaterThan(1_900);
  await set.fault(null);
  expect(await exchange(host, port, asked)).toStartWith("HTTP/1.1 200 OK");
  expect(set.port).toBe(port);
});
