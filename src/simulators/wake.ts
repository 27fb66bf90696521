import { createSocket } from "node:dgram";

export interface WakeListener {
  readonly port: number;
  stop(): Promise<void>;
}

/** Hears magic packets: six bytes of 0xff and the address sixteen times, anywhere in the datagram. */
export function listenForWake(host: string, port: number, mac: string, woken: () => void): Promise<WakeListener> {
  const magic = Buffer.from("ff".repeat(6) + mac.replaceAll(/[^0-9a-f]/gi, "").repeat(16), "hex");
  const socket = createSocket("udp4");
  socket.on("message", (datagram: Uint8Array) => {
    if (Buffer.from(datagram).includes(magic)) woken();
  });
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(port, host, () => {
      socket.off("error", reject);
      socket.on("error", () => {});
      resolve({ port: socket.address().port, stop: () => new Promise((stopped) => socket.close(() => stopped())) });
    });
  });
}
