/**
 * Strangers: they take the address, the name or the identity of a real set, each in one manner, and record every byte that they
 * are sent. They accept any key and any login.
 */
import { createAndroidTvSimulator } from "../../../src/simulators/androidtv.ts";
import { createKodiSimulator } from "../../../src/simulators/kodi.ts";
import { createRokuSimulator } from "../../../src/simulators/roku.ts";
import { createSamsungSimulator } from "../../../src/simulators/samsung.ts";
import { createCertificate, createWebosSimulator } from "../../../src/simulators/webos.ts";
import { type Announcer, announceMdns, announceSsdp } from "./announcer.ts";
import { Recorder } from "./recorder.ts";
import {
  androidtvLife,
  type Driven,
  kodiLife,
  type Place,
  type PlatformName,
  placeOf,
  type RealSet,
  rokuLife,
  samsungLife,
  usual,
  webosLife,
} from "./sets.ts";

export const manners = {
  roku: {
    copy: "all that the device reports, and an installer that asks for the password as the device does",
    "other-serial": "another serial",
    "realm-installer": "its serial, and an installer of another realm",
    "basic-installer": "its serial, and an installer that asks for the password itself (Basic)",
    "bare-installer": "its serial, and an installer that asks without qop",
    "open-installer": "its serial, and an installer that asks for no password",
  },
  kodi: {
    copy: "its id, name and hardware address; asks for a login and accepts any",
    "open-copy": "its id, name and hardware address; asks for no login",
    "not-found": "a web server that answers 404 to every request",
    html: "a web server that answers every request with a page",
    "other-realm": "a web server that asks for its own login",
    "kodi-realm": "its id; asks for Kodi's login and accepts none",
  },
  webos: {
    copy: "its id and the same certificate, which all LG TVs share",
    "other-certificate": "its id, a different certificate",
    "plain-only": "its id, only on the port without a certificate",
    "empty-id": "no id, another certificate, and the port without one",
    "other-id": "another id and certificate",
  },
  samsung: {
    copy: "its id and the same certificate",
    "other-certificate": "its id, a different certificate",
    "plain-only": "its id, only on the port without a certificate",
    "empty-id": "no id, another certificate, and the port without one",
    "other-id": "another id and certificate",
  },
  androidtv: {
    copy: "its name and the address in its certificate, which is another",
    "other-id": "its name, another address and certificate",
  },
} as const;

export interface StrangerOptions {
  /** The set that it pretends to be. */
  readonly of: Pick<RealSet<PlatformName>, "platform" | "identity" | "mac" | "name" | "certificate">;
  readonly host: string;
  readonly manner: string;
  /** Answers searches. Default true. */
  readonly announces?: boolean;
  /** The delay of an answer, and how often it is sent. */
  readonly delayMs?: number;
  readonly times?: number;
  /** Instead of the platform's usual one. */
  readonly port?: number;
  /** Its mDNS instance name, which is unique by default. */
  readonly calls?: string;
}

export interface Stranger extends Driven {
  readonly recorder: Recorder;
  readonly place: Place;
  readonly manner: string;
  /** Announces itself unasked. */
  announce(): Promise<void>;
}

interface Life {
  presses(): number;
  typed(): string;
  field(): void;
}

/** Starts a stranger. */
export async function startStranger(options: StrangerOptions): Promise<Stranger> {
  const { of, manner } = options;
  const lives: Life[] = [];
  const recorder = new Recorder();
  let host = options.host;
  let stops: (() => unknown)[] = [];
  let announcers: Announcer[] = [];
  const stranger: Stranger = {
    recorder,
    manner,
    get host() {
      return host;
    },
    get place() {
      const place = placeOf(of.platform, host);
      return { ...place, port: options.port ?? place.port };
    },
    get presses() {
      return lives.reduce((all, life) => all + life.presses(), 0);
    },
    get typed() {
      return lives.map((life) => life.typed()).join("");
    },
    field: () => lives.at(-1)?.field(),
    async announce() {
      await Promise.all(announcers.map((announcer) => announcer.announce()));
    },
    async on(next) {
      host = next ?? host;
      const made = await takePlace[of.platform]({ ...options, host }, recorder, stops, announcers);
      made.field();
      lives.push(made);
    },
    async off() {
      const [stopping, silenced] = [stops, announcers];
      stops = [];
      announcers = [];
      await Promise.all([
        ...silenced.map((announcer) => announcer.stop()),
        recorder.stop(),
        ...stopping.map((stop) => stop()),
      ]);
      await Bun.sleep(40);
    },
  };
  await stranger.on();
  return stranger;
}

