/** The keys of a Kodi (players.md 9); the effect of a key is read back where Kodi shows it. */
import { hasReason, ZapdError } from "../../api/errors.ts";
import { inParts, unlessSlept } from "../../system/clock.ts";
import { until } from "../../system/sleep.ts";
import { isJson, type Json } from "../../transport/json.ts";
import { type Key, noEffect, type PlaybackCommand } from "../platform.ts";
import { goHome, stopPlayers } from "./apps.ts";
import type { KodiDevice } from "./device.ts";
import { isScreenSaverOn, readPlayer } from "./state.ts";
import { hasTuner, tunerHint } from "./tuner.ts";

type Press = (device: KodiDevice, signal: AbortSignal) => Promise<unknown>;

const send =
  (method: string, params: Json = {}): Press =>
  (device, signal) =>
    device.command(method, params, signal);

/** A key that may close the open keyboard. */
const closesKeyboard =
  (method: string): Press =>
  (device, signal) => {
    device.field.forget();
    return device.command(method, {}, signal);
  };

/** The id of the active player. It is not fixed by type: videos of plug-ins play as player 0. */
export async function activePlayer(device: KodiDevice, signal: AbortSignal): Promise<number> {
  const [playerid] = await unlessSlept(device.players(signal));
  if (playerid !== undefined) return playerid;
  throw new ZapdError("device_refused", "is not playing anything", {
    hint: "Start something first: zapd launch APP -d {device}",
  });
}

const toPlayer =
  (method: string, params: Json): Press =>
  async (device, signal) =>
    device.command(method, { playerid: await activePlayer(device, signal), ...params }, signal);

/** `Player.PlayPause` with a value, as `ExecuteAction pause` toggles (7.3). */
const setPlaying =
  (play: boolean | "toggle"): Press =>
  async (device, signal) => {
    const result = await toPlayer("Player.PlayPause", { play })(device, signal);
    const speed = isJson(result) ? result["speed"] : undefined;
    if (play === "toggle" || typeof speed !== "number" || (speed !== 0) === play) return;
    // The answer may hold the speed from before.
    const isSet = async () => (((await readPlayer(device, signal))?.speed ?? 0) !== 0) === play;
    if (!(await until(isSet, { timeoutMs: 2_000, signal })))
      throw noEffect(`accepted the key, but ${play ? "does not play" : "continues to play"}`);
  };

/** Kodi answers OK to channel keys without a tuner as well (9). */
const changeChannel =
  (action: string): Press =>
  async (device, signal) => {
    if ((await unlessSlept(readPlayer(device, signal)))?.live !== true) {
      await refuseWithoutTuner(device, signal);
      throw new ZapdError("device_refused", "is not showing a channel", {
        hint: "Open one first: zapd key input-tuner -d {device}",
      });
    }
    return device.command("Input.ExecuteAction", { action }, signal);
  };

async function refuseWithoutTuner(device: KodiDevice, signal: AbortSignal): Promise<void> {
  if (!(await unlessSlept(hasTuner(device, signal))))
    throw new ZapdError("unsupported_key", "has no tuner", { hint: tunerHint });
}

const openTuner: Press = async (device, signal) => {
  await refuseWithoutTuner(device, signal);
  const open = () => device.command("Input.ExecuteAction", { action: "playpvrtv" }, signal);
  const coversScreen = await unlessSlept(isScreenSaverOn(device, signal));
  await inParts(async (next) => {
    if (coversScreen) {
      await open();
      next();
    }
    await open();
  });
  const isLive = async () => (await readPlayer(device, signal))?.live === true;
  if (!(await until(isLive, { timeoutMs: 6_000, signal })))
    throw noEffect("accepted the key, but does not show a channel");
};

const powerOffMethods = [
  ["canshutdown", "System.Shutdown"],
  ["cansuspend", "System.Suspend"],
  ["canhibernate", "System.Hibernate"],
] as const;

/** Turns off the machine that Kodi runs on, by the first method that its system allows. */
export async function turnOff(device: KodiDevice, signal: AbortSignal): Promise<void> {
  const properties = powerOffMethods.map(([name]) => name);
  const can = await unlessSlept(device.read("System.GetProperties", { properties }, signal));
  const allowed = powerOffMethods.find(([name]) => can[name] === true);
  if (!allowed)
    throw new ZapdError("device_refused", "is not allowed to turn off the machine that it runs on", {
      hint: "Allow it in the operating system, on Linux with polkit or systemd-logind. zapd does not quit Kodi alone, because nothing could start it again",
    });
  await device.command(allowed[1], {}, signal).catch((error: unknown) => {
    // The machine may be off before Kodi has answered.
    if (!hasReason(error, "closed") || error.phase === "connect") throw error;
  });
  device.startShutdown(true);
}

export const kodiKeys: Readonly<Partial<Record<Key, Press>>> = {
  home: goHome,
  back: closesKeyboard("Input.Back"),
  up: send("Input.Up"),
  down: send("Input.Down"),
  left: send("Input.Left"),
  right: send("Input.Right"),
  select: closesKeyboard("Input.Select"),
  play: setPlaying(true),
  pause: setPlaying(false),
  "play-pause": setPlaying("toggle"),
  stop: stopPlayers,
  rewind: toPlayer("Player.SetSpeed", { speed: "decrement" }),
  "fast-forward": toPlayer("Player.SetSpeed", { speed: "increment" }),
  replay: toPlayer("Player.Seek", { value: { seconds: -10 } }),
  skip: toPlayer("Player.Seek", { value: { seconds: 10 } }),
  "volume-up": send("Application.SetVolume", { volume: "increment" }),
  "volume-down": send("Application.SetVolume", { volume: "decrement" }),
  mute: send("Application.SetMute", { mute: "toggle" }),
  "channel-up": changeChannel("channelup"),
  "channel-down": changeChannel("channeldown"),
  "input-tuner": openTuner,
  info: send("Input.Info"),
  options: send("Input.ContextMenu"),
};

export const playerCommands: Readonly<Record<PlaybackCommand, Press>> = {
  play: setPlaying(true),
  pause: setPlaying(false),
  stop: stopPlayers,
  next: toPlayer("Player.GoTo", { to: "next" }),
  previous: toPlayer("Player.GoTo", { to: "previous" }),
};
