/** `zapd demo` as a process in its own network: in a shared one each demo would find the sets of the others. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DaemonSetup, freePort, programWords } from "./daemon.ts";
import { until } from "./http-device.ts";
import { joined } from "./joined.ts";
import { inOwnNetwork } from "./own-network.ts";
import { saidBy } from "./said.ts";

export type Demo = Awaited<ReturnType<typeof startDemo>>;

/** Starts the demo, for `await using` or until it is stopped, and waits for its introduction. */
export async function startDemo(
  env: Readonly<Record<string, string>> = {},
  { runtime, ...setup }: Pick<DaemonSetup, "runtime" | "fromSource"> = {},
) {
  const port = await freePort();
  const program = programWords(runtime, setup);
  const folder = mkdtempSync(join(tmpdir(), "zapd-demo-"));
  const path = join(folder, "relay");
  const apart = [process.execPath, join(import.meta.dir, "demo-relay.ts"), path, String(port)];
  const [command = "", ...words] = [...(inOwnNetwork ? [...inOwnNetwork, ...apart] : []), ...program];
  const demo = spawn(command, [...words, "demo", "--port", String(port)], { env: { ...process.env, ...env } });
  const said = saidBy(demo);
  const ended = new Promise((resolve) => demo.on("exit", resolve));
  const sockets = new Set<net.Socket>();
  const relay = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    joined(socket, net.connect(path));
  });
  if (inOwnNetwork) relay.listen(port, "127.0.0.1");
  const stop = async () => {
    demo.kill("SIGINT");
    await ended;
    for (const socket of sockets) socket.destroy();
    relay.close();
    rmSync(folder, { recursive: true, force: true });
  };
  await until("the demo has introduced itself", () => said.stdout.includes("Ctrl-C"), 50_000).catch(async (error) => {
    await stop();
    throw error;
  });
  return {
    port,
    stop,
    [Symbol.asyncDispose]: stop,
    /** Pairs its Kodi by the login in its introduction. */
    async logIn() {
      const [, user, password] = /login "(\w+)", password "(\w+)"/.exec(said.stdout) ?? [];
      const init = { method: "POST", body: JSON.stringify({ user, password }) };
      const answer = await fetch(`http://127.0.0.1:${port}/v1/devices/Cinema/pair`, init);
      if (!answer.ok) throw new Error(`the demo's Kodi did not take its login: ${await answer.text()}`);
    },
    /** What it has written to stdout so far. */
    printed: () => said.stdout,
  };
}
