/** Wake-on-LAN: the magic packet is six bytes of 0xff and sixteen times the hardware address, over UDP. */
import { createSocket, type Socket } from "node:dgram";
import { isIPv4 } from "node:net";
import { text } from "./json.ts";

/** A hardware address as a device says it, in lower case with colons; `null` where it says none. */
export function readMac(said: unknown): string | null {
  const mac = text(said)?.toLowerCase().replaceAll("-", ":") ?? "";
  return /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(mac) && mac !== "00:00:00:00:00:00" ? mac : null;
}

/** The magic packet for a hardware address written `aa:bb:cc:dd:ee:ff`. */
export function magicPacket(mac: string): Uint8Array {
  const address = Uint8Array.from(mac.split(":"), (part) => Number.parseInt(part, 16));
  const packet = new Uint8Array(102).fill(0xff);
  for (let at = 6; at < packet.length; at += 6) packet.set(address, at);
  return packet;
}

/** Where the packets for a device go: to everybody on every network, and straight to the host where it was last. */
export function destinationsFor(host: string, broadcasts: readonly string[]): string[] {
  return [...new Set(["255.255.255.255", ...broadcasts, ...(isIPv4(host) ? [host] : [])])];
}

/** Sends the packet for each address to each destination. What cannot be sent is left out: another path may still work. */
export async function sendMagicPackets(
  macs: readonly string[],
  destinations: readonly string[],
  port: number,
): Promise<void> {
  const socket = createSocket("udp4");
  socket.on("error", () => {});
  try {
    await new Promise<void>((resolve) => socket.bind(0, () => resolve()));
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
