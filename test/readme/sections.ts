/** The parts of pages that are made from the code. `npm run pages` writes them; tables.test.ts holds the pages to them. */

import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { groups } from "../../src/cli/commands.ts";
import { exitTable } from "../../src/cli/help.ts";
import { withImplied } from "../../src/devices/record.ts";
import { androidtv } from "../../src/platforms/androidtv/adapter.ts";
import { cast } from "../../src/platforms/cast/adapter.ts";
import { dlna } from "../../src/platforms/dlna/adapter.ts";
import { kodi } from "../../src/platforms/kodi/adapter.ts";
import {
  capabilities,
  type Description,
  type Facts,
  type Key,
  keys,
  type Platform,
} from "../../src/platforms/platform.ts";
import { roku } from "../../src/platforms/roku/adapter.ts";
import { samsung } from "../../src/platforms/samsung/adapter.ts";
import { webos } from "../../src/platforms/webos/adapter.ts";
import { proofs, targets, threats } from "../security/promises.ts";
import { root, sourcesIn } from "../support/sources.ts";

export interface Section {
  /** The page, from the top of the project. */
  readonly page: string;
  /** It stands between `<!-- name -->` and `<!-- /name -->`. */
  readonly name: string;
  text(): string;
}

/** A device as a page speaks of it, by what is known of it. */
interface Example {
  readonly title: string;
  readonly facts: Partial<Facts>;
  readonly memory?: object;
  /** It differs from another by its settings alone: its keys are the same. */
  readonly sameKeys?: true;
}

const mac = ["02:00:00:00:00:01"];
const sound = { volume: true, power: true, developer: false };
const television = { ...sound, inputs: true };

const service = { type: "urn:schemas-upnp-org:service:AVTransport:1", control: "/control", events: "/events" };
const renderer = {
  path: "/description.xml",
  transport: service,
  rendering: service,
  seeks: true,
  mutes: true,
  actions: ["Play", "Pause", "Stop"],
  volume: { min: 0, max: 100, step: 1 },
};
const newSamsung = { year: 2021, token: true, saysPower: true, frame: false, renderer: true };
const oldSamsung = { year: 2016, token: false, saysPower: false, frame: false, renderer: true };

const examples: readonly { readonly platform: Platform; readonly devices: readonly Example[] }[] = [
  {
    platform: roku,
    devices: [
      { title: "TV", facts: { kind: "tv" }, memory: television },
      { title: "soundbar", facts: { kind: "soundbar" }, memory: sound },
      { title: "player", facts: { kind: "player" }, memory: { developer: false } },
      { title: "any, developer mode", facts: {}, memory: { ...television, developer: true }, sameKeys: true },
      { title: "any, Limited", facts: { access: "limited" }, memory: television, sameKeys: true },
      { title: "any, Disabled", facts: { access: "disabled" }, memory: television, sameKeys: true },
    ],
  },
  {
    platform: kodi,
    devices: [
      { title: "Kodi", facts: { kind: "player", access: "full" } },
      { title: "its hardware address known", facts: { kind: "player", access: "full", macs: mac } },
      {
        title: "a tuner, and its screenshots in a source",
        facts: { kind: "player", access: "full" },
        memory: { screenshots: true, tuner: true },
        sameKeys: true,
      },
      {
        title: "no web server",
        facts: { kind: "player", access: "full" },
        memory: { socketOnly: 9_090 },
        sameKeys: true,
      },
      { title: "asks for a password, not paired", facts: { access: "unpaired", macs: mac }, sameKeys: true },
    ],
  },
  {
    platform: webos,
    devices: [
      { title: "paired", facts: { kind: "tv", access: "full" } },
      { title: "paired, its hardware address known", facts: { kind: "tv", access: "full", macs: mac } },
      { title: "not paired", facts: { kind: "tv", access: "unpaired", macs: mac }, sameKeys: true },
    ],
  },
  {
    platform: dlna,
    devices: [
      { title: "renderer", facts: { kind: "player" }, memory: renderer },
      { title: "without a volume", facts: { kind: "player" }, memory: { ...renderer, volume: null } },
    ],
  },
  {
    platform: samsung,
    devices: [
      { title: "2019 and newer, paired", facts: { kind: "tv", access: "full" }, memory: newSamsung },
      { title: "2018, paired", facts: { kind: "tv", access: "full" }, memory: { ...newSamsung, year: 2018 } },
      { title: "2016 and 2017", facts: { kind: "tv", access: "full", macs: mac }, memory: oldSamsung },
      {
        title: "without a renderer",
        facts: { access: "full" },
        memory: { ...newSamsung, renderer: false },
        sameKeys: true,
      },
      { title: "not paired", facts: { kind: "tv", access: "unpaired" }, memory: newSamsung, sameKeys: true },
    ],
  },
  {
    platform: androidtv,
    devices: [
      { title: "paired", facts: { access: "full" } },
      { title: "paired, a box", facts: { access: "full", model: "Google TV Streamer" } },
      {
        title: "paired, a box that reports no volume",
        facts: { access: "full", model: "Chromecast HD" },
        memory: { volume: false },
      },
      { title: "not paired", facts: { access: "unpaired" }, sameKeys: true },
    ],
  },
  {
    platform: cast,
    devices: [
      { title: "Cast device, or a group", facts: { kind: "player" } },
      { title: "its volume is fixed", facts: { kind: "player" }, memory: { volume: "fixed" } },
    ],
  },
];

