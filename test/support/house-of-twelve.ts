/** Twelve devices, most of which speak more than one protocol. */
import { createAndroidTvSimulator } from "../../src/simulators/androidtv.ts";
import { createCastSimulator } from "../../src/simulators/cast.ts";
import { createDlnaSimulator, type DlnaSimulatorOptions } from "../../src/simulators/dlna.ts";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { createSamsungSimulator } from "../../src/simulators/samsung.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";

interface Set {
  readonly host: string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** One device: its name, and its protocols, the leading one first. */
export interface Resident {
  readonly name: string;
  readonly parts: readonly { readonly platform: string; readonly set: Set }[];
}

const at = (number: number) => `127.0.64.${number}`;
const machine = at(4);
const speaker = at(9);

function renderer(host: string, name: string, options: Partial<DlnaSimulatorOptions> = {}) {
  return { platform: "dlna", set: createDlnaSimulator({ name, host, stack: "tv", ...options }) };
}

function roku(host: string, name: string) {
  return {
    platform: "roku",
    set: createRokuSimulator({ name, host, serial: `X0HOUSE0${host.slice(-3)}`, launchMs: 0 }),
  };
}

/** Two of them run on one machine, and share its MAC address. */
function kodi(name: string, uuid: string, port: number) {
  const options = { host: machine, mac: "02:00:5e:00:64:04", port, tcpPort: port + 1_010, mdns: true, startMs: 5 };
  return { platform: "kodi", set: createKodiSimulator({ name, uuid, ...options }) };
}

const quickLg = { socketsCloseMs: 60, portsCloseMs: 60, bootMs: 20, promptMs: 5 };
const lg = (host: string, name: string) => ({
  platform: "webos",
  set: createWebosSimulator({ name, host, ...quickLg }),
});
const cast = (host: string, name: string, more: object = {}) => ({
  platform: "cast",
  set: createCastSimulator({ name, host, bufferMs: 5, ...more }),
});

const remote = (host: string, name: string) => ({
  platform: "androidtv",
  set: createAndroidTvSimulator({ name, host, model: "BRAVIA 4K" }),
});

/** The sets, not started. The Samsung has its own renderer, or one that can be stopped apart from it. */
export function houseOfTwelve(samsungs: "own" | "apart"): readonly Resident[] {
  const group = { model: "Google Cast Group", capabilities: 36, standBy: null, port: 32_187 };
  return [
    { name: "Bedroom", parts: [roku(at(1), "Bedroom")] },
    { name: "Kitchen", parts: [roku(at(2), "Kitchen")] },
    { name: "Kids", parts: [roku(at(3), "Kids")] },
    {
      name: "Wall",
      parts: [
        kodi("Wall", "5f0c7f0e-5a35-4c31-9d53-1f6f2a8e7d64", 8_080),
        renderer(machine, "Kodi (den)", { stack: "kodi", uuid: "5f0c7f0e-0000-4000-8000-000000000001", page: 8_080 }),
      ],
    },
    {
      name: "Desk",
      parts: [
        kodi("Desk", "0a1b2c3d-0000-4000-8000-00000000b164", 8_090),
        renderer(machine, "Kodi (den)", { stack: "kodi", uuid: "5f0c7f0e-0000-4000-8000-000000000002", page: 8_090 }),
      ],
    },
    { name: "Salon", parts: [lg(at(5), "Salon"), renderer(at(5), "[LG] webOS TV OLED55C1", { model: "LG TV" })] },
    { name: "Studio", parts: [lg(at(6), "Studio"), renderer(at(6), "Studio")] },
    { name: "Living Room", parts: samsung(samsungs) },
    {
      name: "Attic",
      parts: [remote(at(8), "Attic"), cast(at(8), "Attic", { model: "BRAVIA 4K" }), renderer(at(8), "KD-55X80J")],
    },
    { name: "Kitchen speaker", parts: [cast(speaker, "Kitchen speaker", { model: "Google Nest Mini" })] },
    { name: "Everywhere", parts: [cast(speaker, "Everywhere", { ...group, reportsId: null })] },
    { name: "Cellar", parts: [renderer(at(10), "Cellar", { stack: "gmediarender" })] },
  ];
}

function samsung(renderers: "own" | "apart"): Resident["parts"] {
  const [name, host] = ["Living Room", at(7)];
  const rendererPort = renderers === "own" ? {} : { rendererPort: null };
  const set = createSamsungSimulator({ name, host, promptMs: 50, bootMs: 20, ...rendererPort });
  const own = { platform: "samsung", set };
  return renderers === "own" ? [own] : [own, renderer(host, `[TV] ${name}`, { manufacturer: "Samsung Electronics" })];
}

/** The platforms of a device, the leading one first: a Samsung's own renderer is a part of its simulator. */
export function platformsOf({ parts }: Resident): readonly string[] {
  const all = parts.map(({ platform }) => platform);
  return all.includes("samsung") ? ["samsung", "dlna"] : all;
}
