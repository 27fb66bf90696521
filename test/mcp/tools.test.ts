/** The list of tools: its schemas and hints, and that it never changes by itself. */
import { expect, spyOn, test } from "bun:test";
import Ajv from "ajv/dist/2020.js";
import { ApiError, type Client } from "../../src/api/client.ts";
import { runPaired } from "../../src/mcp/pairing.ts";
import type { ToolContext } from "../../src/mcp/tool.ts";
import { tools } from "../../src/mcp/tools.ts";
import { deviceLine } from "../../src/mcp/words.ts";
import { sleep } from "../../src/system/sleep.ts";
import { device } from "../cli/examined.ts";

interface Listed {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: {
    readonly type: string;
    readonly properties: Record<string, { description?: string }>;
    readonly additionalProperties: boolean;
  };
  readonly outputSchema: { readonly type: string; readonly properties: object };
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly openWorldHint: boolean;
  };
}
const listed = tools.map((tool) => tool.listed as unknown as Listed);
const named = (name: string) => {
  const found = tools.find((tool) => tool.name === name);
  if (!found) throw new Error(`there is no ${name}`);
  return found;
};

test("its tools, in their order, each with true hints", () => {
  const marks = listed.map(({ name, annotations }) => {
    const { readOnlyHint, destructiveHint, idempotentHint } = annotations as Listed["annotations"] & {
      idempotentHint: boolean;
    };
    return `${name} ${readOnlyHint ? "R" : ""}${destructiveHint ? "D" : ""}${idempotentHint ? "I" : ""}`.trim();
  });
  expect(marks).toEqual([
    "list_devices RI",
    "get_state RI",
    "wait_for RI",
    "list_apps RI",
    "launch_app I",
    "press_keys",
    "type_text",
    "set_power I",
    "set_volume",
    "control_playback",
    "play_media D",
    "get_screenshot R",
    "discover R",
    "dev_install D",
    "dev_logs R",
    "run_scene D",
  ]);
  for (const { annotations } of listed) expect(annotations.openWorldHint).toBe(false);
});

test("a device is told in a line: whether it is paired, or its power", () => {
  const lineOf = (facts: object) => deviceLine(device("Den", facts), null);
  expect(lineOf({ access: "unpaired", power: "on", is_default: true })).toBe("Den (default) is not paired");
  expect(lineOf({ access: "limited", power: "on" })).toBe("Den is on");
  expect(lineOf({ power: "unknown" })).toBe("Den is not known to be on");
});

test("each has an input and an output schema with descriptions", () => {
  const ajv = new Ajv({ strict: false });
  for (const { name, description, inputSchema, outputSchema } of listed) {
    expect(ajv.validateSchema(inputSchema)).toBe(true);
    expect(ajv.validateSchema(outputSchema)).toBe(true);
    expect([name, inputSchema.type, outputSchema.type, inputSchema.additionalProperties]).toEqual([
      name,
      "object",
      "object",
      false,
    ]);
    expect(description.length).toBeGreaterThan(20);
    // A failure is one of the things that it answers.
    expect(ajv.compile(outputSchema)({ code: "device_unreachable", message: "Den is off" })).toBe(true);
    expect(ajv.compile(outputSchema)({})).toBe(false);
    // A command says whether it was seen, and what was read around it.
    const isCommand = !/^(list|get|wait)_|^discover$|_logs$/.test(name);
    expect([name, "confirmed" in outputSchema.properties, "before" in outputSchema.properties]).toEqual([
      name,
      isCommand,
      isCommand,
    ]);
  }
  // A model reads it all before it does anything.
  expect(JSON.stringify(listed).length).toBeLessThan(36_000);
});

const callingWith = (api: Client): ToolContext => ({
  api,
  looking: api,
  signal: new AbortController().signal,
  device: "default",
  canAsk: false,
  answerTo: () => undefined,
});

