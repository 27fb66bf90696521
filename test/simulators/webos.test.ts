import { describe, expect, test } from "bun:test";
import { connect, EVERYTHING, manifest, paired, plugIn, until } from "./webos-harness.ts";

const SIGNED = { appId: "com.lge.test", permissions: ["CONTROL_INPUT_TEXT", "READ_UPDATE_INFO"], serial: "2f93" };
const POWER_STATE = "com.webos.service.tvpower/power/getPowerState";
const UPDATE_INFO = "com.webos.service.update/getCurrentSWInformation";

function signed(permissions: readonly string[] = EVERYTHING) {
  const unsigned = manifest(permissions);
  return { ...unsigned, manifest: { ...unsigned.manifest, signed: SIGNED, signatures: [{ signature: "eyJ" }] } };
}

describe("before registration", () => {
  test("the set says who it is", async () => {
    const simulator = await plugIn({ firmware: "2026" });
    const client = await connect(simulator);
    client.send({ id: "hello", type: "hello", payload: {} });
    const hello = await client.next(({ type }) => type === "hello");
    expect(hello["id"]).toBeUndefined();
    expect(hello.payload).toMatchObject({
      deviceOS: "webOS",
      deviceOSReleaseVersion: "11.2.0",
      deviceUUID: simulator.uuid,
      pairingTypes: ["PIN", "PROMPT", "COMBINED", "LGSWITCH-PIN"],
    });
    const other = await connect(await plugIn({ traits: { hello: "with-id" } }));
    other.send({ id: "hello", type: "hello", payload: {} });
    expect((await other.next(({ type }) => type === "hello"))["id"]).toBe("hello");
  });

  test("only getSystemInfo is answered, by newer firmware only then", async () => {
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

  test("what is no message is ignored", async () => {
    const client = await connect(await plugIn());
    for (const text of [
      "",
      '{"id":{"toString":1},"type":"unsubscribe"}',
      "{",
      "[]",
      "null",
      '{"id":1}',
      '{"type":7}',
      '{"type":"nonsense"}',
    ])
      client.socket.send(text);
    client.send({ type: "hello" });
    await client.next(({ type }) => type === "hello");
    expect(client.heard.length).toBe(1);
  });
});

describe("pairing", () => {
  test("asks first, then hands out a key that is enough the next time", async () => {
    const simulator = await plugIn();
    const client = await paired(simulator);
    expect(client.heard[0]).toEqual({
      id: "register_0",
      type: "response",
      payload: { pairingType: "PROMPT", returnValue: true },
    });
    const [key = ""] = simulator.clientKeys.keys();
    expect(client.heard[1]).toEqual({ id: "register_0", type: "registered", payload: { "client-key": key } });
    const again = await connect(simulator);
    again.send({ id: 1, type: "register", payload: { ...manifest(), "client-key": key } });
    expect(await again.next(() => true)).toEqual({ id: 1, type: "registered", payload: { "client-key": key } });
    expect(simulator.received.prompts).toEqual([{ permissions: EVERYTHING, answer: "accepted" }]);
  });

  test("waits for a person, who may deny; nobody else gets a prompt in the meantime", async () => {
    const simulator = await plugIn({ prompt: "wait", denial: "403 cancelled" });
    const client = await connect(simulator);
    client.send({ id: 1, type: "register", payload: manifest() });
    await until("there is a prompt", () => simulator.state.prompting);
    const other = await connect(simulator);
    const refused = await other.ask("register", "", manifest());
    expect(refused["error"]).toBe("409 register already in progress");
    expect(client.heard.length).toBe(1);
    expect(simulator.answerPrompt(false)).toBe(true);
    expect(simulator.answerPrompt(false)).toBe(false);
    await client.next(({ error }) => error === "403 cancelled");
    expect((await other.ask("register", "", manifest())).payload).toEqual({ pairingType: "PROMPT", returnValue: true });
    other.socket.terminate();
    await until("the prompt goes", () => !simulator.state.prompting);
    expect(simulator.received.prompts.map(({ answer }) => answer)).toEqual(["denied", "gone"]);
  });

  test("goes straight to registered where nobody is asked", async () => {
    const client = await connect(await plugIn({ prompt: "none" }));
    expect((await client.ask("register", "", manifest()))["type"]).toBe("registered");
  });

  test("a key that was forgotten brings a prompt", async () => {
    const simulator = await plugIn({ clientKeys: { known: EVERYTHING } });
    const payload = { ...manifest(), "client-key": "known" };
    expect((await (await connect(simulator)).ask("register", "", payload))["type"]).toBe("registered");
    simulator.forgetKeys();
    expect((await (await connect(simulator)).ask("register", "", payload))["type"]).toBe("response");
    expect(simulator.received.prompts.length).toBe(1);
  });
});

describe("permissions", () => {
  test("the blacklist refuses a signed manifest before any prompt, with a known key too", async () => {
    const simulator = await plugIn({ firmware: "2026", clientKeys: { known: EVERYTHING } });
    for (const key of [{}, { "client-key": "known" }]) {
      const answer = await (await connect(simulator)).ask("register", "", { ...signed(), ...key });
      expect(answer["error"]).toBe("403 Pairing rejected: blacklisted certificate detected");
    }
    expect(simulator.received.prompts).toEqual([]);
    await paired(simulator);
  });

  test("a signed part is honoured by old firmware, and dropped without a word by newer", async () => {
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

  test("a flat list registers and gets 401 on all", async () => {
    const client = await connect(await plugIn());
    client.send({ id: 1, type: "register", payload: { pairingType: "PROMPT", permissions: EVERYTHING } });
    await client.next(({ type }) => type === "registered");
    for (const path of [POWER_STATE, "audio/getVolume", "system/getSystemInfo", "system/turnOff"])
      expect((await client.ask("request", `ssap://${path}`))["error"]).toBe("401 insufficient permissions");
  });

  test("each uri wants its own, and a key keeps what it was granted", async () => {
    const simulator = await plugIn();
    const client = await paired(simulator, ["READ_POWER_STATE"]);
    expect(await client.request(POWER_STATE)).toMatchObject({ state: "Active" });
    const pointer = "com.webos.service.networkinput/getPointerInputSocket";
    const refused = await client.ask("request", `ssap://${pointer}`);
    expect(refused).toMatchObject({ type: "error", error: "401 insufficient permissions" });
    const [key] = simulator.clientKeys.keys();
    const again = await connect(simulator);
    await again.ask("register", "", { ...manifest(), "client-key": key });
    expect((await again.ask("request", `ssap://${pointer}`))["error"]).toBe("401 insufficient permissions");
    expect(
      simulator.received.requests.filter(({ uri }) => uri.endsWith(pointer)).map(({ outcome }) => outcome),
    ).toEqual(["401 insufficient permissions", "401 insufficient permissions"]);
  });

  test("failures come in two shapes", async () => {
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

  test("returnValue and subscribed may be missing", async () => {
    const simulator = await plugIn({ traits: { returnValue: false, subscribed: false } });
    const client = await paired(simulator);
    expect(await client.request(POWER_STATE)).toEqual({ state: "Active" });
    expect((await client.ask("subscribe", `ssap://${POWER_STATE}`)).payload).toEqual({ state: "Active" });
    const usual = await paired(await plugIn());
    expect((await usual.ask("subscribe", `ssap://${POWER_STATE}`)).payload).toEqual({
      state: "Active",
      subscribed: true,
      returnValue: true,
    });
  });
});
