/** A TCP relay before the daemon that notes what it answered: a browser hides from its page, and from us, what it blocked. */
import net from "node:net";

export interface Tap {
  readonly port: number;
  /** The status of each answer that passed, in order. */
  readonly statuses: readonly number[];
  stop(): Promise<void>;
}

/** Leads to a port of 127.0.0.1, from one of its own there. */
export async function startTap(target: number): Promise<Tap> {
  const statuses: number[] = [];
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const daemon = net.connect(target, "127.0.0.1");
    for (const [one, other] of [
      [client, daemon],
      [daemon, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => one.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    // Answers come in one piece each: they are short.
    daemon.on("data", (bytes: Buffer) => {
      const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(bytes.toString("latin1")) ?? [];
      if (status) statuses.push(Number(status));
    });
    client.pipe(daemon).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as net.AddressInfo).port,
    statuses,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
