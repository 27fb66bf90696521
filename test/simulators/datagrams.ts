import { createSocket } from "node:dgram";

interface Found {
  readonly text: string;
  readonly from: string;
  readonly port: number;
}

/** Asks once, and listens until these answers are enough, and a little longer for one that comes twice; or so long. */
export function search(target: string, enough: (found: readonly Found[]) => boolean, withinMs = 5_000) {
  const socket = createSocket("udp4");
  const found: Found[] = [];
  return new Promise<readonly Found[]>((resolve, reject) => {
    const end = () => void socket.close(() => resolve(found));
    let timer = setTimeout(end, withinMs);
    socket.on("error", reject);
    socket.on("message", (datagram, { address, port }) => {
      found.push({ text: datagram.toString(), from: address, port });
      if (!enough(found)) return;
      clearTimeout(timer);
      timer = setTimeout(end, 50);
    });
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
