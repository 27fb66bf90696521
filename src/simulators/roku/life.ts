import { listenForWake, type WakeListener } from "../wake.ts";
import { cancelLaunch, forgetRunning } from "./apps.ts";
import type { Model } from "./model.ts";
import { turnOff, turnOn } from "./remote.ts";
import type { Sockets } from "./sockets.ts";

/** Plugged in and out, asleep and awake. The steps never overlap. */
export interface Life {
  readonly wakePort: number;
  start(): Promise<void>;
  stop(): Promise<void>;
  sleep(kind: "standby" | "deep"): Promise<void>;
  wake(): Promise<void>;
}

export function createLife(model: Model, sockets: Sockets, wantedWakePort: number): Life {
  let wakePort = wantedWakePort;
  let waker: WakeListener | null = null;
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (step: () => Promise<void>): Promise<void> => {
    const next = last.then(step);
    last = next.catch(() => {});
    return next;
  };

  const start = async () => {
    if (waker !== null) return;
    const { host, mac } = model.identity;
    waker = await listenForWake(host, wakePort, mac, magicPacket);
    wakePort = waker.port;
    try {
      if (model.power !== "deep") await sockets.appear();
    } catch (error) {
      await stop();
      throw error;
    }
  };
  const stop = async () => {
    const stopping = waker;
    waker = null;
    cancelLaunch(model);
    await sockets.vanish();
    await stopping?.stop();
  };
  const sleep = async (kind: "standby" | "deep") => {
    if (kind === "standby") return turnOff(model);
    forgetRunning(model);
    model.power = "deep";
    model.emit({ type: "power", power: "deep", text: "power off: deep sleep" });
    await sockets.vanish();
  };
  const wake = async () => {
    if (model.power !== "deep") return turnOn(model);
    model.bootedAt = Date.now();
    model.power = "on";
    if (waker !== null) await sockets.appear();
    model.emit({ type: "power", power: "on", text: "power on" });
  };
  const magicPacket = () => {
    if (model.power !== "deep") return;
    model.emit({ type: "wake", text: "woken by a magic packet" });
    inTurn(wake).catch(() => {});
  };

  return {
    get wakePort() {
      return wakePort;
    },
    start: () => inTurn(start),
    stop: () => inTurn(stop),
    sleep: (kind) => inTurn(() => sleep(kind)),
    wake: () => inTurn(wake),
  };
}