type TakePlace = (
  options: StrangerOptions,
  recorder: Recorder,
  stops: (() => unknown)[],
  announcers: Announcer[],
) => Promise<Life>;

/** Starts a small web server behind a recorder; its port. */
function serve(stops: (() => unknown)[], answer: (request: Request) => Response | Promise<Response>): number {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answer });
  stops.push(() => server.stop(true));
  return server.port ?? 0;
}

const challenge = (words: string, body = "<html>Unauthorized</html>") =>
  new Response(body, { status: 401, headers: { "WWW-Authenticate": words } });
const page = (body: string, type = "text/html") => new Response(body, { headers: { "Content-Type": type } });

const takePlace: Record<PlatformName, TakePlace> = {
  async roku({ of, host, manner, announces = true, delayMs = 0, times = 1, port }, recorder, stops, announcers) {
    const serial = manner === "other-serial" ? `${of.identity.slice(0, -2)}99` : of.identity;
    const set = createRokuSimulator({
      name: of.name,
      serial,
      mac: of.mac,
      host,
      port: 0,
      ssdp: false,
      launchMs: 0,
      developer: { password: "of a stranger" },
    });
    await set.start();
    stops.push(() => set.stop());
    const installer = serve(stops, async (request) => {
      await request.arrayBuffer();
      const nonce = String(Math.floor(Math.random() * 1e9));
      if (manner === "open-installer" || request.headers.has("authorization"))
        return page(
          `<html><script>Shell.create('Roku.Message').trigger('Set message type', 'success').trigger('Set message content', 'Install Success.')</script></html>`,
        );
      if (manner === "basic-installer") return challenge('Basic realm="rokudev"');
      if (manner === "bare-installer") return challenge(`Digest realm="rokudev", nonce="${nonce}"`);
      const realm = manner === "realm-installer" ? "emulator" : "rokudev";
      return challenge(`Digest qop="auth", realm="${realm}", nonce="${nonce}"`);
    });
    const at = port ?? usual.roku.port;
    const { ports } = usual.roku;
    await recorder.tcp({ host, port: at, to: { host, port: set.port } });
    await recorder.tcp({ host, port: ports.installer, to: { host: "127.0.0.1", port: installer } });
    await recorder.tcp({ host, port: ports.console, to: { host, port: set.ports.console ?? 0 } });
    await recorder.udp(host, ports.wake);
    const said = { target: "roku:ecp", usn: `uuid:roku:ecp:${serial}`, location: `http://${host}:${at}/` };
    if (announces) announcers.push(await announceSsdp({ host, delayMs, times, ...said }));
    return rokuLife(set, host);
  },

  async kodi({ of, host, manner, announces = true, port, calls = `${of.name} ${host}` }, recorder, stops, announcers) {
    const { ports } = usual.kodi;
    const at = port ?? usual.kodi.port;
    const set = createKodiSimulator({
      name: of.name,
      uuid: of.identity,
      mac: of.mac,
      host,
      port: 0,
      tcpPort: 0,
      mdns: false,
    });
    await set.start();
    stops.push(() => set.stop());
    const onward = async (request: Request) => {
      const { pathname, search } = new URL(request.url);
      const body = request.method === "POST" ? { body: await request.text() } : {};
      const headers = { "Content-Type": "application/json" };
      const said = await fetch(`http://${host}:${set.port}${pathname}${search}`, {
        method: request.method,
        headers,
        keepalive: false,
        ...body,
      });
      return new Response(await said.text(), { status: said.status, headers });
    };
    const isKodi = manner === "copy" || manner === "open-copy";
    const web = serve(stops, (request) => {
      if (manner === "not-found") return new Response("not here", { status: 404 });
      if (manner === "html") return page("<!DOCTYPE html><title>Router</title>");
      if (manner === "other-realm") return challenge('Basic realm="Router"');
      if (manner === "kodi-realm") return challenge('Basic realm="Kodi"');
      if (manner === "copy" && !request.headers.has("authorization")) return challenge('Basic realm="Kodi"');
      return onward(request);
    });
    await recorder.tcp({ host, port: at, to: { host: "127.0.0.1", port: web } });
    await recorder.tcp({ host, port: ports.websocket, to: isKodi ? { host, port: set.ports.tcp ?? 0 } : null });
    await recorder.udp(host, ports.wake);
    // The event server of a Kodi, which takes keys from anybody.
    await recorder.udp(host, 9_777);
    const services = [
      { type: "_xbmc-jsonrpc-h._tcp", port: at },
      ...(isKodi ? [{ type: "_xbmc-jsonrpc._tcp", port: ports.websocket }] : []),
    ];
    if (announces)
      announcers.push(await announceMdns({ host, name: calls, services, txt: { txtvers: "1", uuid: of.identity } }));
    return kodiLife(set, host);
  },

  async webos({ of, host, manner, announces = true, delayMs = 0, times = 1, port }, recorder, stops, announcers) {
    const { ports } = usual.webos;
    const at = port ?? usual.webos.port;
    const uuid = manner === "empty-id" ? "" : manner === "other-id" ? crypto.randomUUID() : of.identity;
    const certificate = manner === "copy" && of.certificate !== null ? of.certificate : createCertificate();
    const set = createWebosSimulator({
      name: of.name,
      uuid,
      mac: of.mac,
      host,
      securePort: null,
      plainPort: 0,
      ssdp: false,
      tuner: false,
      prompt: "none",
    });
    await set.start();
    stops.push(() => set.stop());
    const inside = { host, port: set.ports.plain ?? 0 };
    if (manner !== "plain-only") await recorder.tcp({ host, port: at, to: inside, certificate });
    if (manner === "plain-only" || manner === "empty-id") await recorder.tcp({ host, port: ports.plain, to: inside });
    await recorder.udp(host, ports.wake);
    const described = `<?xml version="1.0"?><root xmlns="urn:schemas-upnp-org:device-1-0"><device><friendlyName>${of.name}</friendlyName><manufacturer>LG Electronics</manufacturer><modelName>OLED55C14LB</modelName></device></root>`;
    const web = serve(stops, () => page(described, "text/xml"));
    const description = 18_044;
    await recorder.tcp({ host, port: description, to: { host: "127.0.0.1", port: web } });
    const target = "urn:lge-com:service:webos-second-screen:1";
    const said = { target, usn: `uuid:${crypto.randomUUID()}::${target}`, location: `http://${host}:${description}/` };
    if (announces) announcers.push(await announceSsdp({ host, delayMs, times, ...said }));
    return webosLife(set, host);
  },

  async samsung({ of, host, manner, announces = true, delayMs = 0, times = 1, port }, recorder, stops, announcers) {
    const { ports } = usual.samsung;
    const at = port ?? usual.samsung.port;
    const duid = manner === "other-id" ? crypto.randomUUID() : of.identity;
    const certificate = manner === "copy" && of.certificate !== null ? of.certificate : createCertificate();
    const set = createSamsungSimulator({
      name: of.name,
      duid,
      wifiMac: of.mac,
      host,
      securePort: 0,
      plainPort: 0,
      rendererPort: 0,
      ssdp: false,
      asks: "never",
      traits: { tokensInPlain: true, keyMs: 0, hidesIdentity: manner === "empty-id" },
    });
    await set.start();
    stops.push(() => set.stop());
    const inside = { host, port: set.ports.plain ?? 0 };
    if (manner !== "plain-only") await recorder.tcp({ host, port: at, to: inside, certificate });
    if (manner === "plain-only" || manner === "empty-id") await recorder.tcp({ host, port: at - 1, to: inside });
    await recorder.tcp({ host, port: ports.renderer, to: { host, port: set.ports.renderer ?? 0 } });
    await recorder.udp(host, ports.wake);
    const target = "urn:samsung.com:device:RemoteControlReceiver:1";
    const said = { target, usn: `uuid:${duid}::${target}`, location: `http://${host}:${ports.renderer}/dmr` };
    if (announces) announcers.push(await announceSsdp({ host, delayMs, times, ...said }));
    return samsungLife(set, host);
  },

  async androidtv({ of, host, manner, announces = true, port }, recorder, stops) {
    const { ports } = usual.androidtv;
    const at = port ?? usual.androidtv.port;
    const bluetooth = manner === "other-id" ? `${of.identity.slice(0, -2)}99` : of.identity;
    const set = createAndroidTvSimulator({
      name: of.name,
      bluetooth,
      mac: of.mac,
      host,
      remotePort: at,
      pairingPort: ports.pairing,
      mdns: announces,
      acceptsAnyClient: true,
      onEvent: ({ text }) => recorder.note(text),
    });
    await set.start();
    stops.push(() => set.stop());
    return androidtvLife(set, host);
  },
};
