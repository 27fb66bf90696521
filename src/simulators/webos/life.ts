import { listenForWake, type WakeListener } from "../wake.ts";
import { setPlayback } from "./actions.ts";
import type { Model } from "./model.ts";
import type { WebosSimulatorOptions } from "./options.ts";
import type { Sockets } from "./sockets.ts";

/** Plugged in and out, switched off and on. The steps never overlap. */
export interface Life {
  readonly wakePort: number;
  start(): Promise<void>;
  stop(): Promise<void>;
  powerOff(): Promise<void>;
  wake(): Promise<void>;
}

/** What a set was logged telling while it went off; nothing came after these (MaxvandeLaar/homey-webos-plus#18). */
const GOING_OFF = ["Request Active Standby", "Request Suspend", "Prepare Suspend"];

export function createLife(model: Model, sockets: Sockets, options: WebosSimulatorOptions): Life {
  const { socketsCloseMs = 4000, portsCloseMs = 10_000, bootMs = 2000 } = options;
  const { standby } = model.behaviour;
  let wakePort = options.wakePort ?? 0;
  let waker: WakeListener | null = null;
  let closing: ReturnType<typeof setTimeout> | undefined;
  let endBoot: () => void = () => {};
  let leaving = 0;
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (step: () => Promise<void>): Promise<void> => {
    const next = last.then(step);
    last = next.catch(() => {});
    return next;
  };

  const start = async () => {
    if (waker !== null) return;
    const { host, mac, wifiMac, network } = model.identity;
    waker = await listenForWake(host, wakePort, network === "wired" ? mac : wifiMac, magicPacket);
    wakePort = waker.port;
    try {
      if (model.power === "on" || standby !== "off") await sockets.appear();
    } catch (error) {
      await stop();
      throw error;
    }
  };
  const stop = async () => {
    const stopping = waker;
    waker = null;
    clearTimeout(closing);
    model.prompt?.end("gone");
    await sockets.vanish();
    await stopping?.stop();
  };

  const powerOff = async () => {
    if (model.power === "standby") return;
    model.prompt?.end("gone");
    setPlayback(model, null);
    const hints = standby === "active-standby" ? GOING_OFF.slice(0, 1) : GOING_OFF;
    for (const hint of hints) {
      model.processing = hint;
      model.feeds.changed("power");
    }
    model.processing = null;
    model.power = "standby";
    model.screen = "on";
    model.emit({ type: "power", power: "standby", text: "power off" });
    model.feeds.changed("app");
    if (standby === "active-standby") return model.feeds.changed("power");
    await moment();
    sockets.fallSilent();
    await sockets.discovery.close();
    // Timed on webOS 6, wired: the sockets close after about 4 s, the port some 10 s later (smart-tvs.md 2.5).
    closing = setTimeout(() => {
      sockets.cut();
      if (standby === "off") closing = setTimeout(() => void inTurn(closePorts), portsCloseMs);
    }, socketsCloseMs);
  };
  const closePorts = async () => {
    if (model.power === "standby") await sockets.vanish();
  };

  const wake = async () => {
    if (model.power === "on") return;
    clearTimeout(closing);
    if (standby !== "active-standby") {
      sockets.cut();
      await boot();
    }
    model.power = "on";
    model.activeSince = Date.now();
    if (waker !== null) await sockets.appear();
    model.emit({ type: "power", power: "on", text: "power on" });
    model.feeds.changed("power");
    model.feeds.changed("app");
  };
  const boot = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, leaving > 0 ? 0 : bootMs);
      endBoot = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const magicPacket = () => {
    if (model.power === "on") return;
    model.emit({ type: "wake", text: "woken by a magic packet" });
    inTurn(wake).catch(() => {});
  };
  model.togglePower = () => {
    inTurn(model.power === "on" ? powerOff : wake).catch(() => {});
  };

  return {
    get wakePort() {
      return wakePort;
    },
    start: () => inTurn(start),
    // Does not wait for a set that is about to start.
    stop: () => {
      leaving += 1;
      endBoot();
      return inTurn(stop).finally(() => {
        leaving -= 1;
      });
    },
    powerOff: () => inTurn(powerOff),
    wake: () => inTurn(wake),
  };
}

/** What is about to be sent goes out first. */
function moment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
