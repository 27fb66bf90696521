/** Real sets, alike for all platforms: simulators that can be unplugged, moved and renamed, and keep their identity. */
import { randomBytes, randomUUID } from "node:crypto";
import { type AndroidTvSimulator, createAndroidTvSimulator } from "../../../src/simulators/androidtv.ts";
import { createCertificateFor } from "../../../src/simulators/bench/certificate.ts";
import { type CastSimulator, createCastSimulator } from "../../../src/simulators/cast.ts";
import { createDlnaSimulator, type DlnaSimulator } from "../../../src/simulators/dlna.ts";
import { createKodiSimulator, type KodiSimulator } from "../../../src/simulators/kodi.ts";
import { createRokuSimulator, type RokuSimulator } from "../../../src/simulators/roku.ts";
import { createSamsungSimulator, type SamsungSimulator } from "../../../src/simulators/samsung.ts";
import {
  type Certificate,
  createCertificate,
  createWebosSimulator,
  type WebosSimulator,
} from "../../../src/simulators/webos.ts";
import { lane } from "../../support/lane.ts";

/** Platforms with secrets: a key, a login, text. */
export const platforms = ["roku", "kodi", "webos", "samsung"] as const;
export type PlatformName = (typeof platforms)[number] | "androidtv";
/** All platforms, with those without secrets. */
export type AnyPlatform = PlatformName | (typeof openPlatforms)[number];
export const openPlatforms = ["cast", "dlna"] as const;

/** Fixed, since one that the system chose may be another socket's while its set is off. */
const wakePort = 19_009;

/** The ports of every set of a platform, so that a set or a stranger can take the place of another. */
export const usual = {
  roku: { port: 18_060, ports: { installer: 18_081, console: 18_085, wake: wakePort } },
  kodi: { port: 18_080, ports: { websocket: 19_090, wake: wakePort } },
  // LG sets are found at this port only.
  webos: { port: 3_001, ports: { plain: 3_000, wake: wakePort } },
  // The same; and its plain port is always the one before.
  samsung: { port: 8_002, ports: { renderer: 9_197, wake: wakePort } },
  androidtv: { port: 6_466, ports: { pairing: 6_467, wake: wakePort } },
  cast: { port: 8_009, ports: {} },
  dlna: { port: 19_197, ports: {} },
} as const;

/** Platforms whose sets take no key before they are paired. */
export const lockedPlatforms: ReadonlySet<AnyPlatform> = new Set(["webos", "samsung", "androidtv"]);
/** Platforms whose sets are found at the usual port only. */
export const searchedAtUsualPort: ReadonlySet<AnyPlatform> = new Set(["webos", "samsung"]);

let made = 0;
/** An address of this machine that no other set has. */
export function freeAddress(): string {
  const number = made++;
  return `127.${64 + lane}.${1 + Math.floor(number / 250)}.${1 + (number % 250)}`;
}

export interface Place {
  readonly host: string;
  readonly port: number;
  readonly platform: AnyPlatform;
  readonly ports: Readonly<Record<string, number>>;
}

/** The body of `POST /devices` for a set of a platform at an address. */
export function placeOf(platform: AnyPlatform, host: string, by = 0): Place {
  const { port, ports } = usual[platform];
  const moved = Object.entries<number>(ports).map(([word, one]) => [word, one + by]);
  return { host, platform, port: port + by, ports: Object.fromEntries(moved) };
}

export interface RealOptions {
  readonly name?: string;
  readonly host?: string;
  /** Whether a Kodi has a login. LG always has a key, Roku always a developer password. */
  readonly login?: boolean;
  readonly password?: string;
  /** Whether searches are answered. Default true. */
  readonly announces?: boolean;
  readonly certificate?: Certificate;
  /** Those of another set, to pretend to be it. */
  readonly identity?: string;
  readonly mac?: string;
  /** Added to each of its ports, for a second one on the same machine. */
  readonly portsBy?: number;
}

/** A set or a stranger, which can be driven. */
export interface Driven {
  readonly host: string;
  /** Keys taken so far, over all restarts. */
  readonly presses: number;
  readonly typed: string;
  /** Opens a text field, where the platform needs one. */
  field(): void;
  on(host?: string): Promise<void>;
  off(): Promise<void>;
}

export interface RealSet<Platform extends AnyPlatform = AnyPlatform> extends Driven {
  readonly platform: Platform;
  readonly identity: string;
  readonly mac: string;
  readonly name: string;
  readonly place: Place;
  readonly login: { readonly user: string; readonly password: string } | null;
  /** The certificate that it shows, on LG, Samsung and Android TV. */
  readonly certificate: Certificate | null;
  /** Keys and passwords that it knows. */
  readonly secrets: readonly string[];
  /** The code that it shows, where it shows one. */
  readonly code: string | null;
  rename(name: string): void;
  /** Answers no search from its next start on. */
  hush(): void;
  /** Standby as its platform has it; `wake` turns it on at the set. */
  sleep(): Promise<void>;
  wake(): Promise<void>;
}

