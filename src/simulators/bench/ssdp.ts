/** What answers searches by SSDP (UPnP Device Architecture 1.0). */
import { createSocket } from "node:dgram";
import { bind, closeQuietly, join } from "./datagrams.ts";
import type { Discovery } from "./set.ts";

const GROUP = "239.255.255.250";
const PORT = 1900;

export interface Responder {
  readonly host: string;
  readonly delayMs: number;
  /** The header lines of each reply to a search for a target, which comes in lower case; none for what is ignored. */
  replies(target: string): readonly (readonly string[])[];
}

/**
 * One socket hears the group; another, bound to the set's own address, answers, so that the datagram and LOCATION name the
 * same host.
 */
export function createResponder({ host, delayMs, replies }: Responder): Discovery {
  let stop: (() => void) | null = null;
  return {
    get on() {
      return stop !== null;
    },
    async open() {
      if (stop !== null) return;
      const ears = createSocket({ type: "udp4", reuseAddr: true });
      const mouth = createSocket({ type: "udp4", reuseAddr: true });
      const timers = new Set<ReturnType<typeof setTimeout>>();
      const hear = (datagram: Uint8Array, asker: { address: string; port: number }) => {
        const target = targetOf(Buffer.from(datagram).toString("latin1"));
        const found = target === null ? [] : replies(target);
        if (found.length === 0) return;
        const timer = setTimeout(() => {
          timers.delete(timer);
          for (const lines of found) mouth.send([...lines, "", ""].join("\r\n"), asker.port, asker.address, () => {});
        }, delayMs);
        timers.add(timer);
      };
      const end = () => {
        for (const timer of timers) clearTimeout(timer);
        for (const socket of [ears, mouth]) closeQuietly(socket);
      };
      for (const socket of [ears, mouth]) socket.on("message", hear);
      try {
        await bind(ears, PORT, "0.0.0.0");
        join(ears, GROUP, host);
        await bind(mouth, PORT, host);
      } catch {
        // Port 1900 is taken: nobody finds the set then.
        return end();
      }
      stop = end;
    },
    async close() {
      stop?.();
      stop = null;
    },
  };
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