/** A set that shows a code for pairing, asks for a login, waits until somebody accepts, or is being paired by another. */
function setWithCode(step: "code" | "confirm" | "login" | "busy") {
  const calls: string[] = [];
  let isPaired = false;
  let isOpen = false;
  const refused = new ApiError({ code: "pairing_required", message: "Den is not paired", hint: "zapd pair Den" }, "");
  const api = {
    async pairDevice({ body, signal }: { body: { begin?: boolean; pin?: string }; signal: AbortSignal }) {
      calls.push(body.pin === undefined ? `pair ${JSON.stringify(body)}` : `pin ${body.pin}`);
      if (step === "confirm") await sleep(60_000, signal);
      if (step === "busy" || (isOpen && body.pin === undefined))
        throw new ApiError({ code: "device_busy", message: "Den is already being paired" }, "");
      isOpen = body.pin === undefined || body.pin === "0000";
      if (body.pin === undefined) return { device: { name: "Den" }, step, form: "digits", length: 4 };
      isPaired = body.pin === "1234";
      const reason = body.pin === "9" ? "late" : "wrong";
      if (!isPaired) throw new ApiError({ code: "pairing_failed", message: "not paired", reason }, "");
      return {};
    },
    async cancelPairing() {
      calls.push("cancel");
      return {};
    },
    async getState() {
      if (!isPaired) throw refused;
      return { device: { name: "Den" }, state: { power: "on", app: null, volume: null } };
    },
    async setVolume() {
      calls.push("volume");
      if (!isPaired) throw refused;
      return { device: { name: "Den" }, confirmed: null };
    },
  } as unknown as Client;
  const ask = (tool: string, args: object, more: Partial<ToolContext>) =>
    runPaired(named(tool), args, { ...callingWith(api), canAsk: true, ...more });
  return { calls, ask };
}

test("a set that shows a code is paired during the call, where the person can be asked for it", async () => {
  const { calls, ask } = setWithCode("code");
  const volume = { device: "Den", level: 5, wait_ms: 1 };
  expect(await ask("set_volume", volume, {})).toMatchObject({
    ask: { key: "pin", message: "Den shows a code of 4 digits to pair it with zapd. What is the code?" },
  });
  expect(await ask("set_volume", volume, { answerTo: () => "0000" })).toMatchObject({
    ask: { key: "pin", message: expect.stringContaining("not paired") },
  });
  // With this one it ends.
  expect(await ask("set_volume", volume, { answerTo: () => "5555" })).toMatchObject({
    ask: { key: "pin", message: expect.stringContaining("wrong. Den shows a code of 4 digits") },
  });
  await expect(ask("set_volume", volume, { answerTo: () => "9" })).rejects.toMatchObject({ code: "pairing_failed" });
  expect(await ask("set_volume", volume, { answerTo: () => "1234" })).toMatchObject({ data: { confirmed: null } });
  expect(calls).toEqual([
    "volume",
    "pair {}",
    "pin 0000",
    "pair {}",
    "pin 5555",
    "pair {}",
    "pin 9",
    "pin 1234",
    "volume",
  ]);
});

test("a call that is given up while the person is asked for the code ends the pairing, and one that has ended does not", async () => {
  for (const waitsForAnswer of [true, false]) {
    const { calls, ask } = setWithCode("code");
    const call = new AbortController();
    const asked = await ask("set_volume", { level: 5, wait_ms: 1 }, { signal: call.signal, waitsForAnswer });
    expect(asked).toMatchObject({ ask: { key: "pin" } });
    call.abort();
    expect(calls).toEqual(["volume", "pair {}", ...(waitsForAnswer ? ["cancel"] : [])]);
  }
});

test("no question for a tool that only reads, for a prompt at the set, a second time, or where the client cannot ask", async () => {
  const code = setWithCode("code");
  const required = { code: "pairing_required" };
  await expect(code.ask("get_state", {}, {})).rejects.toMatchObject(required);
  await expect(code.ask("set_volume", { level: 5, wait_ms: 1 }, { canAsk: false })).rejects.toMatchObject(required);
  expect(code.calls).toEqual(["volume"]);
  await expect(code.ask("set_volume", { level: 5, wait_ms: 1 }, { answerTo: () => null })).rejects.toMatchObject(
    required,
  );
  expect(code.calls).toEqual(["volume", "cancel", "volume"]);
  await expect(setWithCode("busy").ask("set_volume", { level: 5 }, {})).rejects.toMatchObject({ code: "device_busy" });
  const login = setWithCode("login");
  await expect(login.ask("set_volume", { level: 5, wait_ms: 1 }, {})).rejects.toMatchObject(required);
  expect(login.calls).toEqual(["volume", "pair {}", "cancel"]);
  // A person may wait at the same prompt: it is left to them.
  const confirm = setWithCode("confirm");
  const signal = AbortSignal.timeout(20);
  await expect(confirm.ask("set_volume", { level: 5, wait_ms: 1 }, { signal })).rejects.toMatchObject(required);
  expect(confirm.calls).toEqual(["volume", "pair {}"]);
});

test("a volume step is not confirmed merely because the device reports a volume", async () => {
  const device = { name: "Den" };
  const api = {
    getState: async () => ({ device, state: { power: "on", app: null, volume: { level: 18, muted: false } } }),
    setVolume: async () => ({ device, confirmed: false }),
  } as unknown as Client;
  for (const [change, confirmed] of [
    [{ step: 5 }, false],
    [{ step: 5, muted: false }, false],
    [{ level: 23 }, false],
    [{ level: 18 }, true],
  ] as const)
    expect(await runPaired(named("set_volume"), { ...change, wait_ms: 1 }, callingWith(api))).toMatchObject({
      data: { confirmed },
    });
});

