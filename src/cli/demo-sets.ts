/** The sets of the demo, one of each kind and each platform. */
import net from "node:net";
import type { Ports } from "../platforms/platform.ts";
import { createKodiSimulator } from "../simulators/kodi.ts";
import { createRokuSimulator, type RokuSimulatorOptions } from "../simulators/roku.ts";
import { createWebosSimulator } from "../simulators/webos.ts";

/** The developer password of the set that has one. */
export const password = "rokudev";

/** A simulated set that runs. */
export interface DemoSet {
  readonly name: string;
  /** What the table says of it. */
  readonly model: string;
  readonly access: string;
  /** As the registry knows it. */
  readonly identity: string;
  /** Those that are not the usual ones, by the platform's words for them. */
  readonly ports: Ports;
  stop(): Promise<void>;
}

/** Starts a set at an address of its own, and tells what it does. */
type Starter = (own: string, tell: (name: string, text: string) => void) => Promise<DemoSet>;

const roku =
  (options: RokuSimulatorOptions, model: string, access: string): Starter =>
  async (own, tell) => {
    const { name } = options;
    const { host, port } = await placeAt(own, 8060);
    const simulator = createRokuSimulator({ ...options, host, port, onEvent: ({ text }) => tell(name, text) });
    await simulator.start();
    const known = Object.entries(simulator.ports).filter((pair): pair is [string, number] => pair[1] !== null);
    const ports = Object.fromEntries(known);
    return { name, model, access, identity: simulator.serial, ports, stop: () => simulator.stop() };
  };

const kodi: Starter = async (own, tell) => {
  const name = "Cinema";
  const { host, port } = await placeAt(own, 8080);
  const tcp = await placeAt(own, 9090);
  const simulator = createKodiSimulator({
    ...{ name, host, port, tcpPort: tcp.host === host ? tcp.port : 0, mdns: true },
    onEvent: ({ text }) => tell(name, text),
  });
  await simulator.start();
  const ports = { websocket: simulator.ports.tcp ?? 0, wake: simulator.ports.wake };
  return { name, model: "Kodi", access: "full access", identity: simulator.uuid, ports, stop: () => simulator.stop() };
};

const webos: Starter = async (own, tell) => {
  const name = "Kitchen";
  const { host, port } = await placeAt(own, 3001);
  const plain = await placeAt(own, 3000);
  const simulator = createWebosSimulator({
    ...{ name, host, securePort: port, plainPort: plain.host === host ? plain.port : 0, promptMs: 2_000 },
    onEvent: ({ text }) => tell(name, text),
  });
  await simulator.start();
  const ports = { plain: simulator.ports.plain ?? 0, wake: simulator.ports.wake };
  const access = "to be paired";
  return { name, model: "LG TV", access, identity: simulator.uuid, ports, stop: () => simulator.stop() };
};

export const starters: readonly Starter[] = [
  roku({ name: "Living Room", kind: "tv", screenSize: "43" }, 'Roku TV, 43"', "full access"),
  roku(
    { name: "Bedroom", kind: "stick", access: "limited" },
    "streaming stick",
    "limited (keys refused, as new firmware does)",
  ),
  roku({ name: "Workbench", kind: "tv", developer: { password } }, "developer set", `password "${password}"`),
  kodi,
  webos,
];

/** Each set has an address of its own where the system gives loopback more than one, as Linux does. */
async function placeAt(own: string, usual: number): Promise<{ host: string; port: number }> {
  const host = (await canBind(own, 0)) ? own : "127.0.0.1";
  return { host, port: host === own && (await canBind(own, usual)) ? usual : 0 };
}

function canBind(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.on("error", () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}
