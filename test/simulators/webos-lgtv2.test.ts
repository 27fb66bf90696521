import { afterEach, describe, expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import LGTV from "lgtv2";
import type { WebosSimulator } from "../../src/simulators/webos.ts";
import { testFolder } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { plugInWebos as plugIn } from "../support/sets.ts";
import { urlOf } from "./webos-client.ts";

// npm lgtv2, a third-party client, works with the simulator.

interface Client {
  readonly tv: LGTV;
  readonly events: string[];
  readonly errors: string[];
  key: string;
}

const folder = testFolder();
const clients: Client[] = [];
afterEach(() => Promise.all(clients.splice(0).map(({ tv }) => tv.disconnect())));

function clientOf(
  simulator: WebosSimulator,
  port: "secure" | "plain" = "secure",
  clientKey = "",
  learnMac = false,
): Client {
  const events: string[] = [];
  const errors: string[] = [];
  const tv = new LGTV({
    url: urlOf(simulator, port),
    clientKey,
    macFile: join(folder, randomUUID(), "macs"),
    learnMac,
    reconnect: false,
    saveKey(key, done) {
      client.key = key;
      done();
    },
  });
  const client: Client = { tv, events, errors, key: clientKey };
  clients.push(client);
  for (const event of ["prompt", "connect", "close"] as const) tv.on(event, () => events.push(event));
  tv.on("error", (error) => errors.push(error.message));
  return client;
}

const connected = ({ tv }: Client) => once(tv, "connect");

describe("npm lgtv2 pairs", () => {
  test("on both ports, after a prompt, and without one the second time", async () => {
    const simulator = await plugIn();
    for (const port of ["secure", "plain"] as const) {
      const first = clientOf(simulator, port);
      await connected(first);
      expect(first.events).toEqual(["prompt", "connect"]);
      expect([...simulator.clientKeys.keys()]).toContain(first.key);
      const again = clientOf(simulator, port, first.key);
      await connected(again);
      expect(again.events).toEqual(["connect"]);
    }
    expect(simulator.received.prompts.map(({ answer }) => answer)).toEqual(["accepted", "accepted"]);
  });

  test("not when it is denied", async () => {
    const client = clientOf(await plugIn({ prompt: "deny" }));
    await until("it is refused", () => client.errors.length > 0);
    expect(client.events).toEqual(["prompt"]);
    expect(client.errors).toEqual(["403 User denied access"]);
  });

  test("unsigned where its signed manifest is on the blacklist", async () => {
    const simulator = await plugIn({ firmware: "2026" });
    const client = clientOf(simulator);
    await connected(client);
    expect(client.errors).toEqual([]);
    expect(await client.tv.getPowerState()).toMatchObject({ state: "on" });
    await client.tv.getSocket("ssap://com.webos.service.networkinput/getPointerInputSocket");
    const [signed, unsigned] = simulator.received.requests.filter(({ type }) => type === "register");
    expect(signed?.outcome).toBe("403 Pairing rejected: blacklisted certificate detected");
    expect(unsigned?.outcome).toBe("answered");
    expect(simulator.received.prompts.length).toBe(1);
  });

  test("at once with a set that shows no prompt", async () => {
    const client = clientOf(await plugIn({ prompt: "none" }));
    await connected(client);
    expect(client.events).toEqual(["connect"]);
  });
});

describe("npm lgtv2 drives the set", () => {
  for (const firmware of ["2018", "2021"] as const)
    test(`it follows the volume of ${firmware}`, async () => {
      const simulator = await plugIn({ firmware });
      const client = clientOf(simulator);
      const { tv } = client;
      await connected(client);
      const updates: unknown[] = [];
      tv.subscribe("ssap://audio/getVolume", (error, result) =>
        updates.push(error ?? [result.volume, result.muted, result.changed]),
      );
      await until("it is told", () => updates.length === 1);
      await tv.request("ssap://audio/setVolume", { volume: 30 });
      simulator.setMuted(true);
      await until("it is told twice more", () => updates.length === 3);
      expect(updates.slice(1)).toEqual([
        [30, false, ["volume"]],
        [30, true, ["muted"]],
      ]);
    });

  test("it lists apps, launches one, and gets an error for an unknown one", async () => {
    const simulator = await plugIn();
    const client = clientOf(simulator);
    const { tv } = client;
    await connected(client);
    const { launchPoints } = await tv.request("ssap://com.webos.applicationManager/listLaunchPoints");
    expect(launchPoints).toContainEqual(expect.objectContaining({ id: "netflix", title: "Netflix" }));
    const inFront: string[] = [];
    tv.subscribe("ssap://com.webos.applicationManager/getForegroundAppInfo", (_error, { appId }) => {
      inFront.push(appId);
    });
    const params = { contentTarget: "https://www.youtube.com/watch?v=abc" };
    await tv.request("ssap://system.launcher/launch", { id: "youtube.leanback.v4", params });
    await until("it is told", () => inFront.length === 2);
    expect(inFront).toEqual(["com.webos.app.livetv", "youtube.leanback.v4"]);
    expect(simulator.received.launches).toMatchObject([{ id: "youtube.leanback.v4", params }]);
    await expect(tv.request("ssap://system.launcher/launch", { id: "nope" })).rejects.toMatchObject({
      code: "ESSAP",
      payload: { errorCode: -101 },
    });
  });

  test("it presses buttons and points", async () => {
    const simulator = await plugIn();
    const client = clientOf(simulator);
    const { tv } = client;
    await connected(client);
    const pointer = await tv.getSocket("ssap://com.webos.service.networkinput/getPointerInputSocket");
    for (const name of ["HOME", "UP", "ENTER"]) pointer.send("button", { name });
    pointer.send("move", { dx: 3, dy: -4, down: 0 });
    pointer.send("click");
    await until("all came in", () => simulator.received.pointer.length === 2);
    expect(simulator.received.buttons).toEqual(["HOME", "UP", "ENTER"]);
    expect(simulator.received.pointer[0]).toEqual({ action: "move", dx: 3, dy: -4 });
    expect(simulator.state.activeApp).toBe("com.webos.app.home");
  });

  test("it learns the addresses by which the set is woken", async () => {
    const simulator = await plugIn();
    const client = clientOf(simulator, "secure", "", true);
    const { tv } = client;
    await once(tv, "mac");
    expect(tv.macs).toEqual({ wired: simulator.mac, wifi: simulator.wifiMac });
    expect(JSON.parse(readFileSync(tv.macFile, "utf8"))).toEqual({ ...tv.macs });
    rmSync(dirname(tv.macFile), { recursive: true });
  });

  test("it turns the set off, gets no more answers, and wakes it", async () => {
    const simulator = await plugIn();
    const client = clientOf(simulator);
    const { tv } = client;
    await connected(client);
    await tv.request("ssap://system/turnOff");
    await until("the set is off", () => simulator.state.power === "standby");
    await until("the socket closes", () => client.events.includes("close"));
    await until("the port closes", async () => !(await answers(simulator)));
    await LGTV.wake(simulator.mac, { address: simulator.host, port: simulator.ports.wake, count: 1 });
    await until("the set is on", () => simulator.state.power === "on");
    const again = clientOf(simulator, "secure", client.key);
    await connected(again);
  });
});

/** Opens a new connection each time, because the set never answers on a kept one. */
async function answers(simulator: WebosSimulator): Promise<boolean> {
  const url = urlOf(simulator).replace("wss", "https");
  const signal = AbortSignal.timeout(1_000);
  return await fetch(url, { tls: { rejectUnauthorized: false }, keepalive: false, signal }).then(
    () => true,
    () => false,
  );
}
