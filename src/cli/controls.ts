/** What a device can do beyond keys: volume, seeking, inputs, channels, messages, pictures, labels. */
import { writeFileSync } from "node:fs";
import { readPicture } from "../api/client.ts";
import { volumeIn } from "../api/client-words.ts";
import { exits, systemCode } from "../api/errors.ts";
import { pressLimits } from "../api/limits.ts";
import { printable } from "../system/printable.ts";
import { apiOf, call, failureOf, sendCommand } from "./client.ts";
import { type Context, stdout } from "./context.ts";
import { CommandError, UsageError } from "./failure.ts";
import { pressKey } from "./keys.ts";
import { table } from "./print.ts";
import { parseDuration } from "./words.ts";

export async function volume(context: Context): Promise<void> {
  const change = volumeIn(context.words[0] ?? "");
  if (!change) throw new UsageError("which volume? For example: zapd volume 20, or +5, or -5");
  await sendCommand(context, "setVolume", change, ({ device, volume, confirmed }) =>
    confirmed === false
      ? `${device.name} accepted the command, but is ${volume?.level == null ? "as it was" : `at ${volume.level}`}`
      : undefined,
  );
}

export async function mute(context: Context): Promise<void> {
  const [word] = context.words;
  if (word === undefined) return pressKey(context, "mute");
  if (word !== "on" && word !== "off") throw new UsageError("on or off? Without a word zapd presses the mute key");
  await sendCommand(context, "setVolume", { muted: word === "on" }, ({ device, volume, confirmed }) =>
    confirmed === false
      ? `${device.name} accepted the command, but is ${volume?.muted ? "muted" : "not muted"}`
      : undefined,
  );
}

export async function seek(context: Context): Promise<void> {
  const [, hours = "0", minutes = "0", seconds] =
    /^(?:(?:(\d{1,2}):)?(\d{1,3}):)?(\d{1,5})$/.exec(context.words[0] ?? "") ?? [];
  if (seconds === undefined)
    throw new UsageError("which position? For example: zapd seek 12:30, or a number of seconds");
  const position_ms = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
  await sendCommand(context, "controlPlayback", { do: "seek", position_ms }, ({ device, playback, confirmed }) =>
    confirmed === false
      ? `${device.name} accepted the command, but ${playback ? "is not there yet" : "is not playing anything"}`
      : undefined,
  );
}

export async function notify(context: Context): Promise<void> {
  const message = context.words.join(" ");
  if (message === "") throw new UsageError("which message?");
  await sendCommand(context, "notify", { message });
}

export async function inputs(context: Context): Promise<void> {
  const called = await call(context, "listInputs", { id: context.device });
  const { device, inputs: all } = called.data;
  if (!context.json && all.length === 0) return context.say(printable(`${device.name} has no inputs`));
  context.printResult(called, () =>
    table(
      [
        { title: "ID", shrinkOrder: 1 },
        { title: "NAME", shrinkOrder: 0 },
      ],
      all.map(({ id, name }) => [id, name]),
      context.width,
    ),
  );
}

export async function input(context: Context): Promise<void> {
  const wanted = context.words.join(" ");
  if (wanted === "") throw new UsageError("which input? zapd inputs lists them");
  const called = await call(context, "selectInput", { id: context.device, body: { input: wanted } });
  const { device, input: chosen, confirmed } = called.data;
  context.reportDone(called, confirmed === false && `${device.name} accepted ${chosen.name}, but does not show it yet`);
}

export async function channels(context: Context): Promise<void> {
  const called = await call(context, "listChannels", { id: context.device });
  const { device, channels: all } = called.data;
  if (!context.json && all.length === 0) return context.say(printable(`${device.name} has no channels`));
  context.printResult(called, () =>
    table(
      [{ title: "NUMBER" }, { title: "NAME", shrinkOrder: 0 }, { title: "ID", shrinkOrder: 1 }],
      all.map(({ id, number, name }) => [number ?? "", name, id]),
      context.width,
    ),
  );
}

export async function channel(context: Context): Promise<void> {
  const wanted = context.words.join(" ");
  if (wanted === "") throw new UsageError("which channel? zapd channels lists them");
  const called = await call(context, "selectChannel", { id: context.device, body: { channel: wanted } });
  const { device, channel: chosen, confirmed } = called.data;
  context.reportDone(called, confirmed === false && `${device.name} accepted ${chosen.name}, but does not show it yet`);
}

export async function screenshot(context: Context): Promise<void> {
  await save(context, "getScreenshot", {});
}

export async function icon(context: Context): Promise<void> {
  const [app] = context.words;
  if (!app) throw new UsageError("which app? Give its id, as zapd apps shows it");
  await save(context, "getIcon", { app });
}

/** Writes a picture to the file of `-o`, or to stdout for `-o -`. */
async function save(context: Context, name: "getScreenshot" | "getIcon", given: { app?: string }): Promise<void> {
  const file = context.option("output");
  if (!file) throw new UsageError("which file? Give it with -o FILE");
  const isForStdout = file === "-";
  if (isForStdout && context.json)
    throw new UsageError(
      "the picture and the output of --json would both go to stdout: write the picture to a file with -o FILE",
    );
  const request = { id: context.device, ...given, signal: context.deadline() };
  const picture = await readPicture(apiOf(context), name, request).catch(async (error: unknown) => {
    throw await failureOf(error, context, name);
  });
  const bytes = Buffer.from(await picture.arrayBuffer());
  if (isForStdout) {
    stdout().write(bytes);
    return;
  }
  try {
    writeFileSync(file, bytes);
  } catch (error) {
    throw new CommandError(`${file} could not be written (${systemCode(error)})`, exits.failed);
  }
  if (context.json)
    context.print(JSON.stringify({ ok: true, data: { file, type: picture.type, bytes: picture.size } }));
}

const defaultHoldMs = 1_000;

export async function hold(context: Context): Promise<void> {
  const [key, time] = context.words;
  if (key === undefined) throw new UsageError("which key?");
  const hold_ms = time === undefined ? defaultHoldMs : parseDuration("TIME", time);
  if (hold_ms > pressLimits.holdMs) throw new UsageError("a key can be held for 10s at most");
  await pressKey(context, key, { hold_ms });
}

export async function label(context: Context): Promise<void> {
  const [id, verb, ...labels] = context.words;
  if (id === undefined || (verb !== "add" && verb !== "remove") || labels.length === 0)
    throw new UsageError("which label? For example: zapd label Den add bar");
  const { id: deviceId, labels: before = [] } = (await call(context, "getDevice", { id })).data;
  const others = before.filter((one) => !labels.includes(one));
  const called = await call(context, "changeDevice", {
    id: deviceId,
    body: { labels: verb === "add" ? [...others, ...labels] : others },
  });
  const { name, labels: now = [] } = called.data;
  context.reportDone(called, now.length === 0 ? `${name} has no labels` : `${name}: ${now.join(", ")}`);
}
