/**
 * The tools, in an order that never changes. Each answers with the data of the API; a command also reports whether its effect
 * was seen, and the state before and after it.
 */
import { z } from "zod";
import { ApiError, type Client } from "../api/client.ts";
import { isPowerOff } from "../api/client-words.ts";
import { ZapdError } from "../api/errors.ts";
import { pressLimits } from "../api/limits.ts";
import { operations } from "../api/operations.ts";
import { isOfGroup, meansGroup } from "../api/routes.ts";
import { PlainStep, type SceneStep, sceneLimits } from "../api/scenes.ts";
import { App, Device, KeyName, type KeyOrText, State, showsVolume } from "../api/schemas.ts";
import { powers, statusAfter } from "../platforms/platform.ts";
import { printable } from "../system/printable.ts";
import { sleep } from "../system/sleep.ts";
import { pluralize, withHint } from "../system/text.ts";
import { pollMs, readState, readStates, readUntil } from "./state.ts";
import {
  type Done,
  device,
  deviceField,
  jsonSchema,
  maxWaitMs,
  type Outcome,
  readBack,
  type Tool,
  type ToolContext,
  tool,
  waitMs,
} from "./tool.ts";
import { deviceLine, outcome, stateWords } from "./words.ts";

const maxApps = 50;
const maxLogLines = 200;
/** Lines of the console in the answer to an installation. */
const maxInstallLines = 40;
/** How long a list waits for the states of devices, and how many are read at a time. */
const listing = { timeoutMs: 1_500, concurrency: 16 } as const;
/** Base64 adds a third, and clients take some 10 MB. */
const maxPictureBytes = 6 * 1024 * 1024;

/** A key by its name. Any text passes here: the API checks it, and suggests a key. */
const Key = (operations.pressKey.body.shape.key as unknown as z.ZodType<string>).meta({
  description: "The name of a key; `keys` of a device lists those that it has",
  enum: KeyName.options,
});

interface CommandAnswer {
  readonly device: Device;
  readonly confirmed?: boolean | null;
}

/** The arguments of a call beside its body. */
interface CallOptions {
  readonly id: string;
  readonly signal: AbortSignal;
}

interface Command<Answer extends CommandAnswer> {
  act(api: Client, options: CallOptions): Promise<Answer>;
  /** Whether a state shows the effect; absent where none does. Used where the API has not confirmed the effect. */
  shows?(answer: Answer, before: State | null): (state: State) => boolean;
  /** A sentence without a full stop. */
  describe(answer: Answer): string;
}

/** Reads the state, sends the command, and reads the state again until it shows the effect, or the time is over. */
async function command<Answer extends CommandAnswer>(
  { api, signal, device: usual }: ToolContext,
  device: string | undefined,
  waitMs: number,
  { act, shows, describe }: Command<Answer>,
): Promise<Done> {
  const id = device ?? usual;
  const before = await readState(api, id, waitMs, signal);
  const answer = await act(api, { id, signal });
  const isShown = shows?.(answer, before);
  // Where the API has confirmed the effect, or cannot, the state is read only once.
  const { confirmed: byApi = isShown ? false : null } = answer;
  // By its id: meanwhile another device may have become the default one, or taken the name.
  const after = await readUntil(
    api,
    answer.device.id,
    byApi === false && isShown ? isShown : () => true,
    waitMs,
    signal,
  );
  const byState = () => (after && isShown ? isShown(after) : (answer.confirmed ?? null));
  const confirmed = byApi === false ? byState() : byApi;
  return {
    data: { ...answer, confirmed, before, after },
    text: outcome(describe(answer), confirmed, answer.device, after),
  };
}

