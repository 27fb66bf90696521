/** Answering SSDP searches (UPnP Device Architecture 1.0). */
import type { Socket } from "node:dgram";
import { closeQuietly, joinGroup, type Sender } from "./datagrams.ts";
import type { Discovery } from "./set.ts";

const GROUP = "239.255.255.250";
const PORT = 1900;

/** The header lines of each reply to a search that wants what `wants` says; no replies ignore the search. */
type Replies = (wants: (target: string) => boolean) => readonly (readonly string[])[];

/** One socket receives from the group; another, bound to the address of the set, replies, so that datagram and LOCATION agree. */
export function createResponder(host: string, replies: Replies, delayMs = 0): Discovery {
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let sockets: readonly Socket[] | null = null;
  const onSearch = (datagram: Buffer, sender: Sender) => {
    const asked = targetOf(datagram.toString("latin1"));
    const found = asked === null ? [] : replies((target) => asked === "ssdp:all" || asked === target.toLowerCase());
    if (found.length === 0) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      for (const lines of found)
        sockets?.[1]?.send([...lines, "", ""].join("\r\n"), sender.port, sender.address, () => {});
    }, delayMs);
    timers.add(timer);
  };
  return {
    get on() {
      return sockets !== null;
    },
    async open() {
      sockets ??= await joinGroup(GROUP, PORT, host, onSearch, [host]);
    },
    async close() {
      for (const timer of timers) clearTimeout(timer);
      for (const socket of sockets ?? []) closeQuietly(socket);
      sockets = null;
    },
  };
}

/** The header lines of a search reply, as most UPnP devices send them. `location` is the address of the description. */
export function upnpReply(reply: {
  readonly location: string;
  readonly server: string;
  readonly target: string;
  readonly uuid: string;
}): readonly string[] {
  const { location, server, target, uuid } = reply;
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
