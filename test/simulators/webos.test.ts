/** Facts of smart-tvs.md that no other test covers: permissions, turning off, ports, certificate. */
import { expect, test } from "bun:test";
import { connect as connectTcp } from "node:net";
import { connect as connectTls, type PeerCertificate } from "node:tls";
import { createCertificate, type WebosSimulator } from "../../src/simulators/webos.ts";
import { until } from "../support/http-device.ts";
import { plugInWebos as plugIn } from "../support/sets.ts";
import { connect, EVERYTHING, manifest, paired, type RawClient } from "./webos-client.ts";

const SIGNED = { appId: "com.lge.test", permissions: ["CONTROL_INPUT_TEXT", "READ_UPDATE_INFO"], serial: "2f93" };
const POWER_STATE = "com.webos.service.tvpower/power/getPowerState";
const UPDATE_INFO = "com.webos.service.update/getCurrentSWInformation";

function signed(permissions: readonly string[] = EVERYTHING) {
  const unsigned = manifest(permissions);
  return { ...unsigned, manifest: { ...unsigned.manifest, signed: SIGNED, signatures: [{ signature: "eyJ" }] } };
}

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

const presented = async ({ host, ports }: WebosSimulator) =>
  await new Promise<PeerCertificate>((resolve, reject) => {
    const socket = connectTls({ host, port: ports.secure ?? 0, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
    socket.on("error", reject);
  });

test("before registration only getSystemInfo is answered; newer firmware answers it only then", async () => {
  const simulator = await plugIn({ firmware: "2023", model: "OLED65C3" });
  const client = await connect(simulator);
  expect(await client.request("system/getSystemInfo")).toMatchObject({ returnValue: true, modelName: "OLED65C3" });
  expect((await client.ask("request", `ssap://${POWER_STATE}`))["error"]).toBe(
    "401 insufficient permissions (not registered)",
  );
  const later = await paired(simulator);
  expect((await later.ask("request", "ssap://system/getSystemInfo"))["error"]).toBe("401 insufficient permissions");
  expect(await (await paired(await plugIn())).request("system/getSystemInfo")).toMatchObject({ returnValue: true });
});

test("the blacklist refuses a signed manifest before any prompt, with a known key too", async () => {
  const simulator = await plugIn({ firmware: "2026", clientKeys: { known: EVERYTHING } });
  for (const key of [{}, { "client-key": "known" }]) {
    const answer = await (await connect(simulator)).ask("register", "", { ...signed(), ...key });
    expect(answer["error"]).toBe("403 Pairing rejected: blacklisted certificate detected");
  }
  expect(simulator.received.prompts).toEqual([]);
  await paired(simulator);
});

test("a signed part is honoured by old firmware, and silently dropped by newer firmware", async () => {
  for (const [firmware, works] of [
    ["2021", true],
    ["2023", false],
  ] as const) {
    const client = await connect(await plugIn({ firmware }));
    client.send({ id: 1, type: "register", payload: signed(["READ_POWER_STATE", "READ_UPDATE_INFO"]) });
    await client.next(({ type }) => type === "registered");
    for (const path of [UPDATE_INFO, "com.webos.service.ime/sendEnterKey"])
      expect((await client.ask("request", `ssap://${path}`))["type"]).toBe(works ? "response" : "error");
    expect(await client.request(POWER_STATE)).toMatchObject({ state: "Active" });
  }
});

test("a client with a flat permission list registers and gets 401 for everything", async () => {
  const client = await connect(await plugIn());
  client.send({ id: 1, type: "register", payload: { pairingType: "PROMPT", permissions: EVERYTHING } });
  await client.next(({ type }) => type === "registered");
  for (const path of [POWER_STATE, "audio/getVolume", "system/getSystemInfo", "system/turnOff"])
    expect((await client.ask("request", `ssap://${path}`))["error"]).toBe("401 insufficient permissions");
});

test("failures have two forms", async () => {
  const uri = "ssap://system.launcher/launch";
  const errorText = '"nope" was not found OR Unsupported Application Type';
  const one = await paired(await plugIn());
  expect(await one.ask("request", uri, { id: "nope" })).toMatchObject({
    type: "error",
    error: "500 Application error",
    payload: { returnValue: false, errorCode: -101, errorText },
  });
  expect((await one.ask("request", "ssap://no/such"))["error"]).toBe("404 no such service or method");
  const other = await paired(await plugIn({ traits: { failures: "response" } }));
  expect(await other.ask("request", uri, { id: "nope" })).toMatchObject({
    type: "response",
    payload: { returnValue: false, errorCode: -101, errorText },
  });
  expect(await other.request("no/such")).toEqual({
    returnValue: false,
    errorCode: 404,
    errorText: "no such service or method",
  });
});

test("turning off: it reports its progress, leaves the socket open and silent, then closes it and the ports", async () => {
  const simulator = await plugIn({ socketsCloseMs: 1_000, portsCloseMs: 100 });
  const client = await paired(simulator);
  const power = await client.subscribe(POWER_STATE);
  const app = await client.subscribe("com.webos.applicationManager/getForegroundAppInfo");
  expect(await pongs(client, 1000)).toBe(true);
  expect(await client.request("system/turnOff")).toEqual({ returnValue: true });
  for (const processing of ["Request Active Standby", "Request Suspend", "Prepare Suspend"])
    expect(await client.pushed(power)).toMatchObject({ state: "Active", processing });
  expect(await client.pushed(app)).toMatchObject({ appId: "" });
  await Bun.sleep(30);
  const heard = client.heard.length;
  client.send({ id: "late", type: "request", uri: `ssap://${POWER_STATE}` });
  expect(await pongs(client, 60)).toBe(false);
  expect([client.heard.length, client.closed]).toEqual([heard, null]);
  expect(simulator.received.requests.at(-1)).toMatchObject({ uri: `ssap://${POWER_STATE}`, outcome: "ignored" });
  await until("it closes", () => client.closed !== null);
  await until("the port refuses", () =>
    connect(simulator).then(
      () => false,
      () => true,
    ),
  );
});

test("a client that registers right after power-off is told to try again later", async () => {
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

test("since 2022 the plain port accepts TCP and resets each request", async () => {
  const simulator = await plugIn({ firmware: "2023" });
  const socket = connectTcp(simulator.ports.plain ?? 0, simulator.host);
  const events: string[] = [];
  for (const event of ["connect", "close"] as const) socket.on(event, () => events.push(event));
  socket.on("error", (error) => events.push((error as NodeJS.ErrnoException).code ?? ""));
  await until("it is open", () => events.includes("connect"));
  expect(events).toEqual(["connect"]);
  socket.write("GET / HTTP/1.1\r\nHost: tv\r\nUpgrade: websocket\r\n\r\n");
  await until("it is cut", () => events.includes("close"));
  expect(events).toEqual(["connect", "ECONNRESET", "close"]);
  await expect(connect(simulator, "plain")).rejects.toThrow();
  await paired(simulator);
});

test("the certificate is the same on every set, as on real ones, unless another is given", async () => {
  const [one, other] = [await plugIn(), await plugIn()];
  const { fingerprint256, subject } = await presented(one);
  expect([subject.CN, fingerprint256]).toEqual(["LGE TV SSG", one.fingerprint]);
  expect((await presented(other)).fingerprint256).toBe(fingerprint256);
  const changed = await plugIn({ certificate: createCertificate() });
  expect(changed.fingerprint).not.toBe(one.fingerprint);
  expect((await presented(changed)).fingerprint256).toBe(changed.fingerprint);
  await paired(changed);
});
