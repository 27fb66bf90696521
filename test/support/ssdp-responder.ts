/** Answers searches for a unique target: others may search on this machine meanwhile. */
import { randomUUID } from "node:crypto";
import dgram from "node:dgram";

export type Responder = Awaited<ReturnType<typeof startResponder>>;

/**
 * Starts to answer searches for its target, which it gives back with the texts of the searches that came; `reply` gets the
 * number of the search, from 1, and returns the datagrams to send.
 */
export async function startResponder(reply: (number: number, target: string) => readonly (string | Uint8Array)[]) {
  const target = `zapd-test:${randomUUID()}`;
  const searches: string[] = [];
  const socket = dgram.createSocket({ type: "udp4", reuseAddr: true });
  socket.on("message", (bytes, from) => {
    const text = bytes.toString();
    if (!text.includes(target)) return;
    searches.push(text);
    for (const datagram of reply(searches.length, target)) socket.send(datagram, from.port, from.address);
  });
  await new Promise<void>((resolve, reject) => {
    socket.on("error", reject);
    socket.bind(1900, "0.0.0.0", resolve);
  });
  socket.addMembership("239.255.255.250", "127.0.0.1");
  return { target, searches, stop: () => socket.close() };
}

/** A valid answer. */
export function found(target: string, location: string): string {
  const lines = ["HTTP/1.1 200 OK", `ST: ${target}`, "USN: uuid:1", `LOCATION: ${location}`, "Ext:"];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** Why searches cannot be received here, or `null`. */
export async function whyNoSearches(): Promise<string | null> {
  return startResponder(() => []).then(
    (responder) => {
      responder.stop();
      return null;
    },
    (error: unknown) => `port 1900 cannot be shared on this machine (${String(error)})`,
  );
}
