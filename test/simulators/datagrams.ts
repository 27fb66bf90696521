import { createSocket } from "node:dgram";

export function search(target: string, listenMs = 400): Promise<{ text: string; from: string; port: number }[]> {
  const socket = createSocket("udp4");
  const found: { text: string; from: string; port: number }[] = [];
  socket.on("message", (datagram, from) =>
    found.push({ text: datagram.toString(), from: from.address, port: from.port }),
  );
  return new Promise((resolve, reject) => {
    socket.on("error", reject);
    socket.bind(0, "127.0.0.1", () => {
      socket.setMulticastInterface("127.0.0.1");
      const lines = [
        "M-SEARCH * HTTP/1.1",
        "Host: 239.255.255.250:1900",
        'Man: "ssdp:discover"',
        `ST: ${target}`,
        "MX: 1",
      ];
      socket.send([...lines, "", ""].join("\r\n"), 1900, "239.255.255.250");
      setTimeout(() => socket.close(() => resolve(found)), listenMs);
    });
  });
}

export function magicPacket(mac: string): Buffer {
  return Buffer.from("ff".repeat(6) + mac.replaceAll(":", "").repeat(16), "hex");
}

export async function sendDatagram(datagram: Uint8Array, port: number, host: string): Promise<void> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.send(datagram, port, host, () => socket.close(() => resolve())));
}
