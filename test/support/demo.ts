/** `zapd demo` as its own process. One at a time on this machine: its sets are the same in each, and are found by each. */
import { spawn } from "node:child_process";
import net from "node:net";
import { join } from "node:path";
import { freePort } from "./daemon.ts";
import { root } from "./sources.ts";

/** For a block by `await using`, or until it is stopped. */
export interface Demo extends AsyncDisposable {
  readonly port: number;
  /** Gives its Kodi the login that its introduction tells. */
  logIn(): Promise<void>;
  /** What it has written to stdout so far. */
  printed(): string;
  stop(): Promise<void>;
}

/** Who has this port has the demo; it is let go however its holder ends. */
const turnPort = 47_272;
const turnWithin = 60_000;

/** Starts the demo, with more in its environment, when no other test has one, and waits for its introduction. */
export async function startDemo(env: Readonly<Record<string, string>> = {}): Promise<Demo> {
  const turn = await takeTurn();
  const port = await freePort();
  const made = process.env["ZAPD_TEST_PROGRAM"];
  const [program = "", ...words] = made ? [join(root, made)] : [process.execPath, join(root, "src/main.ts")];
  const demo = spawn(program, [...words, "demo", "--port", String(port)], {
    env: { ...process.env, ...env },
  });
  let printed = "";
  demo.stdout.on("data", (bytes: Buffer) => {
    printed += bytes.toString();
  });
  const ended = new Promise((resolve) => demo.on("exit", resolve));
  for (let tries = 0; tries < 400 && !printed.includes("Ctrl-C"); tries++) await Bun.sleep(25);
  const stop = async () => {
    demo.kill("SIGINT");
    await ended;
    turn?.close();
  };
  return {
    ...{ port, stop, [Symbol.asyncDispose]: stop },
    async logIn() {
      const [, user, password] = /login "(\w+)", password "(\w+)"/.exec(printed) ?? [];
      const init = { method: "POST", body: JSON.stringify({ user, password }) };
      const answer = await fetch(`http://127.0.0.1:${port}/v1/devices/Cinema/pair`, init);
      if (!answer.ok) throw new Error(`the demo's Kodi did not take its login: ${await answer.text()}`);
    },
    printed: () => printed,
  };
}

/** The turn; `null` when the port has been somebody else's for so long that it is no test's. */
async function takeTurn(): Promise<net.Server | null> {
  for (const end = performance.now() + turnWithin; performance.now() < end; await Bun.sleep(100)) {
    const server = net.createServer();
    const taken = await new Promise<boolean>((resolve) => {
      server.on("error", () => resolve(false));
      server.listen(turnPort, "127.0.0.1", () => resolve(true));
    });
    if (taken) return server;
  }
  return null;
}
