import { createSocket, type Socket } from "node:dgram";

const GROUP = "239.255.255.250";
const PORT = 1900;

export interface Responder {
  stop(): void;
}

/** The header lines of each reply to a search for a target, which comes in lower case; none for what is ignored. */
export type Replies = (target: string) => readonly (readonly string[])[];

/**
 * Answers searches. One socket hears the group; another, bound to the set's own address, answers, so that the
 * datagram and LOCATION name the same host. Null when port 1900 cannot be had.
 */
export async function startResponder(host: string, delayMs: number, replies: Replies): Promise<Responder | null> {
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
    const target = targetOf(Buffer.from(datagram).toString("latin1"));
    const found = target === null ? [] : replies(target);
    if (found.length === 0) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      for (const lines of found)
        if (open) mouth.send([...lines, "", ""].join("\r\n"), asker.port, asker.address, () => {});
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