test("a call reads no other device, also where another is the default one by then", async () => {
  const [den, bedroom] = [device("Den"), device("Bedroom")];
  let usual = den;
  let read: string[] = [];
  const changing = (id: string) => {
    const found = id === "default" ? usual : id === den.id ? den : bedroom;
    read.push(found.name);
    usual = bedroom;
    return found;
  };
  const state = { power: "on", app: null, screensaver: false };
  const api = {
    getState: async ({ id }: { id: string }) => ({ device: changing(id), state, matched: false }),
    getDevice: async ({ id }: { id: string }) => changing(id),
    launchApp: async () => ({ device: den, app: { name: "Netflix" }, confirmed: null }),
    readLogs: async ({ id }: { id: string }) => ({ device: changing(id), lines: [], cursor: "1" }),
    async getScreenshot({ id }: { id: string }) {
      changing(id);
      return new Blob(["x"], { type: "image/png" });
    },
  } as unknown as Client;
  for (const [tool, args] of [
    ["launch_app", { app: "netflix", wait_ms: 50 }],
    ["wait_for", { until: { power: "off" } }],
    ["get_screenshot", {}],
    ["dev_logs", { wait_ms: 300 }],
  ] as const) {
    [usual, read] = [den, []];
    await runPaired(named(tool), args, callingWith(api));
    expect([tool, read.length > 1, new Set(read)]).toEqual([tool, true, new Set(["Den"])]);
  }
});

test("a file is not confirmed because something played before, only where nothing did", async () => {
  const device = { name: "Den" };
  for (const [before, confirmed] of [
    ["playing", false],
    ["buffering", false],
    ["paused", true],
  ] as const) {
    let status: string = before;
    const api = {
      getState: async () => ({ device, state: { power: "on", app: null, volume: null, playback: { status } } }),
      async playMedia() {
        status = "playing";
        return { device, confirmed: false };
      },
    } as unknown as Client;
    const args = { url: "http://192.0.2.1/b.mp4", wait_ms: 50 };
    expect(await runPaired(named("play_media"), args, callingWith(api))).toMatchObject({ data: { confirmed } });
  }
});

test("an installation answers with the first lines of its own package, or null where the console cannot be read", async () => {
  const device = { name: "Den" };
  const lines = Array.from({ length: 60 }, (_, n) => `old ${n}`);
  let canRead = true;
  const api = {
    getState: async () => ({ device, state: { power: "on", app: null, volume: null } }),
    async readLogs({ query }: { query?: { cursor?: string } }) {
      if (!canRead) throw new ApiError({ code: "console_in_use", message: "Den already serves another program" }, "");
      return { device, lines: lines.slice(Number(query?.cursor ?? 0)), cursor: String(lines.length) };
    },
    async installPackage() {
      lines.push(...Array.from({ length: 50 }, (_, n) => `new ${n}`));
      return { device, package: { name: "App", version: "1" } };
    },
  } as unknown as Client;
  const archive = { size: 0, stream: () => new ReadableStream<Uint8Array>() };
  const openPackage = async () => ({ archive, async dispose() {} });
  const install = () =>
    runPaired(named("dev_install"), { path: "app.zip", wait_ms: 50 }, { ...callingWith(api), openPackage });
  const first = Array.from({ length: 40 }, (_, n) => `new ${n}`);
  // Also in the text, for clients that read nothing else.
  const text = expect.stringMatching(/^Den installed App 1\..*\nnew 0\nnew 1\n/);
  expect(await install()).toMatchObject({ data: { log: first }, text });
  canRead = false;
  expect(await install()).toMatchObject({ data: { log: null } });
});

test("text and select are one call: neither is sent alone", async () => {
  const sent: unknown[] = [];
  const device = { name: "Den" };
  const api = {
    async pressKey({ body }: { body: object }) {
      sent.push(body);
      return { device, action: "key" };
    },
    async pressKeys({ body }: { body: object }) {
      sent.push(body);
      return { device, action: "sequence" };
    },
    getState: async () => ({ device, state: { power: "on", app: null } }),
  } as unknown as Client;
  const type = (args: object) => runPaired(named("type_text"), { text: "ab", wait_ms: 1, ...args }, callingWith(api));
  expect(await type({})).toMatchObject({ data: { action: "key", characters: 2, confirmed: null } });
  expect(await type({ submit: true })).toMatchObject({ data: { action: "sequence", characters: 2, confirmed: null } });
  // Without time for it nothing is read, which says nothing about the device.
  expect(await type({ wait_ms: 0 })).toMatchObject({
    text: expect.stringMatching(/ Its state was not read afterwards\.$/),
  });
  expect(sent).toEqual([{ key: "literal:ab" }, { keys: ["literal:ab", "select"] }, { key: "literal:ab" }]);
});