const listDevices = tool({
  name: "list_devices",
  title: "List devices",
  description:
    "Lists every known TV and player with its power, capabilities, keys, labels and current state. The state is read from devices that are on; `state` is null if a device is not on or did not answer.",
  hints: ["readOnly", "idempotent"],
  input: { label: z.string().min(1).max(64).optional().describe("Only devices with this label") },
  output: {
    devices: z
      .array(Device.extend({ state: State.nullable() }))
      .describe("Each as in the API, with its `state`, read just now"),
  },
  async run({ label }, { api, looking, signal }) {
    const isWanted = ({ labels = [] }: Device) => label === undefined || labels.includes(label);
    const listed = (await api.listDevices({ signal })).filter(isWanted);
    const states = new Map<string, State | null>();
    const waiting = listed.filter(({ capabilities, power }) => capabilities.includes("state") && !isPowerOff(power));
    const worker = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift())
        states.set(next.id, await readState(looking, next.id, listing.timeoutMs, signal));
    };
    await Promise.all(Array.from({ length: listing.concurrency }, worker));
    // Reading the states has also updated the entries.
    const devices = (await api.listDevices({ signal }))
      .filter(isWanted)
      .map((one) => ({ ...one, state: states.get(one.id) ?? null }));
    const lines = devices.map((one) => deviceLine(one, one.state));
    const none =
      label === undefined ? "No device is known. Call discover to find some." : `No device has the label ${label}.`;
    return { data: { devices }, text: lines.length > 0 ? lines.join("\n") : printable(none) };
  },
});

const getState = tool({
  name: "get_state",
  title: "See what is on",
  description:
    "Reads the current state of a device: power, app, what plays, volume, input. Call it before you say what is on. A part that the device does not report is null: unknown, not absent.",
  hints: ["readOnly", "idempotent"],
  input: { device },
  output: operations.getState.data.omit({ matched: true }).shape,
  async run({ device }, { api, signal, device: usual }) {
    const data = await api.getState({ id: device ?? usual, signal });
    return { data, text: `${printable(data.device.name)} ${stateWords(data.state)}.` };
  },
});

const untilParts = {
  power: z.enum(powers.filter((power) => power !== "unknown")).optional(),
  app: z.string().min(1).max(256).optional().describe("Its id, name or platform id; `none` for the home screen"),
  playback: operations.controlPlayback.data.shape.playback.unwrap().shape.status.optional(),
  input: z.string().min(1).max(256).optional(),
  muted: z.boolean().optional(),
};

const waitFor = tool({
  name: "wait_for",
  title: "Wait for a state",
  description:
    "Waits until the state of a device matches all given parts, or the time is over; `matched` says which. Use it instead of calling get_state repeatedly.",
  hints: ["readOnly", "idempotent"],
  input: {
    device,
    until: z
      .strictObject(untilParts)
      .refine((until) => Object.keys(until).length > 0, { error: "needs power, app, playback, input or muted" })
      .describe("The state to wait for"),
    timeout_ms: z.int().min(0).max(maxWaitMs).default(10_000).describe("How long to wait, in milliseconds"),
  },
  output: {
    ...deviceField,
    state: State.nullable().describe("The state at the end; null if the device did not answer"),
    matched: z.boolean().describe("Whether the state matches"),
  },
  async run({ device, until, timeout_ms }, { api, signal, device: usual }) {
    const id = device ?? usual;
    const conditions = Object.entries(until).map(([part, word]) => `${part}:${word}`);
    const query = { wait_for: conditions, timeout_ms: String(timeout_ms) };
    const { matched = false, ...waited } = await api.getState({ id, query, signal });
    // `waited` has the last known state, also of a device that does not answer.
    const state = matched ? waited.state : await readState(api, waited.device.id, listing.timeoutMs, signal);
    const what = matched ? "The state matches" : `The state does not match after ${timeout_ms} ms`;
    const now = state ? `${waited.device.name} ${stateWords(state)}` : `${waited.device.name} does not answer`;
    return { data: { ...waited, state, matched }, text: printable(`${what}: ${conditions.join(", ")}. Now: ${now}.`) };
  },
});

const listApps = tool({
  name: "list_apps",
  title: "List apps",
  description: `Lists the apps of a device, at most ${maxApps}; narrow the list with \`find\`.`,
  hints: ["readOnly", "idempotent"],
  input: { device, find: z.string().min(1).max(256).optional().describe("A part of the name or the id") },
  output: {
    ...operations.listApps.data.shape,
    apps: z.array(App).describe(`At most ${maxApps}`),
    total: z.int().describe("How many there are in all, including those not listed"),
  },
  async run({ device, find }, { api, signal, device: usual }) {
    const { platform, apps } = await api.listApps({ id: device ?? usual, signal });
    const word = find?.toLowerCase() ?? "";
    const all = apps.filter(
      ({ id, name, platform_id, installed }) =>
        installed && [id, name, platform_id].some((text) => text.toLowerCase().includes(word)),
    );
    const shown = all.slice(0, maxApps);
    const lines = shown.map(({ name, id, type }) => `${name} (${id}${type === "app" ? "" : `, ${type}`})`);
    const more = all.length > shown.length ? [`and ${all.length - shown.length} more: narrow the list with find`] : [];
    const none =
      find === undefined ? "The device lists no apps." : `The device lists no app with "${find}" in its name or id.`;
    return {
      data: { platform, apps: shown, total: all.length },
      text: printable(lines.length > 0 ? [...lines, ...more].join(", ") : none),
    };
  },
});

