/** The simulated sets of the demo, each with its row in the table that the demo prints. */
import http from "node:http";
import net from "node:net";
import { createDlnaSimulator } from "./dlna.ts";
import { createGoogleTvSimulator } from "./google-tv.ts";
import { createKodiSimulator } from "./kodi.ts";
import { createRokuSimulator, type RokuSimulatorOptions } from "./roku.ts";
import { createSamsungSimulator } from "./samsung.ts";
import { createWebosSimulator } from "./webos.ts";

/** The developer password of the set that has one. */
export const developerPassword = "rokudev";

/** The password of the Kodi's web server; its user is `kodi`. */
const kodiPassword = "popcorn";

/** A simulated set: its row in the table, and how it is made. */
export interface DemoSet {
  readonly name: string;
  readonly model: string;
  readonly access: string;
  make(basics: Basics, portAt: (usual: number) => Promise<number>): Promise<StartedSet>;
}

/** What every simulator takes. */
interface Basics {
  readonly name: string;
  readonly host: string;
  onEvent(event: { readonly text: string; readonly url?: string }): void;
}

export interface StartedSet {
  readonly simulator: { start(): Promise<unknown>; stop(): Promise<void> };
  /** Its entries in the registry, each with the ports that may not be the standard ones, by the platform's names for them. */
  readonly parts: readonly { readonly identity: string; ports(): Readonly<Record<string, number>> }[];
}

const roku =
  (options: Omit<RokuSimulatorOptions, "name">): DemoSet["make"] =>
  async (basics, portAt) => {
    const simulator = createRokuSimulator({ ...options, ...basics, port: await portAt(8060) });
    const open = () => Object.entries(simulator.ports).filter((pair): pair is [string, number] => pair[1] !== null);
    return { simulator, parts: [{ identity: simulator.serial, ports: () => Object.fromEntries(open()) }] };
  };

const kodi: DemoSet["make"] = async (basics, portAt) => {
  const [port, tcpPort] = [await portAt(8080), await portAt(9090)];
  const channels = ["News", "Films", "Nature"].map((called, at) => ({ id: at + 1, number: at + 1, name: called }));
  const screenshots = { folder: "/home/kodi/screenshots/" };
  const simulator = createKodiSimulator({
    ...basics,
    port,
    tcpPort,
    mdns: true,
    channels,
    screenshots,
    password: kodiPassword,
  });
  const ports = () => ({ websocket: simulator.ports.tcp ?? 0, wake: simulator.ports.wake });
  return { simulator, parts: [{ identity: simulator.uuid, ports }] };
};

const webos: DemoSet["make"] = async (basics, portAt) => {
  const [securePort, plainPort] = [await portAt(3001), await portAt(3000)];
  const simulator = createWebosSimulator({ ...basics, securePort, plainPort, promptMs: 2_000 });
  const ports = () => ({ plain: simulator.ports.plain ?? 0, wake: simulator.ports.wake });
  return { simulator, parts: [{ identity: simulator.uuid, ports }] };
};

const samsung: DemoSet["make"] = async (basics, portAt) => {
  const [securePort, plainPort, rendererPort] = [await portAt(8002), await portAt(8001), await portAt(9197)];
  const simulator = createSamsungSimulator({ ...basics, securePort, plainPort, rendererPort, promptMs: 2_000 });
  const ports = () => ({ renderer: simulator.ports.renderer ?? 0, wake: simulator.ports.wake });
  return { simulator, parts: [{ identity: simulator.duid, ports }] };
};

/** One box with two protocols: a remote, and cast. */
const googleTv: DemoSet["make"] = async (basics, portAt) => {
  const remote = { remotePort: await portAt(6466), pairingPort: await portAt(6467) };
  const simulator = createGoogleTvSimulator({ ...basics, remote, cast: { port: await portAt(8009) } });
  const ports = () => ({ pairing: simulator.remote.ports.pairing, wake: simulator.remote.ports.wake });
  return {
    simulator,
    parts: [
      { identity: simulator.remote.bluetooth, ports },
      { identity: simulator.cast.id, ports: () => ({}) },
    ],
  };
};

const speaker = { stack: "tv", manufacturer: "Lumora", model: "Speaker S2" } as const;
const renderer: DemoSet["make"] = async (basics, portAt) => {
  const simulator = createDlnaSimulator({ ...basics, port: await portAt(49_152), ...speaker });
  return { simulator, parts: [{ identity: simulator.uuid, ports: () => ({}) }] };
};

const full = "full access";
const limited = "limited (keys refused, as new firmware does)";
export const sets: readonly DemoSet[] = [
  { name: "Living Room", model: 'Roku TV, 43"', access: full, make: roku({ kind: "tv", screenSize: "43" }) },
  { name: "Bedroom", model: "streaming stick", access: limited, make: roku({ kind: "stick", access: "limited" }) },
  {
    name: "Workbench",
    model: "developer set",
    access: `password "${developerPassword}"`,
    make: roku({ kind: "tv", developer: { password: developerPassword } }),
  },
  { name: "Cinema", model: "Kodi", access: `login "kodi", password "${kodiPassword}"`, make: kodi },
  { name: "Kitchen", model: "LG TV", access: "to be paired", make: webos },
  { name: "Office", model: "Samsung TV", access: "to be paired", make: samsung },
  { name: "Attic", model: "Google TV", access: "to be paired, by a code that it shows", make: googleTv },
  { name: "Terrace", model: "DLNA speaker", access: full, make: renderer },
];

/**
 * Starts a set at a loopback address of its own, `own`, where the system has more than one, as Linux does. `tell`: called with each
 * thing that is done to it.
 */
export async function startSet(
  { name, make }: DemoSet,
  own: string,
  tell: (text: string) => void,
): Promise<StartedSet> {
  const host = (await canBind(own, 0)) ? own : "127.0.0.1";
  const onEvent: Basics["onEvent"] = ({ text, url }) => {
    tell(`${name.padEnd(12)} ${text}`);
    if (url !== undefined) requestMedia(url, host);
  };
  const portAt = async (usual: number) => (host === own && (await canBind(own, usual)) ? usual : 0);
  const set = await make({ name, host, onEvent }, portAt);
  await set.simulator.start();
  return set;
}

/**
 * Requests media as a player does, from the address of the set, but only from this machine, so no name is looked up: a public one
 * may begin with 127. What is served is not used.
 */
function requestMedia(url: string, host: string): void {
  const { protocol, hostname = "" } = URL.parse(url) ?? {};
  if (protocol !== "http:" || !net.isIPv4(hostname) || !hostname.startsWith("127.")) return;
  const request = http.get(url, { localAddress: host, agent: false, timeout: 10_000 }, (response) => response.resume());
  request.on("timeout", () => request.destroy());
  // A set that cannot read the media shows nothing of it here.
  request.on("error", () => {});
}

function canBind(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.on("error", () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}
