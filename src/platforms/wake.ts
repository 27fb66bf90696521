/** Wake-on-LAN: the magic packet is six bytes of 0xff and sixteen times the hardware address, over UDP. */
import type dgram from "node:dgram";

/** The magic packet for a hardware address written `aa:bb:cc:dd:ee:ff`. */
export function magicPacket(mac: string): Uint8Array {
  const address = Uint8Array.from(mac.split(":"), (part) => Number.parseInt(part, 16));
  const packet = new Uint8Array(102).fill(0xff);
  for (let at = 6; at < packet.length; at += 6) packet.set(address, at);
  return packet;
}

/** Sends the packet for each address to each destination. What cannot be sent is left out: another path may still work. */
export async function sendMagicPackets(
  macs: readonly string[],
  destinations: readonly string[],
  port: number,
): Promise<void> {
  const { createSocket } = await import("node:dgram");
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

function send(socket: dgram.Socket, packet: Uint8Array, port: number, host: string): Promise<void> {
  return new Promise((resolve) => {
    try {
      socket.send(packet, port, host, () => resolve());
    } catch {
      resolve();
    }
  });
}