const launchApp = tool({
  name: "launch_app",
  title: "Launch an app",
  description:
    "Launches an app by its name or id, with an optional deep link in `params`, and reads back whether the device shows it. Wakes a sleeping device, which may take half a minute.",
  hints: ["idempotent"],
  input: { device, ...operations.launchApp.body.shape, wait_ms: waitMs },
  output: { ...operations.launchApp.data.shape, ...readBack },
  run({ device, wait_ms, ...body }, context) {
    return command(context, device, wait_ms, {
      act: (api, options) => api.launchApp({ ...options, body }),
      shows:
        ({ app }) =>
        (state) =>
          state.app?.platform_id === app.platform_id,
      describe: ({ device, app }) => `${device.name} was told to launch ${app.name}`,
    });
  },
});

const pressKeys = tool({
  name: "press_keys",
  title: "Press keys",
  description:
    "Presses keys of the remote one after another. Most devices do not report what a key did: check `after`, get_state or get_screenshot instead of counting presses. For text use type_text, for apps launch_app, for volume set_volume.",
  hints: [],
  input: {
    device,
    keys: z.array(Key).min(1).max(32).describe("The keys, in order"),
    delay_ms: operations.pressKeys.body.shape.delay_ms
      .unwrap()
      .optional()
      .describe("The delay between two keys; 200 by default"),
    hold_ms: operations.pressKey.body.shape.hold_ms.describe("How long to hold the key; only with a single key"),
    wait_ms: waitMs,
  },
  output: {
    ...deviceField,
    action: z.string().describe("Which action this was"),
    sent: z.int().describe("How many keys the device accepted"),
    ...readBack,
  },
  run({ device, keys, delay_ms, hold_ms, wait_ms }, context) {
    if (hold_ms !== undefined && keys.length > 1)
      throw new ZapdError("invalid_payload", "press_keys: hold_ms works with one key only", {
        hint: "Call it once for each key",
      });
    const press = async (api: Client, options: CallOptions) => {
      // The API checks them.
      const [first, ...more] = keys as KeyOrText[];
      if (first !== undefined && more.length === 0)
        return { ...(await api.pressKey({ ...options, body: { key: first, hold_ms } })), sent: 1 };
      return api.pressKeys({ ...options, body: { keys: keys as KeyOrText[], delay_ms } });
    };
    return command(context, device, wait_ms, {
      act: press,
      describe: ({ device, sent }) => `${device.name} accepted ${sent === 1 ? `the key ${keys[0]}` : `${sent} keys`}`,
    });
  },
});

const typeText = tool({
  name: "type_text",
  title: "Type text",
  description:
    "Types text into the focused field on the screen. The focus cannot be read: focus a text field first, and check the result afterwards. `submit` presses select after the text.",
  hints: [],
  input: {
    device,
    text: z.string().min(1).max(pressLimits.characters).describe("The text to type, without control characters"),
    submit: z.boolean().default(false).describe("Presses select afterwards"),
    wait_ms: waitMs,
  },
  output: {
    ...deviceField,
    action: z.string().describe("Which action this was"),
    characters: z.int().describe("How many characters were typed"),
    ...readBack,
  },
  run({ device, text, submit, wait_ms }, context) {
    const type = async (api: Client, options: CallOptions) => {
      const typed: KeyOrText = `literal:${text}`;
      // One call, so that no other command comes between, nothing is typed where select is missing, and a failure says what was sent.
      const { device, action } = submit
        ? await api.pressKeys({ ...options, body: { keys: [typed, "select"] } })
        : await api.pressKey({ ...options, body: { key: typed } });
      return { device, action, characters: [...text].length };
    };
    return command(context, device, wait_ms, {
      act: type,
      describe: ({ device, characters }) => `${device.name} accepted ${pluralize(characters, "character")}`,
    });
  },
});

