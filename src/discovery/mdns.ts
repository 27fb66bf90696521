/// <reference path="./multicast-dns.d.ts" />
/** Browsing over mDNS, on each interface, services told as soon as they are known. Knows no platform. */
import multicastDns, { type MulticastDns } from "multicast-dns";
import { systemCode } from "../api/errors.ts";
import type { MdnsService } from "../platforms/platform.ts";
import { Announcements } from "./announcements.ts";
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

/** Browses until the time is over. Without a type nothing is sent. */
export async function browseMdns({ types, interfaces, window, onService, onTrouble }: MdnsBrowse): Promise<void> {
  if (types.length === 0 || interfaces.length === 0) return;
  const heard = (service: MdnsService) => {
    // The system also gives us what comes over interfaces that we did not ask on (RFC 6762, 11).
    if (interfaces.some((one) => isOnLink(service.source, one))) onService(service);
  };
  const browsers = interfaces.map((one) => new Browser(types, one, heard, { onTrouble }));
  const ask = () => {
    for (const browser of browsers) browser.ask();
  };
  window.onExtend(ask);
  const again = setInterval(ask, againAfter);
  ask();
  await window.over;
  clearInterval(again);
  for (const browser of browsers) browser.close();
}

/** Who has just told somebody else of a service says it again only after a second (RFC 6762, 6). */
const againAfter = 1_050;
const askedFor = 1_600;
/** Who asks from a port of its own is answered directly, and without that wait (RFC 6762, 6.7); where no firewall is in between. */
const directlyAt = [250, 600] as const;
/** What a service still lacks comes right after the rest of it, or has to be asked for. */
const restWithin = 60;
/** So often is asked for the rest of services, at most. */
const mostRests = 32;

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
  const found = Promise.withResolvers<MdnsService | null>();
  const heard = (service: MdnsService) => {
    // What this machine announces has one sender for all its loopback addresses.
    if (service.source !== host && !(host.startsWith("127.") && service.addresses.includes(host))) return;
    if (isIt(service)) found.resolve(service);
  };
  const on = (directly: boolean) => interfaces.map((one) => new Browser([type], one, heard, { directly }));
  const [shared, direct] = [on(false), on(true)];
  const timers: ReturnType<typeof setTimeout>[] = [];
  const giveUp = () => found.resolve(null);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    const ask = (browsers: readonly Browser[]) => {
      for (const browser of browsers) browser.ask();
    };
    const later = (ms: number, work: () => void) => timers.push(setTimeout(work, ms));
    ask([...shared, ...direct]);
    later(againAfter, () => ask(shared));
    for (const ms of directlyAt) later(ms, () => ask(direct));
    later(askedFor, giveUp);
    if (signal.aborted) giveUp();
    return await found.promise;
  } finally {
    signal.removeEventListener("abort", giveUp);
    for (const timer of timers) clearTimeout(timer);
    for (const browser of [...shared, ...direct]) browser.close();
  }
}

interface BrowserOptions {
  /** It asks from a port of its own, not from that of all who speak mDNS. */
  readonly directly?: boolean;
  onTrouble?(problem: string): void;
}

/** Asks for services of some types on one interface, and tells each as soon as it is known, and as often as it comes. */
class Browser {
  readonly #announcements: Announcements;
  readonly #onService: (service: MdnsService) => void;
  #line: MulticastDns;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #rests = 0;
  readonly #types: readonly string[];

  constructor(
    types: readonly string[],
    one: Interface,
    onService: (service: MdnsService) => void,
    { directly = false, onTrouble }: BrowserOptions,
  ) {
    this.#types = types;
    this.#announcements = new Announcements(types);
    this.#onService = onService;
    this.#line = this.#open(one, directly);
    if (directly) return;
    let isTaken = false;
    this.#line.on("error", (error) => {
      if (isTaken) return;
      isTaken = true;
      const why = `port 5353 cannot be shared with the program that has it (${systemCode(error)})`;
      onTrouble?.(`${one.name} (${one.address}) is asked over mDNS from another port: ${why}`);
      this.#line.destroy();
      this.#line = this.#open(one, true);
      this.ask();
    });
  }

  /** On Linux multicast arrives only on a socket bound to any address. */
  #open({ address }: Interface, directly: boolean): MulticastDns {
    const line = multicastDns({ interface: address, bind: directly ? false : "0.0.0.0" });
    line.on("response", ({ answers, additionals }, { address: source }) => {
      for (const service of this.#announcements.take([...answers, ...additionals], source)) this.#onService(service);
      if (this.#announcements.isLacking) this.#timer ??= setTimeout(() => this.#askRest(), restWithin);
    });
    return line.on("error", () => {});
  }

  ask(): void {
    for (const type of this.#types) this.#line.query([{ name: `${type}.local`, type: "PTR" }]);
  }

  #askRest(): void {
    this.#timer = undefined;
    for (const name of this.#announcements.lacking().slice(0, mostRests - this.#rests)) {
      this.#rests++;
      // The texts first: an answer that tells the rest completes it then.
      for (const type of ["TXT", "SRV"] as const) this.#line.query([{ name, type }]);
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#line.destroy();
  }
}
