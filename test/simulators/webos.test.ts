/** What the simulator refuses as sets do, so that the adapter cannot rely on it (smart-tvs.md 2). */
import { expect, test } from "bun:test";
import { until } from "../support/http-device.ts";
import { plugInWebos as plugIn } from "../support/sets.ts";
import { connect, EVERYTHING, manifest, paired } from "./webos-client.ts";

const POWER_STATE = "com.webos.service.tvpower/power/getPowerState";
const errorOf = async (client: Awaited<ReturnType<typeof connect>>, path: string) =>
  (await client.ask("request", `ssap://${path}`))["error"];

test("before registration only getSystemInfo is answered; newer firmware answers it only then", async () => {
  const simulator = await plugIn({ firmware: "2023", model: "OLED65C3" });
  const client = await connect(simulator);
  expect(await client.request("system/getSystemInfo")).toMatchObject({ returnValue: true, modelName: "OLED65C3" });
  expect(await errorOf(client, POWER_STATE)).toBe("401 insufficient permissions (not registered)");
  expect(await errorOf(await paired(simulator), "system/getSystemInfo")).toBe("401 insufficient permissions");
});

test("a client may do what its manifest asks for; with a list outside of it, nothing", async () => {
  const simulator = await plugIn();
  const client = await paired(simulator, ["READ_POWER_STATE"]);
  expect(await client.request(POWER_STATE)).toMatchObject({ state: "Active" });
  expect(await errorOf(client, "audio/getVolume")).toBe("401 insufficient permissions");
  const flat = await connect(simulator);
  const { permissions } = manifest().manifest;
  flat.send({ id: 1, type: "register", payload: { pairingType: "PROMPT", permissions } });
  await flat.next(({ type }) => type === "registered");
  for (const path of [POWER_STATE, "system/getSystemInfo"])
    expect(await errorOf(flat, path)).toBe("401 insufficient permissions");
});

test("what other clients ask for as they connect, and type and open, is there", async () => {
  const simulator = await plugIn({ model: "OLED65C3" });
  const client = await paired(simulator, [...EVERYTHING, "READ_UPDATE_INFO"]);
  expect(await client.request("com.webos.service.update/getCurrentSWInformation")).toMatchObject({
    model_name: "OLED65C3",
    major_ver: "06",
    minor_ver: "4.0",
  });
  const status = await client.subscribe("audio/getStatus");
  simulator.setMuted(true);
  expect(await client.pushed(status)).toMatchObject({ volume: 18, mute: true });
  expect(await client.request("com.webos.applicationManager/listApps")).toMatchObject({
    apps: expect.arrayContaining([expect.objectContaining({ id: "com.webos.app.home", visible: false })]),
  });
  simulator.focus(true);
  await client.request("com.webos.service.ime/insertText", { text: "Zürich", replace: 0 });
  await client.request("com.webos.service.ime/deleteCharacters", { count: 2 });
  expect(simulator.text).toBe("Züri");
  await client.request("system.launcher/open", { target: "http://192.0.2.1/" });
  expect(simulator.state.activeApp).toBe("com.webos.app.browser");
  expect((await client.ask("request", "ssap://system.launcher/open"))["error"]).toBe("500 Application error");
});

test("turning off: it reports its progress, and leaves the socket open and silent, until it closes", async () => {
  const simulator = await plugIn({ socketsCloseMs: 500, portsCloseMs: 100 });
  const client = await paired(simulator);
  let pongs = 0;
  client.socket.on("pong", () => pongs++);
  const power = await client.subscribe(POWER_STATE);
  expect(await client.request("system/turnOff")).toEqual({ returnValue: true });
  for (const processing of ["Request Active Standby", "Request Suspend", "Prepare Suspend"])
    expect(await client.pushed(power)).toMatchObject({ state: "Active", processing });
  await until("it is off", () => simulator.state.power === "standby");
  await Bun.sleep(30);
  const heard = client.heard.length;
  client.socket.ping();
  client.send({ id: "late", type: "request", uri: `ssap://${POWER_STATE}` });
  await until("it closes", () => client.closed !== null);
  expect([client.heard.length, pongs]).toEqual([heard, 0]);
});

test("since 2022 the plain port accepts TCP and resets each request", async () => {
  await expect(connect(await plugIn({ firmware: "2023" }), "plain")).rejects.toThrow("ECONNRESET");
});