const setPower = tool({
  name: "set_power",
  title: "Turn on or off",
  description:
    "Turns a device on, which may take up to 45 s, or off, and reads back whether it is. `all`, or `label:` with a label, means a group, whose `results` list each device.",
  hints: ["idempotent"],
  input: {
    device: device.describe("Its name or id; `all` or `label:kitchen` for a group; without it the default device"),
    on: z.boolean().describe("true turns it on, false turns it off"),
    wait_ms: waitMs,
  },
  output: {
    device: Device.optional().describe("The device, as known after the command; absent for a group"),
    results: z.array(z.unknown()).optional().describe("For a group: the result of each device"),
    ...readBack,
  },
  async run({ device, on, wait_ms }, context) {
    const id = device ?? context.device;
    if (meansGroup(id)) return groupPower(context, id, on, wait_ms);
    const { api, signal } = context;
    const before = await readState(api, id, wait_ms, signal);
    const answer = await api.pressKey({ id, body: { key: powerKey(on) }, signal });
    const { after, confirmed } = await powerAfter(api, answer.device, on, wait_ms, signal);
    return {
      data: { ...answer, confirmed, before, after },
      text: outcome(`${answer.device.name} was told to turn ${on ? "on" : "off"}`, confirmed, answer.device, after),
    };
  },
});

/** `false` if one is, else `null` if one is. */
const combine = (all: readonly (boolean | null)[]) => (all.includes(false) ? false : all.includes(null) ? null : true);

const powerKey = (on: boolean) => (on ? "power-on" : "power-off");
const isPower = (on: boolean, power: Device["power"]) => (on ? power === "on" : isPowerOff(power));

/** The state after a power command, and whether it was confirmed. A device that is off may not answer any more. */
async function powerAfter(
  api: Client,
  { id }: { readonly id: string },
  on: boolean,
  timeoutMs: number,
  signal: AbortSignal,
) {
  const after = await readUntil(api, id, ({ power }) => isPower(on, power), timeoutMs, signal);
  const power = after?.power ?? (await api.getDevice({ id, signal })).power;
  const isKnown = power !== "unknown" && (after !== null || isPower(on, power));
  return { after, confirmed: isKnown ? isPower(on, power) : null };
}

async function groupPower(context: ToolContext, group: string, on: boolean, timeoutMs: number): Promise<Outcome> {
  const { api, signal, canAsk, answerTo } = context;
  const members = (await api.listDevices({ signal })).filter(({ labels }) => isOfGroup(labels, group));
  if (!on && canAsk && members.length > 1) {
    const answer = answerTo("off");
    if (answer === undefined) {
      const message = `Turn off ${members.length} devices (${members.map(({ name }) => name).join(", ")})?`;
      return {
        ask: {
          key: "off",
          message: printable(message),
          field: { title: "Turn them off", type: "boolean" },
        },
      };
    }
    if (answer !== true)
      return {
        data: { results: [], confirmed: false, before: null, after: null },
        text: "Nothing was turned off: the person declined.",
      };
  }
  const ids = members.map(({ id }) => id);
  const befores = await readStates(api, ids, timeoutMs, signal);
  const { results } = await api.pressKeyOfGroup({ group, body: { key: powerKey(on) }, signal });
  const read = await Promise.all(
    results.map(async (one) => {
      const seen = one.ok
        ? await powerAfter(api, one.device, on, timeoutMs, signal)
        : { after: null, confirmed: false };
      return { ...one, ...seen, before: befores.get(one.device.id) ?? null };
    }),
  );
  const confirmed = combine(read.map((one) => one.confirmed));
  const lines = read.map(({ device, error, confirmed, after }) => {
    if (error) return `${device.name}: ${withHint(error.message, error.hint)}`;
    const word =
      confirmed === null
        ? "accepted the command; its power cannot be read"
        : confirmed
          ? "shows it"
          : "does not show it yet";
    return `${device.name}: ${word}${after ? ` (${stateWords(after)})` : ""}`;
  });
  return {
    data: { results: read, confirmed, before: null, after: null },
    text: printable(`The devices were told to turn ${on ? "on" : "off"}. ${lines.join("; ")}.`),
  };
}

