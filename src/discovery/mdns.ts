/// <reference path="./multicast-dns.d.ts" />
/** Browsing for services over mDNS on each interface. Knows no platform. */
import { createSocket, type Socket } from "node:dgram";
import multicastDns, { type MulticastDns } from "multicast-dns";
import { systemCode } from "../api/errors.ts";
import type { MdnsService } from "../platforms/platform.ts";
import { orAborted } from "../system/sleep.ts";
import { Announcements } from "./announcements.ts";
import { datagramLimit } from "./datagram-limit.ts";
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

/** Browses until the window is over. Without types, nothing is sent. */
export async function browseMdns({ types, interfaces, window, onService, onTrouble }: MdnsBrowse): Promise<void> {
  if (types.length === 0 || interfaces.length === 0) return;
  // The system also delivers packets from other interfaces (RFC 6762, 11).
  const isWanted = (source: string) => interfaces.some((one) => isOnLink(source, one));
  const browsers = interfaces.map((one) => new Browser(types, one, { onService, isWanted, onTrouble }));
  const ask = () => {
    for (const browser of browsers) browser.ask();
  };
  window.onExtend(ask);
  const timer = setInterval(ask, repeatAfterMs);
  ask();
  await window.over;
  clearInterval(timer);
  for (const browser of browsers) browser.close();
}

/** A host that has just answered a question does not repeat the answer within a second (RFC 6762, 6). */
const repeatAfterMs = 1_050;
const askTimeoutMs = 1_600;
/** A question from a port of its own is answered directly, without that wait (RFC 6762, 6.7), if no firewall is in between. */
const directRepeatsMs = [250, 600] as const;
/** How long to wait for the missing records of a service before asking for them. */
const missingRecordsMs = 60;
/** How many services' missing records are asked for. */
const maxRecordQuestions = 32;

/** The service of one host. */
export interface WantedService {
  readonly type: string;
  readonly host: string;
  isIt(service: MdnsService): boolean;
  readonly interfaces: readonly Interface[];
}

/** Asks one host for a service, on every interface; `null` where it does not answer soon. */
export async function askMdns(
  { type, host, isIt, interfaces }: WantedService,
  signal: AbortSignal,
): Promise<MdnsService | null> {
  if (interfaces.length === 0) return null;
  const found = Promise.withResolvers<MdnsService | null>();
  // What this machine announces comes from one of its loopback addresses.
  const isWanted = (source: string) => source === host || host.startsWith("127.");
  const onService = (service: MdnsService) => {
    if ((service.source === host || service.addresses.includes(host)) && isIt(service)) found.resolve(service);
  };
  const on = (isDirect: boolean) =>
    interfaces.map((one) => new Browser([type], one, { onService, isWanted, isDirect }));
  const [shared, direct] = [on(false), on(true)];
  const timers: ReturnType<typeof setTimeout>[] = [];
  try {
    const ask = (browsers: readonly Browser[]) => {
      for (const browser of browsers) browser.ask();
    };
    const later = (ms: number, work: () => void) => timers.push(setTimeout(work, ms));
    ask([...shared, ...direct]);
    later(repeatAfterMs, () => ask(shared));
    for (const ms of directRepeatsMs) later(ms, () => ask(direct));
    later(askTimeoutMs, () => found.resolve(null));
    return await orAborted(found.promise, signal).catch(() => null);
  } finally {
    for (const timer of timers) clearTimeout(timer);
    for (const browser of [...shared, ...direct]) browser.close();
  }
}

interface BrowserOptions {
  onService(service: MdnsService): void;
  /** Whether what this host sends is to be read. */
  isWanted(source: string): boolean;
  /** It asks from a port of its own, not from port 5353. */
  readonly isDirect?: boolean;
  onTrouble?(problem: string): void;
}

interface Line {
  readonly mdns: MulticastDns;
  readonly socket: Socket;
}

const group = { address: "224.0.0.251", port: 5353 } as const;
/** Of datagrams with headers (RFC 6762, 17). */
const maxDatagram = 9_000;

/** Asks for services of some types on one interface, and reports each as soon as it is complete, whenever it is announced. */
class Browser {
  readonly #announcements: Announcements;
  readonly #isRead = datagramLimit(maxDatagram);
  readonly #options: BrowserOptions;
  #line: Line;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #questions = 0;
  readonly #types: readonly string[];

  constructor(types: readonly string[], one: Interface, options: BrowserOptions) {
    const { isDirect = false, onTrouble } = options;
    this.#types = types;
    this.#announcements = new Announcements(types);
    this.#options = options;
    this.#line = this.#open(one, isDirect);
    if (isDirect) return;
    let isReplaced = false;
    this.#line.mdns.on("error", (error) => {
      if (isReplaced) return;
      isReplaced = true;
      const why = `another program has port 5353 and does not share it (${systemCode(error)})`;
      onTrouble?.(`The mDNS search on ${one.name} (${one.address}) uses another port: ${why}`);
      this.#line.mdns.destroy();
      this.#line = this.#open(one, true);
      this.ask();
    });
  }

  /** On Linux multicast arrives only on a socket bound to any address. */
  #open({ address }: Interface, isDirect: boolean): Line {
    const socket = createSocket({ type: "udp4", reuseAddr: true });
    const mdns = multicastDns({ socket, interface: address, bind: isDirect ? false : "0.0.0.0" });
    // The library would parse every datagram, and so has them from here.
    const readers = socket.listeners("message");
    socket.removeAllListeners("message");
    socket.on("message", (bytes, from) => {
      if (!isResponse(bytes) || !this.#options.isWanted(from.address)) return;
      if (this.#isRead(bytes.length, from.address)) for (const read of readers) read(bytes, from);
    });
    mdns.on("response", ({ answers, additionals }, { address: source }) => {
      for (const service of this.#announcements.take([...answers, ...additionals], source))
        this.#options.onService(service);
      if (this.#announcements.hasIncomplete) this.#timer ??= setTimeout(() => this.#askMissing(), missingRecordsMs);
    });
    return { mdns: mdns.on("error", () => {}), socket };
  }

  ask(): void {
    for (const type of this.#types) this.#line.mdns.query([{ name: `${type}.local`, type: "PTR" }]);
  }

  #askMissing(): void {
    this.#timer = undefined;
    for (const labels of this.#announcements.takeIncomplete().slice(0, maxRecordQuestions - this.#questions)) {
      this.#questions++;
      // The texts first, since the SRV record completes the service.
      for (const type of ["TXT", "SRV"] as const)
        this.#line.socket.send(questionFor(labels, type), group.port, group.address, () => {});
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#line.mdns.destroy();
  }
}

/** A bit of the third byte of each packet. */
const isResponse = (bytes: Uint8Array): boolean => ((bytes[2] ?? 0) & 0x80) !== 0;

const recordTypes = { TXT: 16, SRV: 33 } as const;

/** A packet that asks for one record. The library cannot write it: to it, each dot of a name ends a label. */
function questionFor(labels: readonly string[], type: keyof typeof recordTypes): Uint8Array {
  const name = labels.flatMap((label) => {
    const bytes = Buffer.from(label);
    return [bytes.length, ...bytes];
  });
  return Uint8Array.of(0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...name, 0, 0, recordTypes[type], 0, 1);
}
