/** An answer that is a stream: its first word comes at once, silence does not end it, and who hangs up is seen to. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import net from "node:net";
import { join } from "node:path";
import { denoFlags } from "../support/daemon.ts";
import { testFolder } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { requestOf } from "../support/raw-http.ts";
import { root } from "../support/sources.ts";
import { isWhole } from "../support/whole.ts";

/** Longer than Bun waits for a word where its limit is not lifted: 10 s, of which it is reminded every four. */
const silentMs = isWhole ? 16_000 : 1_500;
const script = join(root, "test/runtime/stream.ts");

describe.each([
  ["bun", [process.execPath]],
  ["deno", [join(root, "node_modules/.bin/deno"), "run", ...denoFlags("start")]],
] as const)("under %s", (_runtime, [program, ...words]) => {
  const path = join(testFolder(), "one.sock");
  let server: ChildProcess;
  let port = 0;
  beforeAll(async () => {
    server = spawn(program, [...words, script, path, String(silentMs)], { stdio: ["ignore", "pipe", "inherit"] });
    port = await new Promise<number>((resolve) => server.stdout?.once("data", (said) => resolve(Number(said))));
  });
  afterAll(() => server.kill("SIGKILL"));

  /** Asks for the stream, and calls `heard` with all that has come, whenever more does; ends with the connection. */
  function listen(to: number | string, heard: (text: string, socket: net.Socket) => void): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = net.connect(typeof to === "number" ? { port: to, host: "127.0.0.1" } : { path: to });
      let text = "";
      socket.write(requestOf("GET", "/", ["Host: localhost"]));
      socket.on("data", (bytes) => {
        text += bytes.toString();
        heard(text, socket);
      });
      socket.on("error", reject);
      socket.on("close", () => resolve(text));
    });
  }

  test.each(["port", "socket"])(
    "over the %s",
    async (door) => {
      const start = performance.now();
      let firstAfter = 0;
      const text = await listen(door === "port" ? port : path, (soFar, socket) => {
        if (firstAfter === 0 && soFar.includes("first")) firstAfter = performance.now() - start;
        // One runtime ends the connection with the stream, the other waits for the next request.
        if (soFar.includes("\r\n0\r\n\r\n")) socket.end();
      });
      expect(text).toMatch(/first\n[\s\S]*last\n/);
      expect(firstAfter).toBeLessThan(silentMs);
      expect(performance.now() - start).toBeGreaterThanOrEqual(silentMs - 5);
    },
    silentMs + 10_000,
  );

  test("who hangs up ends it", async () => {
    const before = await (await fetch(`http://127.0.0.1:${port}/left`)).json();
    await listen(port, (text, socket) => text.includes("first") && socket.destroy());
    await listen(path, (text, socket) => text.includes("first") && socket.destroy());
    const left = async () => (await (await fetch(`http://127.0.0.1:${port}/left`)).json()) - before;
    await until("both are seen to have left", async () => (await left()) >= 2);
    expect(await left()).toBe(2);
  });
});