const setVolume = tool({
  name: "set_volume",
  title: "Set the volume",
  description:
    "Sets the volume to a level, changes it by a step, or mutes and unmutes, and reads back what the device shows. Give level or step, not both. A device that supports only steps refuses a level, and says so.",
  // A step sent twice is two steps.
  hints: [],
  input: { device, ...operations.setVolume.body.shape, wait_ms: waitMs },
  output: { ...operations.setVolume.data.shape, ...readBack },
  run({ device, wait_ms, ...body }, context) {
    const { level, step, muted } = body;
    return command(context, device, wait_ms, {
      act: (api, options) => api.setVolume({ ...options, body }),
      // Only the API knows the level after a step.
      ...(step === undefined && { shows: () => (state: State) => showsVolume(state, level, muted) }),
      describe: ({ device }) => `${device.name} accepted the volume`,
    });
  },
});

const controlPlayback = tool({
  name: "control_playback",
  title: "Play, pause, stop, seek",
  description: "Controls the player of a device, and reads back whether it did so. seek needs position_ms.",
  // `next` sent twice skips two titles.
  hints: [],
  input: { device, ...operations.controlPlayback.body.shape, wait_ms: waitMs },
  output: { ...operations.controlPlayback.data.shape, ...readBack },
  run({ device, wait_ms, ...body }, context) {
    const statuses = statusAfter[body.do];
    return command(context, device, wait_ms, {
      act: (api, options) => api.controlPlayback({ ...options, body }),
      ...(statuses && {
        shows:
          () =>
          ({ playback }: State) =>
            statuses.includes(playback?.status ?? "stopped"),
      }),
      describe: ({ device }) => `The player of ${device.name} accepted ${body.do}`,
    });
  },
});

const isPlaying = ({ playback }: State) => statusAfter.play?.includes(playback?.status ?? "") === true;

const playMedia = tool({
  name: "play_media",
  title: "Play a file by its URL",
  description:
    "Sends the URL of a video, song or picture to a device, which downloads it itself, so the device must be able to reach it. It replaces what is playing.",
  hints: ["destructive"],
  input: { device, ...operations.playMedia.body.shape, wait_ms: waitMs },
  output: { ...operations.playMedia.data.shape, ...readBack },
  run({ device, wait_ms, ...body }, context) {
    return command(context, device, wait_ms, {
      act: (api, options) => api.playMedia({ ...options, body }),
      // Where something was playing before, only the API knows the new file from it.
      shows: (_, before) => (state) => before !== null && !isPlaying(before) && state.playback?.status === "playing",
      describe: ({ device }) => `${device.name} was told to play ${body.title ?? body.url}`,
    });
  },
});

const getScreenshot = tool({
  name: "get_screenshot",
  title: "Take a screenshot",
  description:
    "Takes a picture of what the device shows, if it allows that: mostly developer devices with a sideloaded app. Otherwise the failure says why not.",
  hints: ["readOnly"],
  input: { device },
  output: {
    ...deviceField,
    bytes: z.int().describe("Its size"),
    type: z.string().describe("`image/png`, `image/jpeg` or `image/webp`"),
  },
  async run({ device }, { api, signal, device: usual }) {
    const { id } = await api.getDevice({ id: device ?? usual, signal });
    const picture = await api.getScreenshot({ id, signal });
    const { size: bytes, type } = picture;
    if (bytes > maxPictureBytes)
      throw new ZapdError("payload_too_large", `The picture has ${bytes} bytes, more than an MCP client accepts`, {
        hint: "Save it to a file: zapd screenshot -o FILE",
      });
    const data = Buffer.from(await picture.arrayBuffer()).toString("base64");
    const shown = await api.getDevice({ id, signal });
    return {
      data: { device: shown, bytes, type },
      text: printable(`What ${shown.name} shows: ${type}, ${bytes} bytes.`),
      picture: { data, mimeType: type },
    };
  },
});

const discover = tool({
  name: "discover",
  title: "Look for devices",
  description: "Searches the network for devices for some seconds, and adds those that are new.",
  hints: ["readOnly"],
  input: {},
  output: operations.discoverDevices.data.shape,
  async run(_, { api, signal }) {
    const data = await api.discoverDevices({ signal });
    const lines = data.devices.map((one) => deviceLine(one, null));
    return { data, text: lines.length > 0 ? lines.join("\n") : "No device answered." };
  },
});

