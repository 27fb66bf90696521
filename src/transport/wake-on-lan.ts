/** Wake-on-LAN: the magic packet is six bytes of 0xff and sixteen times the hardware address, over UDP. */
import { createSocket, type Socket } from "node:dgram";
import { isIPv4 } from "node:net";
import { text } from "./json.ts";

/** Reads a MAC address, into lower case with colons; `null` for anything else. */
export function readMac(value: unknown): string | null {
  const mac = text(value)?.toLowerCase().replaceAll("-", ":") ?? "";
  return /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(mac) && mac !== "00:00:00:00:00:00" ? mac : null;
}

/** The magic packet for a MAC address written `aa:bb:cc:dd:ee:ff`. */
export function magicPacket(mac: string): Uint8Array {
  const address = Uint8Array.from(mac.split(":"), (part) => Number.parseInt(part, 16));
  const packet = new Uint8Array(102).fill(0xff);
  for (let at = 6; at < packet.length; at += 6) packet.set(address, at);
  return packet;
}

/** The destinations of the packets for a device: broadcast on every network, and the last known host. */
export function destinationsFor(host: string, broadcasts: readonly string[]): string[] {
  return [...new Set(["255.255.255.255", ...broadcasts, ...(isIPv4(host) ? [host] : [])])];
}

/** Sends the packet for each MAC address to each destination. Failures are ignored, as another path may work. */
export async function sendMagicPackets(
  macs: readonly string[],
  destinations: readonly string[],
  port: number,
): Promise<void> {
  const socket = createSocket("udp4");
  try {
    const isBound = await new Promise<boolean>((resolve) => {
      // Where no file descriptor is left.
      socket.on("error", () => resolve(false));
      socket.bind(0, () => resolve(true));
    });
    if (!isBound) return;
    socket.setBroadcast(true);
    const sent = macs.flatMap((mac) => destinations.map((host) => send(socket, magicPacket(mac), port, host)));
    await Promise.all(sent);
  } finally {
    socket.close();
  }
}

function send(socket: Socket, packet: Uint8Array, port: number, host: string): Promise<void> {
  return new Promise((resolve) => {
    try {
      socket.send(packet, port, host, () => resolve());
    } catch {
      resolve();
    }
  });
}
