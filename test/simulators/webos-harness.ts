import { afterEach } from "bun:test";
import { randomUUID } from "node:crypto";
import { createWebosSimulator, type WebosSimulator, type WebosSimulatorOptions } from "../../src/simulators/webos.ts";
import { openClient, type RawClient } from "./webos-client.ts";

const running: WebosSimulator[] = [];
const clients: RawClient[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.terminate();
  await Promise.all(running.splice(0).map((simulator) => simulator.stop()));
});

/** A running set, stopped after the test, quick in all it does. It stays out of searches unless the test is about them. */
export async function plugIn(options: Partial<WebosSimulatorOptions> = {}): Promise<WebosSimulator> {
  const quick = { promptMs: 5, socketsCloseMs: 60, portsCloseMs: 60, bootMs: 20, channelMs: 0 };
  const ports = { securePort: 0, plainPort: 0, ssdp: false };
  const simulator = createWebosSimulator({ name: "Test Room", uuid: randomUUID(), ...quick, ...ports, ...options });
  running.push(simulator);
  await simulator.start();
  return simulator;
}

/** A connection that is open, and has said nothing yet. */
export async function connect(simulator: WebosSimulator, port: "secure" | "plain" = "secure"): Promise<RawClient> {
  const client = await openClient(urlOf(simulator, port));
  clients.push(client);
  return client;
}

export function urlOf({ host, ports }: WebosSimulator, port: "secure" | "plain" = "secure"): string {
  return port === "secure" ? `wss://${host}:${ports.secure}/` : `ws://${host}:${ports.plain}/`;
}

/** A connection that has registered with the permissions given, or with all that an unsigned manifest may ask for. */
export async function paired(simulator: WebosSimulator, permissions: readonly string[] = EVERYTHING) {
  const client = await connect(simulator, simulator.ports.secure === null ? "plain" : "secure");
  client.send({ id: "register_0", type: "register", payload: manifest(permissions) });
  await client.next((message) => message["type"] === "registered");
  return client;
}

export function manifest(permissions: readonly string[] = EVERYTHING) {
  return {
    forcePairing: false,
    pairingType: "PROMPT",
    manifest: { manifestVersion: 1, appVersion: "1.1", permissions },
  };
}

/** The outer list of smart-tvs.md 2.3. */
export const EVERYTHING: readonly string[] = [
  ...["LAUNCH", "LAUNCH_WEBAPP", "APP_TO_APP", "CLOSE", "CONTROL_AUDIO", "CONTROL_DISPLAY", "CONTROL_POWER"],
  ...["CONTROL_TV_SCREEN", "CONTROL_INPUT_TV", "CONTROL_INPUT_MEDIA_PLAYBACK", "CONTROL_INPUT_JOYSTICK"],
  ...["CONTROL_INPUT_TEXT", "CONTROL_MOUSE_AND_KEYBOARD", "READ_INSTALLED_APPS", "READ_RUNNING_APPS"],
  ...["READ_APP_STATUS", "READ_INPUT_DEVICE_LIST", "READ_NETWORK_STATE", "READ_POWER_STATE", "READ_CURRENT_CHANNEL"],
  ...["READ_TV_CHANNEL_LIST", "READ_SETTINGS", "READ_COUNTRY_INFO", "WRITE_NOTIFICATION_TOAST"],
];

/** Waits for what must come true, at most five seconds. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 5000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waited 5 s in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