type Simulator =
  | AndroidTvSimulator
  | RokuSimulator
  | KodiSimulator
  | WebosSimulator
  | SamsungSimulator
  | CastSimulator
  | DlnaSimulator;

/** A simulator of a set at one address. */
interface Life {
  readonly simulator: Simulator;
  readonly host: string;
  presses(): number;
  typed(): string;
  field(): void;
  sleep(): Promise<void>;
  wake(): Promise<void>;
}

const randomMac = () => ["02", ...(randomBytes(5).toString("hex").match(/../g) ?? [])].join(":");

/** Starts a set. */
export async function plugIn<Platform extends AnyPlatform>(
  platform: Platform,
  options: RealOptions = {},
): Promise<RealSet<Platform>> {
  const tag = randomBytes(3).toString("hex");
  let name = options.name ?? `${platform} ${tag}`;
  const uuid = randomUUID();
  const own = {
    roku: `YR${tag.toUpperCase()}77`,
    kodi: uuid,
    webos: uuid,
    samsung: uuid,
    androidtv: randomMac(),
    cast: uuid.replaceAll("-", ""),
    dlna: uuid,
  };
  const identity = options.identity ?? own[platform];
  const mac = options.mac ?? randomMac();
  const login =
    platform === "kodi" && options.login !== false
      ? { user: `user-${tag}`, password: options.password ?? `pw-${randomBytes(6).toString("hex")}` }
      : null;
  const password = platform === "roku" ? (options.password ?? `dev-${randomBytes(6).toString("hex")}`) : null;
  const anew = () =>
    platform === "androidtv"
      ? createCertificateFor(`atvremote/a/b/Set/${identity.toUpperCase()}`, "rsa")
      : createCertificate();
  const certificate = lockedPlatforms.has(platform) ? (options.certificate ?? anew()) : null;
  let paired: readonly Uint8Array[] = [];
  let announces = options.announces ?? true;
  let hushed = false;
  const by = options.portsBy ?? 0;
  const keys = new Map<string, readonly string[]>();
  const lives: Life[] = [];

  const live = (host: string): Life => {
    const common = { name, host, mac };
    if (platform === "roku") {
      const { port, ports } = usual.roku;
      const developer = {
        password: password ?? "",
        installerPort: ports.installer + by,
        consolePort: ports.console + by,
      };
      const set = createRokuSimulator({
        ...common,
        serial: identity,
        port: port + by,
        developer,
        ssdp: announces,
        launchMs: 0,
        wakePort: ports.wake + by,
      });
      return rokuLife(set, host);
    }
    if (platform === "kodi") {
      const { port, ports } = usual.kodi;
      const set = createKodiSimulator({
        ...common,
        uuid: identity,
        port: port + by,
        tcpPort: ports.websocket + by,
        wakePort: ports.wake + by,
        mdns: announces,
        ...(login && { user: login.user, password: login.password }),
      });
      return kodiLife(set, host);
    }
    if (platform === "samsung") {
      const { port, ports } = usual.samsung;
      const set = createSamsungSimulator({
        name,
        host,
        duid: identity,
        wifiMac: mac,
        securePort: port + by,
        plainPort: port - 1 + by,
        // Without a renderer, so that it is found on one platform only.
        rendererPort: null,
        wakePort: ports.wake + by,
        ssdp: announces,
        standby: "off",
        promptMs: 20,
        bootMs: 150,
        tokens: [...keys.keys()],
        // The daemon's clock runs faster than the set's.
        traits: { keyMs: 0 },
        ...(certificate && { certificate }),
      });
      return samsungLife(set, host);
    }
    if (platform === "androidtv") {
      const { port, ports } = usual.androidtv;
      const set = createAndroidTvSimulator({
        ...common,
        bluetooth: identity,
        paired,
        mdns: announces,
        standby: "off",
        remotePort: port + by,
        pairingPort: ports.pairing + by,
        wakePort: ports.wake + by,
        ...(certificate && { certificate }),
      });
      return androidtvLife(set, host);
    }
    if (platform === "cast") {
      const port = usual.cast.port + by;
      const set = createCastSimulator({
        ...common,
        id: identity,
        port,
        wakePort: wakePort + by,
        mdns: announces,
        bufferMs: 0,
      });
      return lifeOf(set, host, { presses: () => set.commands.length, sleep: () => set.cutPower() });
    }
    if (platform === "dlna") {
      const port = usual.dlna.port + by;
      const set = createDlnaSimulator({
        ...common,
        uuid: identity,
        port,
        wakePort: wakePort + by,
        stack: "tv",
        ssdp: announces,
      });
      return lifeOf(set, host, { presses: () => set.commands.length, sleep: () => set.sleep() });
    }
    const { port, ports } = usual.webos;
    const set = createWebosSimulator({
      ...common,
      uuid: identity,
      securePort: port + by,
      plainPort: ports.plain + by,
      wakePort: ports.wake + by,
      ssdp: announces,
      promptMs: 20,
      tuner: false,
      bootMs: 150,
      socketsCloseMs: 150,
      portsCloseMs: 100,
      clientKeys: Object.fromEntries(keys),
      ...(certificate && { certificate }),
    });
    return webosLife(set, host);
  };
  const current = () => {
    const life = lives.at(-1);
    if (life === undefined) throw new Error("it was never plugged in");
    return life;
  };
  const remember = () => {
    const { simulator } = current();
    if ("paired" in simulator) paired = simulator.paired;
    if ("duid" in simulator) for (const token of simulator.state.tokens) keys.set(token, []);
    if ("clientKeys" in simulator) for (const [key, granted] of simulator.clientKeys) keys.set(key, [...granted]);
  };
  let plugged = false;
  const real: RealSet<Platform> = {
    platform,
    identity,
    mac,
    login,
    certificate,
    get name() {
      return name;
    },
    get host() {
      return current().host;
    },
    get place() {
      return placeOf(platform, current().host, by);
    },
    get presses() {
      return lives.reduce((all, life) => all + life.presses(), 0);
    },
    get typed() {
      return lives.map((life) => life.typed()).join("");
    },
    get secrets() {
      remember();
      const certificates = paired.map((one) => Buffer.from(one).toString("base64"));
      return [...keys.keys(), ...certificates, ...(password === null ? [] : [password])];
    },
    get code() {
      const { simulator } = current();
      return "paired" in simulator ? simulator.state.code : null;
    },
    field: () => current().field(),
    rename(next) {
      name = next;
      current().simulator.setName(next);
    },
    hush() {
      announces = false;
      hushed = true;
    },
    async on(host) {
      if (plugged) throw new Error(`${name} is on`);
      plugged = true;
      const last = lives.at(-1);
      if (last && !hushed && (host === undefined || host === last.host)) return last.simulator.start();
      hushed = false;
      const life = live(host ?? last?.host ?? freeAddress());
      lives.push(life);
      await life.simulator.start();
    },
    async off() {
      if (!plugged) return;
      plugged = false;
      remember();
      await current().simulator.stop();
      // A command that is sent while the connection breaks may or may not arrive: the daemon first sees it break.
      await Bun.sleep(40);
    },
    sleep: () => current().sleep(),
    wake: () => current().wake(),
  };
  await real.on(options.host);
  return real;
}

