/** Browsing over mDNS (bonjour-service), on each interface, services told the moment they are complete. Knows no platform. */
import { Bonjour } from "bonjour-service";
import type { MdnsService } from "../platforms/platform.ts";
import { type Interface, isOnLink } from "./interfaces.ts";
import type { ScanWindow } from "./window.ts";

export interface MdnsBrowse {
  /** Service types as announced, such as `_example._tcp`. */
  readonly types: readonly string[];
  readonly interfaces: readonly Interface[];
  readonly window: ScanWindow;
  onService(service: MdnsService): void;
  onTrouble(problem: string): void;
}

/** What we use of a service that bonjour-service found. */
interface Found {
  readonly name: string;
  readonly fqdn: string;
  readonly port: number;
  readonly referer?: { readonly address: string };
  readonly addresses?: string[];
  readonly txt?: unknown;
}

/** Browses until the time is over. Without a type nothing is loaded and nothing is sent. */
export async function browseMdns(browse: MdnsBrowse): Promise<void> {
  if (browse.types.length === 0 || browse.interfaces.length === 0) return;
  const browsers: { update(): void }[] = [];
  const instances = browse.interfaces.map((one) => {
    const trouble = (error: unknown) =>
      browse.onTrouble(`${one.name} (${one.address}) could not be asked over mDNS: ${String(error)}`);
    const bonjour = new Bonjour(optionsFor(one), trouble);
    for (const type of browse.types) {
      const seen = new Set<string>();
      const browser = browserOf(bonjour, type, (service) => {
        const key = JSON.stringify(service);
        if (seen.has(key) || seen.size >= mostSeen) return;
        seen.add(key);
        // The system also gives us what comes over interfaces that we did not ask on (RFC 6762, 11).
        if (isOnLink(service.source, one)) browse.onService(service);
      });
      browse.window.onJoin(() => browser.update());
      browsers.push(browser);
    }
    return bonjour;
  });
  const again = setInterval(() => {
    for (const browser of browsers) browser.update();
  }, againAfter);
  await browse.window.over;
  clearInterval(again);
  for (const bonjour of instances) bonjour.destroy();
}

/** Who has just told somebody else of a service says it again only after a second (RFC 6762, 6). */
const againAfter = 1_050;
const askedFor = 1_600;
/** Of one type on one interface in one scan. */
const mostSeen = 4_096;
/** Who asks from a port of its own is answered directly, and without that wait (RFC 6762, 6.7); where no firewall is in between. */
const directlyAt = [250, 600] as const;

/** A service that is looked for. */
export interface Wanted {
  readonly type: string;
  readonly host: string;
  isIt(service: MdnsService): boolean;
  readonly interfaces: readonly Interface[];
}

/** What one host announces as a service of a type, asked for on every interface; `null` when it says nothing soon. */
export async function askMdns(
  { type, host, isIt, interfaces }: Wanted,
  signal: AbortSignal,
): Promise<MdnsService | null> {
  if (interfaces.length === 0) return null;
  const shared = interfaces.map((one) => new Bonjour(optionsFor(one), () => {}));
  const direct = interfaces.map((one) => new Bonjour({ ...optionsFor(one), bind: false } as BonjourOptions, () => {}));
  const timers: ReturnType<typeof setTimeout>[] = [];
  const found = Promise.withResolvers<MdnsService | null>();
  const giveUp = () => found.resolve(null);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    const ask = (bonjour: Instance) =>
      browserOf(bonjour, type, (service) => {
        // What this machine announces has one sender for all its loopback addresses.
        if (service.source !== host && !(host.startsWith("127.") && service.addresses.includes(host))) return;
        if (isIt(service)) found.resolve(service);
      });
    const [sharing, asking] = [shared.map(ask), direct.map(ask)];
    const later = (ms: number, work: () => void) => timers.push(setTimeout(work, ms));
    later(againAfter, () => {
      for (const browser of sharing) browser.update();
    });
    for (const ms of directlyAt)
      later(ms, () => {
        for (const browser of asking) browser.update();
      });
    later(askedFor, giveUp);
    if (signal.aborted) giveUp();
    return await found.promise;
  } finally {
    signal.removeEventListener("abort", giveUp);
    for (const timer of timers) clearTimeout(timer);
    for (const bonjour of [...shared, ...direct]) bonjour.destroy();
  }
}

type Instance = Bonjour;

/**
 * Tells each answer of a type, as often as it comes. bonjour-service keeps one service for each name, whoever announces it:
 * somebody who calls himself like another would hide it, so it is made to forget what it has told.
 */
function browserOf(bonjour: Instance, type: string, onService: (service: MdnsService) => void): { update(): void } {
  const browser = bonjour.find(wordsOf(type), (found: Found) => {
    browser.services.length = 0;
    onService(serviceOf(found, type));
  });
  return browser;
}

type BonjourOptions = ConstructorParameters<typeof Bonjour>[0];

/**
 * On Linux multicast arrives only on a socket bound to any address. The options are those of multicast-dns, which
 * bonjour-service passes through but does not declare.
 */
function optionsFor({ address }: Interface): BonjourOptions {
  return { interface: address, bind: "0.0.0.0" } as BonjourOptions;
}

/** `_example._tcp` in bonjour-service's words. */
function wordsOf(type: string): { type: string; protocol: "tcp" | "udp" } {
  const [name = "", protocol] = type.replace(/^_/, "").split("._");
  return { type: name, protocol: protocol === "udp" ? "udp" : "tcp" };
}

function serviceOf(found: Found, type: string): MdnsService {
  // Its own word for the name ends at the first dot.
  const end = `.${type}.local`;
  const name = found.fqdn.toLowerCase().endsWith(end) ? found.fqdn.slice(0, -end.length) : found.name;
  const txt = typeof found.txt === "object" && found.txt !== null ? Object.entries(found.txt) : [];
  return {
    name: name.slice(0, 256),
    type,
    port: found.port,
    source: found.referer?.address ?? "",
    addresses: (found.addresses ?? []).slice(0, 16),
    txt: Object.fromEntries(txt.slice(0, 64).map(([key, value]) => [key, String(value).slice(0, 512)])),
  };
}
