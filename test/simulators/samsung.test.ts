/** Third-party clients work with the simulator, and it refuses what hardware refuses. */
import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { Samsung } from "samsung-tv-control";
import type { SamsungSimulator } from "../../src/simulators/samsung.ts";
import { until } from "../support/http-device.ts";
import { freeHost } from "../support/lane.ts";
import { listen, plugInSamsung as plugIn } from "../support/sets.ts";
import { root } from "../support/sources.ts";

function clientOf({ host, ports, mac }: SamsungSimulator, token = "", port = ports.secure ?? 0): Samsung {
  return new Samsung({ ip: host, mac, port, token, nameApp: "a client", debug: false, saveToken: false });
}

/** Presses keys with npm samsung-tv-remote. It runs in Node, because Bun replaces the `ws` that it depends on. */
function pressBy({ host, ports, mac }: SamsungSimulator, key: string): void {
  const config = JSON.stringify({ ip: host, mac, port: ports.plain });
  spawn("node", ["-e", `new (require("samsung-tv-remote"))(${config}).sendKey(${JSON.stringify(key)})`], { cwd: root });
}

const codes = ({ received }: SamsungSimulator) => received.keys.map(({ code, outcome }) => `${code} ${outcome}`);

test("npm samsung-tv-control gets a token from the prompt and uses it", async () => {
  const set = await plugIn({ tokens: [], year: 2019, traits: { keyMs: 0 } });
  const token = await clientOf(set).getTokenPromise();
  expect(set.state.tokens).toContain(String(token));
  expect(set.received.prompts).toEqual(["allowed"]);
  const client = clientOf(set, String(token));
  await client.sendKeyPromise("KEY_VOLUP" as never);
  await until("the key is taken", () => codes(set).includes("KEY_VOLUP taken"));
  // It lists the apps and starts one of them.
  const apps = await client.getAppsFromTVPromise();
  expect(JSON.stringify(apps)).toContain("3201907018807");
  await client.openAppByAppIdAndTypePromise("111299001912", 2);
  expect(set.state.front).toBe("111299001912");
  set.focus(true);
  await client.sendTextPromise("héllo");
  await until("it is typed", () => set.received.texts.includes("héllo"));
  expect(set.received.prompts).toEqual(["allowed"]);
});

test("keys with an unknown token, or at the plain port of a set with tokens, have no effect", async () => {
  const set = await plugIn({ tokens: [], prompt: "deny" });
  clientOf(set, "87654321").sendKey("KEY_HOME" as never);
  await until("it has asked", () => set.received.tokens.length === 1);
  pressBy(set, "KEY_HOME");
  await until("it has asked again", () => set.received.tokens.length === 2);
  await Bun.sleep(300);
  expect(set.received.keys.filter(({ outcome }) => outcome === "taken")).toEqual([]);
  expect(set.received.prompts).toEqual([]);
});

/** The first message after a connection with this query. */
async function firstAnswer({ host, ports }: SamsungSimulator, query: string) {
  const socket = new WebSocket(`ws://${host}:${ports.plain}/api/v2/channels/samsung.remote.control?${query}`);
  const { promise, resolve } = Promise.withResolvers<string>();
  socket.onmessage = ({ data }) => resolve(String(data));
  const text = await promise;
  socket.close();
  return JSON.parse(text) as { event: string; data?: { token?: string; clients: object[] } };
}

test("a token that is empty, or None as python samsungtvws writes it, is none: the set prompts, and gives one", async () => {
  const set = await plugIn({ tokens: [], traits: { tokensInPlain: true } });
  for (const token of ["", "None"]) {
    const { event, data } = await firstAnswer(set, `name=Y2xpZW50&token=${token}`);
    expect([token, event, set.state.tokens.includes(data?.token ?? "")]).toEqual([token, "ms.channel.connect", true]);
  }
  expect(set.received.prompts).toEqual(["allowed", "allowed"]);
});

test("a client that connects finds itself among the clients, by its name and token as it gave them", async () => {
  const set = await plugIn({ tokens: ["12345678"], traits: { tokensInPlain: true } });
  const clientFor = async (query: string) => (await firstAnswer(set, query)).data?.clients[0];
  expect(await clientFor("name=Y2xpZW50&token=12345678")).toMatchObject({
    attributes: { name: "Y2xpZW50", token: "12345678" },
    deviceName: "Y2xpZW50",
  });
  expect(await clientFor("")).toMatchObject({ attributes: { name: null }, deviceName: "Smart Device" });
});

test("npm samsung-tv-remote drives a set of 2016, which prompts once", async () => {
  const set = await plugIn({ year: 2016, traits: { keyMs: 0 } });
  expect(set.ports.secure).toBeNull();
  pressBy(set, "KEY_VOLUP");
  await until("the key is taken", () => codes(set).includes("KEY_VOLUP taken"));
  pressBy(set, "KEY_HDMI1");
  await until("the next is taken", () => codes(set).includes("KEY_HDMI1 taken"));
  expect(set.received.prompts).toEqual(["allowed"]);
});

test("an app with malformed escapes in its id is an unknown one", async () => {
  const { host, ports } = await plugIn();
  expect((await fetch(`http://${host}:${ports.plain}/api/v2/applications/%zz`)).status).toBe(404);
});

test("a WebSocket at another path is hung up on, even where that is no path at all", async () => {
  const { host, ports } = await plugIn();
  const upgrade = ["Host: set", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"];
  for (const path of ["/api/v2/channels/another", "//"]) {
    const line = listen(host, ports.plain ?? 0);
    line.socket.write(
      [`GET ${path} HTTP/1.1`, ...upgrade, "Sec-WebSocket-Key: c2l4dGVlbiBieXRlcyEh", "", ""].join("\r\n"),
    );
    await until(`${path} is hung up on`, line.closed);
  }
});

test("npm samsung-tv-control finds the set, and notices one that is off", async () => {
  const host = freeHost();
  const set = await plugIn({ host, plainPort: 8_001, securePort: 8_002 });
  expect(await clientOf(set).isAvailable()).toBe(true);
  await set.stop();
  expect(
    await clientOf(set)
      .isAvailable()
      .catch(() => false),
  ).toBe(false);
});

test("its renderer describes its volume, by which other clients read and set it", async () => {
  const { host, ports } = await plugIn();
  const at = `http://${host}:${ports.renderer}`;
  const path = /<SCPDURL>(.*?)<\/SCPDURL>/.exec(await (await fetch(`${at}/dmr`)).text())?.[1];
  const text = await (await fetch(`${at}${path}`)).text();
  expect(text).toMatch(/<name>GetVolume<.*<name>CurrentVolume<.*<direction>out<.*<maximum>100</s);
});

test("only an app that is in front is told to be closed", async () => {
  const told: string[] = [];
  const { host, ports } = await plugIn({ onEvent: ({ text }) => told.push(text) });
  const app = `http://${host}:${ports.plain}/api/v2/applications/3201907018807`;
  for (const method of ["DELETE", "POST", "DELETE", "DELETE"]) await fetch(app, { method });
  expect(told).toEqual(["launched Netflix", "closed Netflix"]);
});
