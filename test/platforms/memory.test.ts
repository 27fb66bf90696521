import { expect, test } from "bun:test";
import { platforms } from "../../src/platforms/index.ts";
import { kodiMemory } from "../../src/platforms/kodi/memory.ts";
import { rokuMemory } from "../../src/platforms/roku/identity.ts";
import { webosMemory } from "../../src/platforms/webos/memory.ts";

test("nothing is a memory of every platform, and what it gives reads back as it is", () => {
  for (const { name, memory } of platforms) expect([name, memory.parse({})]).toEqual([name, {}]);
});

test("the words of the first edition are read, and what came after them wins", () => {
  const told = { volume: "yes", power: "yes", developer: "no", dev_realm: "rokudev" };
  expect(rokuMemory.parse(told)).toEqual({ volume: true, power: true, developer: false, dev_realm: "rokudev" });
  expect(rokuMemory.parse({ ...told, power: false })).toMatchObject({ volume: true, power: false });
  const lg = { door: "wss:3001", inputs: "HDMI_1 HDMI_2", prompted: "2", nameless: "yes" };
  expect(webosMemory.parse(lg)).toEqual({
    endpoint: { port: 3001, tls: true },
    inputs: ["HDMI_1", "HDMI_2"],
    prompted: 2,
    nameless: true,
  });
  expect(webosMemory.parse({ door: "ws:3000", inputs: "", prompted: "", nameless: "" })).toEqual({
    endpoint: { port: 3000, tls: false },
    inputs: [],
    prompted: 0,
    nameless: false,
  });
  const moved = { port: 8001, tls: true };
  expect(webosMemory.parse({ ...lg, endpoint: moved, inputs: ["AV_1"] })).toMatchObject({
    endpoint: moved,
    inputs: ["AV_1"],
  });
  expect(kodiMemory.parse({ transport: "http", socket: "9090" })).toEqual({ socketOnly: null, socket: 9090 });
  expect(kodiMemory.parse({ transport: "websocket:9090" })).toEqual({ socketOnly: 9090 });
});