function describe(platform: Platform, { facts, memory = {} }: Example): Description {
  const nothing = { name: null, manufacturer: null, model: null, serial: null, softwareVersion: null, macs: [] };
  const known = { ...nothing, kind: "tv", access: "full", ...facts } as const;
  return withImplied(platform.describe(known, memory, facts.access !== "unpaired"));
}

export function table(rows: readonly (readonly string[])[]): string {
  const [head = [], ...rest] = rows;
  return [head, head.map(() => "---"), ...rest].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function capabilitiesOf(platform: Platform, devices: readonly Example[]): string {
  const described = devices.map((device) => describe(platform, device));
  const rows = capabilities.map((one) => [
    `\`${one}\``,
    ...described.map(({ has, withheld }) => (has.has(one) ? (withheld.has(one) ? "withheld" : "yes") : "–")),
  ]);
  return table([["", ...devices.map(({ title }) => title)], ...rows]);
}

function keysOf(platform: Platform, devices: readonly Example[]): string {
  const judged = devices.filter(({ sameKeys }) => sameKeys !== true);
  const described = judged.map((device) => describe(platform, device));
  const rows = new Map<string, Key[]>();
  for (const key of keys) {
    const having = judged.filter((_, at) => described[at]?.keys.has(key)).map(({ title }) => title);
    const who = having.length === judged.length ? "all" : having.length === 0 ? "none" : having.join(", ");
    rows.set(who, [...(rows.get(who) ?? []), key]);
  }
  const order = (who: string) => (who === "all" ? 0 : who === "none" ? 2 : 1);
  const sorted = [...rows].sort(([one], [other]) => order(one) - order(other));
  return table([["has them", "keys"], ...sorted.map(([who, had]) => [who, had.map((key) => `\`${key}\``).join(" ")])]);
}

function promisesOf(promises: Readonly<Record<string, string>>): string {
  const named = proofs();
  const tests = (id: string) =>
    (named.get(id) ?? ["–"]).map((file) => (file === "–" ? file : `\`${file}\``)).join("<br>");
  return table([
    ["", "what is tried, and what must hold", "proofs"],
    ...Object.entries(promises).map(([id, what]) => [id, what, tests(id)]),
  ]);
}

const ofPlatforms: readonly Section[] = examples.flatMap(({ platform, devices }) => {
  const page = `src/platforms/${platform.name}/README.md`;
  return [
    { page, name: "capabilities", text: () => capabilitiesOf(platform, devices) },
    { page, name: "keys", text: () => keysOf(platform, devices) },
  ];
});

/** The rooms of the house from the bottom to the top, and what is in each. */
const rooms: Readonly<Record<string, string>> = {
  system: "log, files, clock, who owns what, version: knows nothing of televisions",
  runtime: "listening, under Bun and under Deno; the control socket ([runtimes](runtime/README.md))",
  config: "the settings, their file, and its editing that keeps comments ([settings](config/README.md))",
  transport:
    "what adapters stand on: HTTP, WebSocket, frames over TLS, reconnecting sessions, a listener for one peer, XML, magic packets",
  platforms: "`platform.ts`, the contract; a folder for each platform; `index.ts`, a line each",
  api: "errors, routes, the operations with their schemas, the OpenAPI document, the typed client ([the API](api/README.md))",
  discovery: "SSDP, mDNS, given hosts: asks what platforms tell it to ask, and knows none",
  devices: "the devices: what is known of them, trust, connections, queues, apps, waking",
  scenes:
    "scenes: their files, the check of the whole, and the run, which asks as a caller of the API would ([scenes](scenes/README.md))",
  mqtt: "devices told to a broker and driven from it, loaded only with `mqtt.url` ([MQTT](mqtt/README.md))",
  mcp: "tools for agents: a client of the API, over stdio and at `/mcp` ([agents](mcp/README.md))",
  doctor: "what may be in the way, and what to do about it: for `zapd doctor`, and inside the daemon",
  server: "the guard and the routes: parses, calls and answers ([embedding](server/README.md))",
  web: "the page for people: a client of the API in the browser, made into one module of strings ([the page](web/README.md))",
  simulators:
    "sets that speak the real protocols, for the demo and the tests; one that shared code with its client would prove nothing",
  cli: "the commands; only `serve` and `demo` start a daemon, every other talks to one that runs ([all of them](cli/README.md))",
};

function roomsOf(): string {
  const room = (path: string) => /^src\/(\w+)\//.exec(path)?.[1] ?? "";
  const sources = sourcesIn("src");
  const unknown = sources.map(({ path }) => room(path)).filter((one) => one !== "" && !Object.hasOwn(rooms, one));
  if (unknown.length > 0) throw new Error(`say in test/readme/sections.ts what is in src/${unknown[0]}`);
  const rows = Object.entries(rooms).map(([name, what]) => {
    const imports = sources.filter(({ path }) => room(path) === name).flatMap((one) => one.imports);
    const used = new Set(
      imports.filter(({ from, typeOnly }) => !typeOnly && from !== "src/api/errors.ts").map(({ from }) => room(from)),
    );
    const others = Object.keys(rooms).filter((other) => other !== name && used.has(other));
    return [`\`src/${name}\``, what, others.map((other) => `\`${other}\``).join(" ") || "–"];
  });
  return table([["room", "what is in it", "what runs in it uses"], ...rows]);
}

function commandsOf(): string {
  const rows = Object.entries(groups).flatMap(([title, group]) => [
    [`**${title}**`, ""],
    ...Object.entries(group).map(([name, { use, about }]) => [
      `\`zapd ${`${name} ${use}`.trim().replaceAll("|", "\\|")}\``,
      about,
    ]),
  ]);
  return table([["", ""], ...rows]);
}

const exitsOf = () => table([["exit status", ""], ...exitTable.map(([status, meaning]) => [`${status}`, meaning])]);

export const sections: readonly Section[] = [
  { page: "src/README.md", name: "rooms", text: roomsOf },
  { page: "src/cli/README.md", name: "commands", text: commandsOf },
  { page: "src/cli/README.md", name: "exits", text: exitsOf },
  ...ofPlatforms,
  { page: "test/security/README.md", name: "threats", text: () => promisesOf(threats) },
  { page: "test/security/README.md", name: "targets", text: () => promisesOf(targets) },
];

/** Every page that is written by hand, from the top of the project. */
export const pages = [".", "src", "test", ".github"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: folder !== ".", encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => posix.join(folder, name)),
);

export function pageText(page: string): string {
  return readFileSync(join(root, page), "utf8");
}

/** A page with a section between its marks. Fails when the marks are not there. */
export function withSection(text: string, name: string, section: string): string {
  const [from, to] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [begin, end] = [text.indexOf(from), text.indexOf(to)];
  if (begin < 0 || end < begin) throw new Error(`the page has no ${from} … ${to} to write between`);
  return `${text.slice(0, begin + from.length)}\n${section}\n${text.slice(end)}`;
}
