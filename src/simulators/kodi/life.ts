import { listenForWake, type WakeListener } from "../wake.ts";
import { forget, type Model } from "./model.ts";
import type { Power } from "./options.ts";
import { stop as stopPlayback } from "./playback.ts";
import type { Sockets } from "./sockets.ts";

/** Started and ended, asleep and awake. The steps never overlap. */
export interface Life {
  readonly wakePort: number;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The machine sleeps, or the program has ended. */
  leave(power: Exclude<Power, "on">, how: "told" | "crash"): Promise<void>;
  /** The machine wakes, or somebody starts the program again. */
  wake(): Promise<void>;
}

/** Time for an answer to go out before its sockets close. */
const LAST_WORDS_MS = 30;

export function createLife(model: Model, sockets: Sockets, wantedWakePort: number): Life {
  let wakePort = wantedWakePort;
  let waker: WakeListener | null = null;
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (step: () => Promise<void>): Promise<void> => {
    const next = last.then(step);
    last = next.catch(() => {});
    return next;
  };
  const silent = () => model.power === "asleep" && model.identity.asleep === "silent";

  const start = async () => {
    if (waker !== null) return;
    const { host, mac } = model.identity;
    waker = await listenForWake(host, wakePort, mac, magicPacket);
    wakePort = waker.port;
    try {
      if (model.power === "on") await sockets.appear();
    } catch (error) {
      await stop();
      throw error;
    }
  };
  const stop = async () => {
    const stopping = waker;
    waker = null;
    stopPlayback(model, false);
    await sockets.vanish();
    await stopping?.stop();
  };
  const leave = async (power: Exclude<Power, "on">, how: "told" | "crash") => {
    if (model.power !== "on") return;
    if (how === "told") {
      await new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS));
      if (power === "ended") sockets.sayGoodbye();
    }
    model.power = power;
    stopPlayback(model, false);
    model.emit({ type: "power", power, text: power === "asleep" ? "asleep" : "ended" });
    if (silent()) await sockets.hide();
    else await sockets.vanish();
  };
  const wake = async () => {
    if (model.power === "on") return;
    // What was open before a silent sleep is gone: no end of it was ever said.
    if (silent()) await sockets.vanish();
    if (model.power === "ended") forget(model);
    model.power = "on";
    if (waker !== null) await sockets.appear();
    model.emit({ type: "power", power: "on", text: "on" });
    model.notify("System.OnWake", null);
  };
  const magicPacket = () => {
    if (model.power !== "asleep") return;
    model.emit({ type: "wake", text: "woken by a magic packet" });
    inTurn(wake).catch(() => {});
  };
  model.leave = (power, how) => {
    inTurn(() => leave(power, how)).catch(() => {});
  };

  return {
    get wakePort() {
      return wakePort;
    },
    start: () => inTurn(start),
    stop: () => inTurn(stop),
    leave: (power, how) => inTurn(() => leave(power, how)),
    wake: () => inTurn(wake),
  };
}
