/** Browsing over mDNS (bonjour-service), on each interface, services told the moment they are complete. Knows no platform. */
import type { MdnsService } from "../platforms/platform.ts";
import type { Interface } from "./interfaces.ts";
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
  readonly addresses?: string[];
  readonly txt?: unknown;
}

/** Browses until the time is over. Without a type nothing is loaded and nothing is sent. */
export async function browseMdns(browse: MdnsBrowse): Promise<void> {
  if (browse.types.length === 0 || browse.interfaces.length === 0) return;
  const { Bonjour } = await import("bonjour-service");
  const instances = browse.interfaces.map((one) => {
    // On Linux multicast arrives only on a socket bound to any address. The options are those of multicast-dns, which
    // bonjour-service passes through but does not declare.
    const options = { interface: one.address, bind: "0.0.0.0" } as ConstructorParameters<typeof Bonjour>[0];
    const trouble = (error: unknown) =>
      browse.onTrouble(`${one.name} (${one.address}) could not be asked over mDNS: ${String(error)}`);
    const bonjour = new Bonjour(options, trouble);
    for (const type of browse.types) {
      const [name = "", protocol = "tcp"] = type.replace(/^_/, "").split("._");
      const browser = bonjour.find({ type: name, protocol: protocol === "udp" ? "udp" : "tcp" }, (found: Found) =>
        browse.onService(serviceOf(found, type)),
      );
      browse.window.onJoin(() => browser.update());
    }
    return bonjour;
  });
  await browse.window.over;
  for (const bonjour of instances) bonjour.destroy();
}

function serviceOf(found: Found, type: string): MdnsService {
  const txt = typeof found.txt === "object" && found.txt !== null ? Object.entries(found.txt) : [];
  return {
    name: found.name.slice(0, 256),
    type,
    port: found.port,
    addresses: (found.addresses ?? []).slice(0, 16),
    txt: Object.fromEntries(txt.slice(0, 64).map(([key, value]) => [key, String(value).slice(0, 512)])),
  };
}