const devInstall = tool({
  name: "dev_install",
  title: "Sideload a package",
  description:
    "Installs a package on a developer device: a ZIP or a folder on this machine, by its full path. It replaces the installed package. Returns the first lines of its console. Available only over stdio (`zapd mcp`).",
  hints: ["destructive"],
  input: { device, path: z.string().min(1).max(4_096).describe("The path of the ZIP or folder"), wait_ms: waitMs },
  output: {
    ...operations.installPackage.data.shape,
    log: z.array(z.string()).nullable().describe("The first lines of its console; null if it could not be read"),
    ...readBack,
  },
  async run({ device, path, wait_ms }, context) {
    const { openPackage } = context;
    if (!openPackage)
      throw new ZapdError(
        "unsupported_operation",
        "dev_install reads files of the client, which is not possible over HTTP",
        {
          hint: "Connect over stdio (zapd mcp), or run zapd install PATH",
        },
      );
    const opened = await openPackage(path);
    let log: readonly string[] | null = null;
    const unlessRefused = (error: unknown): null => {
      if (error instanceof ApiError) return null;
      throw error;
    };
    const install = async (api: Client, { id, signal }: CallOptions) => {
      // What the console has by now is of an earlier package.
      const earlier = await api.readLogs({ id, signal }).catch(unlessRefused);
      const result = await api.installPackage({ id, archive: opened.archive, signal });
      const read =
        earlier && (await readLines(api, result.device.id, earlier.cursor, wait_ms, signal).catch(unlessRefused));
      log = read?.lines.slice(0, maxInstallLines) ?? null;
      return result;
    };
    try {
      const done = await command(context, device, wait_ms, {
        act: install,
        shows: () => (state) => state.app?.type === "dev",
        describe: ({ package: made, device }) => `${device.name} installed ${made.name} ${made.version}`,
      });
      const text = [done.text, ...(log ?? []).map(printable)].join("\n");
      return { text, data: { ...done.data, log } };
    } finally {
      await opened.dispose();
    }
  },
});

/** Reads the console from a cursor until there is a line, or the time is over. */
async function readLines(
  api: Client,
  name: string,
  from: string | undefined,
  timeoutMs: number,
  signal: AbortSignal,
  isWanted: (line: string) => boolean = () => true,
) {
  const end = performance.now() + timeoutMs;
  const lines: string[] = [];
  let cursor = from;
  let dropped = 0;
  for (let id = name; ; ) {
    const { device, ...part } = await api.readLogs({ id, query: { cursor }, signal });
    id = device.id;
    lines.push(...part.lines.filter(isWanted));
    dropped += part.dropped ?? 0;
    cursor = part.cursor;
    if (lines.length > 0 || performance.now() >= end) return { device, lines, cursor, dropped };
    await sleep(Math.min(pollMs, Math.max(1, end - performance.now())), signal);
  }
}

const devLogs = tool({
  name: "dev_logs",
  title: "Read the developer console",
  description: `Reads the last lines of a developer device's console, at most ${maxLogLines}; with the \`cursor\` of the previous answer, only new lines. No lines means that it printed nothing while zapd was attached.`,
  hints: ["readOnly"],
  input: {
    device,
    cursor: operations.readLogs.query.shape.cursor,
    match: z.string().min(1).max(256).optional().describe("Only lines that contain this text, in upper or lower case"),
    wait_ms: waitMs.describe("How long to wait for a line, in milliseconds"),
  },
  output: {
    ...operations.readLogs.data.shape,
    attached: z.boolean().describe("Whether zapd reads the console"),
    left_out: z.int().describe("How many earlier lines are left out"),
  },
  async run({ device: name, cursor, match, wait_ms }, { api, signal, device: usual }) {
    const word = match?.toLowerCase();
    const isWanted = (line: string) => word === undefined || line.toLowerCase().includes(word);
    const read = await readLines(api, name ?? usual, cursor, wait_ms, signal, isWanted);
    const lines = read.lines.slice(-maxLogLines);
    const { device, dropped } = read;
    const left_out = read.lines.length - lines.length;
    const none = `${device.name} has printed ${match === undefined ? "nothing" : `no line with "${match}"`} since ${cursor === undefined ? "zapd attached to its console" : "the previous answer"}.`;
    return {
      data: { device, lines, cursor: read.cursor, ...(dropped > 0 && { dropped }), attached: true, left_out },
      text: lines.length > 0 ? lines.map(printable).join("\n") : printable(none),
    };
  },
});

