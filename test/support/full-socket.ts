/** A program that listens on a socket and was stopped, with as many callers waiting as it lets wait. */
import net from "node:net";

/** Another program that listens on a socket, and gives itself a signal. */
export function listenElsewhere(path: string, signal: "SIGKILL" | "SIGSTOP"): Bun.Subprocess {
  const script = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "${signal}"))`;
  return Bun.spawn([process.execPath, "-e", script]);
}

export async function fullSocket(path: string): Promise<Disposable & { close(): void }> {
  const stopped = listenElsewhere(path, "SIGSTOP");
  const waiting: net.Socket[] = [];
  const connects = () =>
    new Promise<boolean>((resolve) => {
      const socket = net.connect(path, () => resolve(true)).on("error", () => resolve(false));
      waiting.push(socket);
    });
  // The file is there before anybody listens.
  while (!(await connects())) await Bun.sleep(5);
  while (await connects());
  const close = () => {
    for (const socket of waiting) socket.destroy();
    stopped.kill("SIGKILL");
  };
  return { close, [Symbol.dispose]: close };
}
