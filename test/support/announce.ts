/** Answers SSDP searches on loopback for one set, from its address; the answer may be false. */
import { createResponder } from "../../src/simulators/bench/ssdp.ts";

export interface Announced {
  readonly host: string;
  readonly port: number;
  readonly serial: string;
  readonly asleep: boolean;
  readonly identity: { readonly mac: string };
}

export interface SsdpOptions {
  /** The delay of an answer. */
  readonly delayMs?: number;
  readonly location?: string;
  readonly target?: string;
  readonly usn?: string;
  /** As old firmware: other headers, in lower case. */
  readonly old?: boolean;
}

export type Voice = Awaited<ReturnType<typeof announce>>;

export async function announce(set: Announced, options: SsdpOptions = {}) {
  let searches = 0;
  const replies = (wants: (target: string) => boolean) => {
    if (set.asleep || !wants("roku:ecp")) return [];
    searches++;
    return [answerOf(set, options)];
  };
  const responder = createResponder(set.host, replies, options.delayMs ?? 20);
  await responder.open();
  if (!responder.on) throw new Error("port 1900 cannot be shared on this machine");
  return {
    /** How many searches were answered. */
    get searches() {
      return searches;
    },
    stop: () => responder.close(),
  };
}

function answerOf({ host, port, serial, identity }: Announced, options: SsdpOptions): string[] {
  const location = options.location ?? `http://${host}:${port}/`;
  const target = options.target ?? "roku:ecp";
  const usn = options.usn ?? `uuid:roku:ecp:${serial}`;
  const first = "HTTP/1.1 200 OK";
  if (options.old) {
    const named = [`st: ${target}`, `location: ${location}`, `usn: ${usn}`];
    return [first, "cache-control: max-age=300", ...named, "server: Roku UPnP/1.0 MiniUPnPd/1.4", "ext:"];
  }
  return [
    first,
    "Cache-Control: max-age=3600",
    `ST: ${target}`,
    `USN: ${usn}`,
    "BOOTID.UPNP.ORG: 7",
    "Ext: ",
    "Server: Roku/14.6.4 UPnP/1.0 Roku/14.6.4",
    `LOCATION: ${location}`,
    "device-group.roku.com: 0A1B2C3D4E5F60718293",
    `WAKEUP: MAC=${identity.mac};Timeout=10`,
  ];
}
