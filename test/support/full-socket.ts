/** A program that listens on a socket and was stopped, with as many callers waiting as it lets wait. */
import { existsSync } from "node:fs";
import net from "node:net";

/** Another program that listens on a socket, and gives itself a signal. */
export function listenElsewhere(path: string, signal: "SIGKILL" | "SIGSTOP"): Bun.Subprocess {
  const script = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "${signal}"))`;
  return Bun.spawn([process.execPath, "-e", script]);
}

export async function fullSocket(path: string): Promise<{ close(): void }> {
  const stopped = listenElsewhere(path, "SIGSTOP");
  while (!existsSync(path)) await Bun.sleep(5);
  const waiting: net.Socket[] = [];
  const connects = () =>
    new Promise<boolean>((resolve) => {
      const socket = net.connect(path, () => resolve(true)).on("error", () => resolve(false));
      waiting.push(socket);
    });
  while (await connects());
  return {
    close() {
      for (const socket of waiting) socket.destroy();
      stopped.kill("SIGKILL");
    },
  };
}
