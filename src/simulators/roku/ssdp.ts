import { createSocket, type Socket } from "node:dgram";
import type { Model } from "./model.ts";

const GROUP = "239.255.255.250";
const PORT = 1900;

export interface Responder {
  stop(): void;
}

/**
 * Answers searches (1.1). One socket hears the group; another, bound to the set's own address, answers, so that
 * the datagram and LOCATION name the same host. Null when port 1900 cannot be had.
 */
export async function startResponder(model: Model, ecpPort: number, delayMs: number): Promise<Responder | null> {
  const { host } = model.identity;
  const ears = createSocket({ type: "udp4", reuseAddr: true });
  const mouth = createSocket({ type: "udp4", reuseAddr: true });
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let open = true;
  const stop = () => {
    open = false;
    for (const timer of timers) clearTimeout(timer);
    for (const socket of [ears, mouth]) close(socket);
  };
  const hear = (datagram: Uint8Array, asker: { address: string; port: number }) => {
    const reply = answer(model, ecpPort, Buffer.from(datagram).toString("latin1"));
    if (reply === null) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      if (open) mouth.send(reply, asker.port, asker.address, () => {});
    }, delayMs);
    timers.add(timer);
  };
  ears.on("message", hear);
  mouth.on("message", hear);
  try {
    await bind(ears, "0.0.0.0");
    ears.addMembership(GROUP, host.startsWith("127.") ? "127.0.0.1" : host);
    await bind(mouth, host);
  } catch {
    stop();
    return null;
  }
  return { stop };
}

/** Exactly what a set on OS 15.3.4 was captured saying, in its order and case; null for what it ignores. */
function answer(model: Model, ecpPort: number, datagram: string): string | null {
  const [first = "", ...lines] = datagram.split("\r\n");
  if (first !== "M-SEARCH * HTTP/1.1") return null;
  const header = (name: string) =>
    lines
      .find((line) => line.toLowerCase().startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim();
  if (header("man")?.toLowerCase() !== '"ssdp:discover"') return null;
  const target = header("st")?.toLowerCase();
  if (target !== "roku:ecp" && target !== "ssdp:all") return null;
  return [...(model.identity.legacy ? oldReply : reply)(model, ecpPort), "", ""].join("\r\n");
}

function reply({ identity }: Model, ecpPort: number): string[] {
  const { softwareVersion, seed, serial, mac, host } = identity;
  return [
    "HTTP/1.1 200 OK",
    "Cache-Control: max-age=3600",
    "ST: roku:ecp",
    `USN: uuid:roku:ecp:${serial}`,
    "BOOTID.UPNP.ORG: 42",
    "Ext: ",
    `Server: Roku/${softwareVersion} UPnP/1.0 Roku/${softwareVersion}`,
    `LOCATION: http://${host}:${ecpPort}/`,
    `device-group.roku.com: ${seed.slice(20, 40).toUpperCase()}`,
    `WAKEUP: MAC=${mac};Timeout=10`,
  ];
}

function oldReply({ identity }: Model, ecpPort: number): string[] {
  return [
    "HTTP/1.1 200 OK",
    "Cache-Control: max-age=300",
    "ST: roku:ecp",
    `USN: uuid:roku:ecp:${identity.serial}`,
    "Ext: ",
    "Server: Roku UPnP/1.0 MiniUPnPd/1.4",
    `LOCATION: http://${identity.host}:${ecpPort}/`,
  ];
}

function bind(socket: Socket, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(PORT, address, () => {
      socket.off("error", reject);
      socket.on("error", () => {});
      resolve();
    });
  });
}

function close(socket: Socket): void {
  try {
    socket.close();
  } catch {
    // It was never open.
  }
}