/** By default it takes no text. */
function lifeOf<S extends Simulator>(
  simulator: S,
  host: string,
  parts: Pick<Life, "presses" | "sleep"> & Partial<Life>,
): Life {
  return { simulator, host, typed: () => "", field: () => {}, wake: () => simulator.wake(), ...parts };
}

export const rokuLife = (set: RokuSimulator, host: string): Life =>
  lifeOf(set, host, {
    presses: () => set.keys.length,
    typed: () => set.text,
    sleep: () => set.sleep("deep"),
  });

export const kodiLife = (set: KodiSimulator, host: string): Life =>
  lifeOf(set, host, {
    presses: () => set.calls.filter(({ method, error }) => isPress(method) && error === null).length,
    typed: () => set.calls.map(({ method, params }) => (method === "Input.SendText" ? textIn(params) : "")).join(""),
    field: () => set.openDialog("keyboard"),
    sleep: () => set.sleep(),
  });

export const webosLife = (set: WebosSimulator, host: string): Life =>
  lifeOf(set, host, {
    presses: () =>
      set.received.buttons.length + set.received.requests.filter(({ uri }) => /volumeUp$/.test(uri)).length,
    typed: () => set.received.texts.join(""),
    field: () => set.focus(true),
    sleep: () => set.powerOff(),
  });

export const samsungLife = (set: SamsungSimulator, host: string): Life =>
  lifeOf(set, host, {
    presses: () => set.received.keys.filter(({ outcome }) => outcome === "taken").length,
    typed: () => set.received.texts.join(""),
    field: () => set.focus(true),
    sleep: () => set.powerOff(),
  });

export function androidtvLife(set: AndroidTvSimulator, host: string): Life {
  // Always open: text that is typed while the field opens may be lost.
  set.focus(true);
  return lifeOf(set, host, {
    presses: () => set.keys.length,
    typed: () => set.state.text,
    sleep: () => set.powerOff("off"),
  });
}

const isPress = (method: string) => /^Input\.(Left|Right|Up|Down|Select|Back|Home)$/.test(method);

function textIn(params: unknown): string {
  return typeof params === "object" && params !== null && "text" in params ? String(params.text) : "";
}
