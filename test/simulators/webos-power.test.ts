import { describe, expect, test } from "bun:test";
import { magicPacket, sendDatagram } from "./datagrams.ts";
import type { RawClient } from "./webos-client.ts";
import { connect, manifest, paired, plugIn, until } from "./webos-harness.ts";

const STATE = "com.webos.service.tvpower/power/getPowerState";
const APP = "com.webos.applicationManager/getForegroundAppInfo";
const screen = (service: string, to: "On" | "Off") => `com.webos.service.${service}/power/turn${to}Screen`;

async function pongs({ socket }: RawClient, withinMs: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), withinMs);
    socket.once("pong", () => {
      clearTimeout(timer);
      resolve(true);
    });
    socket.ping();
  });
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("power off", () => {
  test("tells what it is doing, then leaves the socket open and silent, then closes it and the ports", async () => {
    const simulator = await plugIn({ socketsCloseMs: 300, portsCloseMs: 100 });
    const client = await paired(simulator);
    const power = await client.subscribe(STATE);
    const app = await client.subscribe(APP);
    expect(await pongs(client, 1000)).toBe(true);
    expect(await client.request("system/turnOff")).toEqual({ returnValue: true });
    for (const processing of ["Request Active Standby", "Request Suspend", "Prepare Suspend"])
      expect(await client.pushed(power)).toMatchObject({ state: "Active", processing });
    expect(await client.pushed(app)).toMatchObject({ appId: "" });
    await sleep(30);
    const heard = client.heard.length;
    client.send({ id: "late", type: "request", uri: `ssap://${STATE}` });
    expect(await pongs(client, 60)).toBe(false);
    expect([client.heard.length, client.closed]).toEqual([heard, null]);
    expect(simulator.received.requests.at(-1)).toMatchObject({ uri: `ssap://${STATE}`, outcome: "ignored" });
    await until("it closes", () => client.closed !== null);
    await until("the port refuses", () =>
      connect(simulator).then(
        () => false,
        () => true,
      ),
    );
  });

  test("whoever registers right after it is told to try again later", async () => {
    const simulator = await plugIn({ clientKeys: { known: ["READ_POWER_STATE"] }, socketsCloseMs: 5000 });
    await simulator.powerOff();
    const client = await connect(simulator);
    client.send({ id: 1, type: "hello" });
    await client.next(({ type }) => type === "hello");
    client.send({ id: 2, type: "register", payload: { ...manifest(), "client-key": "known" } });
    await until("it closes", () => client.closed !== null);
    expect(client.closed).toEqual({ code: 1008, reason: "Try Again Later (EWS)" });
    expect(simulator.received.prompts).toEqual([]);
  });

  test("with Quick Start+ the ports stay and go on saying so", async () => {
    const simulator = await plugIn({ standby: "quick-start", socketsCloseMs: 5, portsCloseMs: 5 });
    const before = await paired(simulator);
    await simulator.powerOff();
    await until("it closes", () => before.closed !== null);
    await sleep(30);
    const client = await connect(simulator);
    client.send({ id: 2, type: "register", payload: manifest() });
    await until("it closes", () => client.closed?.code === 1008);
    await simulator.wake();
    await paired(simulator);
  });

  test("in Active Standby the set answers, and turnOff turns it on", async () => {
    const simulator = await plugIn({ standby: "active-standby" });
    const client = await paired(simulator);
    const id = await client.subscribe(STATE);
    await client.request("system/turnOff");
    expect(await client.pushed(id)).toMatchObject({ state: "Active", processing: "Request Active Standby" });
    expect((await client.pushed(id))?.["state"]).toBe("Active Standby");
    expect(await client.request(APP)).toMatchObject({ appId: "" });
    expect(await pongs(client, 1000)).toBe(true);
    await client.request("system/turnOff");
    await until("it is on", () => simulator.state.power === "on");
    expect((await client.pushed(id))?.["state"]).toBe("Active");
  });

  test("the answer to turnOff may never come", async () => {
    const simulator = await plugIn({ traits: { turnOffAnswers: false } });
    const client = await paired(simulator);
    client.send({ id: "off", type: "request", uri: "ssap://system/turnOff" });
    await until("it closes", () => client.closed !== null);
    expect(client.heard.some(({ id }) => id === "off")).toBe(false);
  });
});

describe("waking", () => {
  test("takes a magic packet for the interface in use, and time", async () => {
    const simulator = await plugIn({ network: "wifi", socketsCloseMs: 5, portsCloseMs: 5, bootMs: 50 });
    await paired(simulator);
    await simulator.powerOff();
    await sleep(30);
    await sendDatagram(magicPacket(simulator.mac), simulator.ports.wake, simulator.host);
    await sleep(80);
    expect(simulator.state.power).toBe("standby");
    await sendDatagram(magicPacket(simulator.wifiMac), simulator.ports.wake, simulator.host);
    await until("it is on", () => simulator.state.power === "on");
    const [key] = simulator.clientKeys.keys();
    const again = await connect(simulator);
    expect((await again.ask("register", "", { ...manifest(), "client-key": key }))["type"]).toBe("registered");
  });

  test("before the ports have closed, the silent sockets are cut", async () => {
    const simulator = await plugIn({ socketsCloseMs: 60_000 });
    const client = await paired(simulator);
    await simulator.powerOff();
    await simulator.wake();
    await until("it closes", () => client.closed !== null);
    await paired(simulator);
  });

  test("a set that is pulled out while it starts is gone", async () => {
    const simulator = await plugIn({ bootMs: 60_000 });
    await simulator.powerOff();
    const waking = simulator.wake();
    await simulator.stop();
    await waking;
    await expect(connect(simulator)).rejects.toThrow();
  });
});

describe("the screen", () => {
  test("goes off and on alone, and refuses what it is already", async () => {
    const simulator = await plugIn();
    const client = await paired(simulator);
    const id = await client.subscribe(STATE);
    const refused = await client.ask("request", `ssap://${screen("tvpower", "On")}`, { standbyMode: "active" });
    expect(refused).toMatchObject({ error: "500 Application error", payload: { errorCode: -102 } });
    expect(await client.request(screen("tvpower", "Off"), { standbyMode: "active" })).toMatchObject({
      state: "Screen Off",
    });
    expect(await client.pushed(id)).toMatchObject({ state: "Screen Off" });
    await client.request(screen("tvpower", "On"));
    expect(await client.pushed(id)).toMatchObject({ state: "Active" });
    simulator.screensaver(true);
    expect(await client.pushed(id)).toMatchObject({ state: "Screen Saver" });
    simulator.press("UP");
    expect(await client.pushed(id)).toMatchObject({ state: "Active" });
    const wrong = await client.ask("request", `ssap://${screen("tv.power", "Off").replace("/power", "")}`);
    expect(wrong["error"]).toBe("404 no such service or method");
  });

  test("webOS 2 has no power state and another uri for the screen", async () => {
    const simulator = await plugIn({ firmware: "2015" });
    const client = await paired(simulator);
    expect((await client.ask("subscribe", `ssap://${STATE}`))["error"]).toBe("404 no such service or method");
    expect(await client.request("com.webos.service.tv.power/turnOffScreen")).toMatchObject({ returnValue: true });
    expect(simulator.state.powerState).toBe("Screen Off");
  });
});
