/** What answers searches by SSDP (UPnP Device Architecture 1.0). */
import type { Socket } from "node:dgram";
import { closeQuietly, joinGroup, type Sender } from "./datagrams.ts";
import type { Discovery } from "./set.ts";

const GROUP = "239.255.255.250";
const PORT = 1900;

export interface ResponderOptions {
  readonly host: string;
  readonly delayMs: number;
  /** The header lines of each reply to a search for a target, which comes in lower case; none for what is ignored. */
  replies(target: string): readonly (readonly string[])[];
}

/** One socket hears the group; another, bound to the set's own address, answers, so that datagram and LOCATION agree. */
export function createResponder({ host, delayMs, replies }: ResponderOptions): Discovery {
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let sockets: readonly Socket[] | null = null;
  const hear = (datagram: Buffer, asker: Sender) => {
    const target = targetOf(datagram.toString("latin1"));
    const found = target === null ? [] : replies(target);
    if (found.length === 0) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      for (const lines of found)
        sockets?.[1]?.send([...lines, "", ""].join("\r\n"), asker.port, asker.address, () => {});
    }, delayMs);
    timers.add(timer);
  };
  return {
    get on() {
      return sockets !== null;
    },
    async open() {
      sockets ??= await joinGroup(GROUP, PORT, host, hear, [host]);
    },
    async close() {
      for (const timer of timers) clearTimeout(timer);
      for (const socket of sockets ?? []) closeQuietly(socket);
      sockets = null;
    },
  };
}

/** The header lines of a reply, as most devices give them: what was found of the device of a UUID, and where that says what it is. */
export function upnpReply(found: {
  readonly location: string;
  readonly server: string;
  readonly target: string;
  readonly uuid: string;
}): readonly string[] {
  const { location, server, target, uuid } = found;
  return [
    "HTTP/1.1 200 OK",
    "CACHE-CONTROL: max-age=1800",
    "EXT:",
    `LOCATION: ${location}`,
    `SERVER: ${server}`,
    `ST: ${target}`,
    `USN: ${target.startsWith("uuid:") ? target : `uuid:${uuid}::${target}`}`,
  ];
}

function targetOf(datagram: string): string | null {
  const [first = "", ...lines] = datagram.split("\r\n");
  if (first !== "M-SEARCH * HTTP/1.1") return null;
  const header = (name: string) =>
    lines
      .find((line) => line.toLowerCase().startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim();
  if (header("man")?.toLowerCase() !== '"ssdp:discover"') return null;
  return header("st")?.toLowerCase() ?? null;
}