test("a command to the player is told by its word", async () => {
  const device = { name: "Den" };
  const api = {
    getState: async () => ({ device, state: { power: "on", app: null, volume: null } }),
    controlPlayback: async () => ({ device, confirmed: null }),
  } as unknown as Client;
  const done = await runPaired(named("control_playback"), { do: "next", wait_ms: 1 }, callingWith(api));
  expect(done).toMatchObject({ text: expect.stringMatching(/^The player of Den accepted next\. /) });
});

test("a wrong value is refused with the allowed ones", async () => {
  const refusalOf = (name: string, args: object) =>
    runPaired(named(name), args, callingWith({} as Client)).catch(String);
  expect(await refusalOf("control_playback", { do: "dance" })).toContain(
    "do must be one of play, pause, stop, seek, next, previous",
  );
  expect(await refusalOf("play_media", { url: "/etc/passwd" })).toContain(
    "url must be a full URL that begins with http:// or https://",
  );
  // Models give it for an optional argument.
  expect(await refusalOf("list_devices", { label: "" })).toContain("label must have at least 1 character");
  expect(await refusalOf("get_state", { device: "" })).toContain("device must have at least 1 character");
});

test("arguments that are nested far too deep are refused as that", async () => {
  const depth = 50_000;
  for (const [open, close] of [
    ["[", "]"],
    ['{"then":', "}"],
  ] as const) {
    const args = JSON.parse(`{"device":${open.repeat(depth)}1${close.repeat(depth)}}`);
    await expect(runPaired(named("get_state"), args, callingWith({} as Client))).rejects.toMatchObject({
      code: "invalid_payload",
      message: "The arguments are nested deeper than 32 levels",
    });
  }
});

test("without new lines the console is not said to have printed nothing at all", async () => {
  const readLogs = async () => ({ device: { name: "Den" }, lines: [], cursor: "a.9" });
  const textOf = async (args: object) => {
    const api = { readLogs } as unknown as Client;
    const done = await runPaired(named("dev_logs"), { wait_ms: 0, ...args }, callingWith(api));
    return "text" in done && done.text;
  };
  expect(await textOf({})).toBe("Den has printed nothing since zapd attached to its console.");
  expect(await textOf({ cursor: "a.9" })).toBe("Den has printed nothing since the previous answer.");
  expect(await textOf({ cursor: "a.9", match: "oops" })).toBe(
    'Den has printed no line with "oops" since the previous answer.',
  );
});

test("the sentence about a scene or a group has the hint of each failure, for clients that read nothing else", async () => {
  const device = { id: "1", name: "Den", labels: [] };
  const error = { code: "app_not_found", message: "Den has no such app", hint: "Did you mean Netflix?" };
  const step = { at: "1", does: "launch netflx", status: "failed", confirmed: null, error, devices: [] };
  const api = {
    listDevices: async () => [device],
    getState: async () => ({ device, state: { power: "on", app: null, volume: null } }),
    pressKeyOfGroup: async () => ({ results: [{ device, ok: false, error }] }),
    runSteps: async () => ({ outcome: "stopped", failed: 1, steps: [step] }),
  } as unknown as Client;
  for (const [tool, args] of [
    ["set_power", { device: "all", on: true }],
    ["run_scene", { steps: [{ launch: "netflx" }] }],
  ] as const)
    expect(await runPaired(named(tool), { wait_ms: 1, ...args }, callingWith(api))).toMatchObject({
      text: expect.stringContaining("Den has no such app. Did you mean Netflix?"),
    });
});

test("no schema has a format or names of properties, for which Gemini refuses every tool", () => {
  expect(JSON.stringify(listed)).not.toMatch(/"(format|propertyNames)":/);
  expect(JSON.stringify(listed)).toContain('"additionalProperties":{"type":"string"');
});

test("the times of reads are whole: Node takes no others, and would fail a command that was sent", async () => {
  const timeouts = spyOn(AbortSignal, "timeout");
  const den = { id: "den", name: "Den" };
  const api = {
    getState: async () => ({ device: den, state: { power: "on", app: null, volume: null } }),
    pressKey: async () => ({ device: den, confirmed: null }),
  } as unknown as Client;
  await runPaired(named("press_keys"), { keys: ["home"], wait_ms: 500 }, callingWith(api));
  expect(timeouts.mock.calls.map(([ms]) => Number.isInteger(ms))).toEqual([true, true]);
  timeouts.mockRestore();
});
