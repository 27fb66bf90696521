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
  readonly port: number;
  readonly referer?: { readonly address: string };
  readonly addresses?: string[];
  readonly txt?: unknown;
}

/** Browses until the time is over. Without a type nothing is sent. */
export async function browseMdns(browse: MdnsBrowse): Promise<void> {
  if (browse.types.length === 0 || browse.interfaces.length === 0) return;
  const browsers: { update(): void }[] = [];
  const instances = browse.interfaces.map((one) => {
    const trouble = (error: unknown) =>
      browse.onTrouble(`${one.name} (${one.address}) could not be asked over mDNS: ${String(error)}`);
    const bonjour = new Bonjour(optionsFor(one), trouble);
    for (const type of browse.types) {
      const browser = bonjour.find(wordsOf(type), (found: Found) => {
        const service = serviceOf(found, type);
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
  const instances = interfaces.map((one) => new Bonjour(optionsFor(one), () => {}));
  let again: ReturnType<typeof setTimeout> | undefined;
  try {
    return await new Promise((resolve) => {
      const timer = setTimeout(() => resolve(null), askedFor);
      signal.addEventListener("abort", () => resolve(null), { once: true, signal: AbortSignal.timeout(askedFor) });
      const browsers = instances.map((bonjour) =>
        bonjour.find(wordsOf(type), (found: Found) => {
          const service = serviceOf(found, type);
          // What this machine announces has one sender for all its loopback addresses.
          if (service.source !== host && !(host.startsWith("127.") && service.addresses.includes(host))) return;
          if (!isIt(service)) return;
          clearTimeout(timer);
          resolve(service);
        }),
      );
      again = setTimeout(() => {
        for (const browser of browsers) browser.update();
      }, againAfter);
    });
  } finally {
    clearTimeout(again);
    for (const bonjour of instances) bonjour.destroy();
  }
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
  const txt = typeof found.txt === "object" && found.txt !== null ? Object.entries(found.txt) : [];
  return {
    name: found.name.slice(0, 256),
    type,
    port: found.port,
    source: found.referer?.address ?? "",
    addresses: (found.addresses ?? []).slice(0, 16),
    txt: Object.fromEntries(txt.slice(0, 64).map(([key, value]) => [key, String(value).slice(0, 512)])),
  };
}