/** The fields of a step, without nested steps. Any object passes here: the API reports all mistakes at once. */
const { properties } = jsonSchema(z.looseObject(PlainStep.shape), "input");
const AnyStep = (z.looseObject({}) as unknown as z.ZodType<SceneStep>).meta({ properties });

const runScene = tool({
  name: "run_scene",
  title: "Run a scene",
  description:
    "Runs a scene of the house by its name, or the given steps, one after another in one call: `key`, `keys`, `launch`, `volume`, `power`, `input`, `play`, `notify`, `wait_ms`, `wait_for`; also `if` with `then` and `else`, and `parallel`. All steps are checked first; `dry_run` only checks. The answer has the result of each step.",
  hints: ["destructive"],
  input: {
    name: z.string().min(1).max(64).optional().describe("The name of a scene of the house, unless you give steps"),
    steps: z.array(AnyStep).min(1).max(sceneLimits.steps).optional().describe("The steps, in order"),
    device: device.describe("The device of steps that name none; without it the default device"),
    dry_run: z.boolean().default(false).describe("Only checks the steps, and runs none"),
    wait_ms: waitMs.describe("How long to read the state of each device, before and after, in milliseconds"),
  },
  output: {
    ...operations.runSteps.data.shape,
    devices: z.array(z.unknown()).describe("Each device of the scene, with its state `before` and `after`"),
    ...readBack,
  },
  async run({ name, steps, device: given, dry_run, wait_ms }, { api, signal, sceneDevice }) {
    if ((name === undefined) === (steps === undefined))
      throw new ZapdError("invalid_payload", "run_scene needs either name or steps", {
        hint: `The scenes of the house: ${(await api.listScenes({ signal })).scenes.map((one) => one.name).join(", ") || "none yet"}`,
      });
    const device = given ?? sceneDevice;
    const run = (isDry: boolean) => {
      const how = { ...(device !== undefined && { device }), dry_run: isDry };
      if (name !== undefined) return api.runScene({ scene: name, body: how, signal });
      return api.runSteps({ body: { ...how, steps: steps ?? [] }, signal });
    };
    const checked = await run(true);
    if (dry_run) {
      const none = { devices: [], confirmed: null, before: null, after: null };
      return {
        data: { ...checked, ...none },
        text: `The check passed: ${pluralize(checked.steps.length, "step")} would run.`,
      };
    }
    const targets = new Map(checked.steps.flatMap(({ devices }) => devices.map((one) => [one.device.id, one.device])));
    const readAll = () => readStates(api, [...targets.keys()], wait_ms, signal);
    const befores = await readAll();
    const result = await run(false);
    const afters = await readAll();
    const devices = [...targets.values()].map((one) => ({
      device: one,
      before: befores.get(one.id) ?? null,
      after: afters.get(one.id) ?? null,
    }));
    const [only] = devices.length === 1 ? devices : [];
    const seen = result.steps
      .filter(({ status, devices }) => status === "did" && devices.length > 0)
      .map((one) => one.confirmed);
    const confirmed = result.failed > 0 ? false : seen.length === 0 ? null : combine(seen);
    const lines = result.steps.map(({ at, does, status, confirmed, error }) => {
      const how = status === "did" && confirmed !== null ? (confirmed ? ", seen" : ", not seen yet") : "";
      return `${at} ${does}: ${status}${how}${error ? ` (${withHint(error.message, error.hint)})` : ""}`;
    });
    return {
      data: { ...result, devices, confirmed, before: only?.before ?? null, after: only?.after ?? null },
      text: printable(`The scene is ${result.outcome}; ${result.failed} failed. ${lines.join("; ")}.`),
    };
  },
});

export const tools: readonly Tool[] = [
  listDevices,
  getState,
  waitFor,
  listApps,
  launchApp,
  pressKeys,
  typeText,
  setPower,
  setVolume,
  controlPlayback,
  playMedia,
  getScreenshot,
  discover,
  devInstall,
  devLogs,
  runScene,
];
