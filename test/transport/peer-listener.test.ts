import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import net from "node:net";
import { join } from "node:path";
import { addressFacing, listenToPeer } from "../../src/transport/peer-listener.ts";
import { until } from "../support/http-device.ts";
import { isRefused } from "../support/listening.ts";
import { root } from "../support/sources.ts";

const program = join(root, "test/transport/peer-listener-program.ts");
const runtimes = {
  bun: [process.execPath, program],
  deno: [
    join(root, "node_modules/deno/deno"),
    "run",
    "--no-prompt",
    "--allow-net",
    "--allow-sys=networkInterfaces",
    program,
  ],
} as const;

/** A listener in a process of its own. */
class Served {
  readonly child: ChildProcess;
  said = "";
  ended: number | null = null;

  constructor(runtime: keyof typeof runtimes, words: readonly string[]) {
    const [command, ...given] = runtimes[runtime];
    this.child = spawn(command, [...given, ...words], { stdio: ["pipe", "pipe", "inherit"] });
    this.child.stdout?.on("data", (bytes: Buffer) => {
      this.said += bytes.toString();
    });
    this.child.on("exit", (code) => {
      this.ended = code ?? -1;
    });
  }

  async url(): Promise<URL> {
    await until("it says where it is", () => this.said.includes("\n"), 20_000);
    return new URL(this.said.split("\n")[0] ?? "");
  }

  /** How many requests it has read so far. */
  async answered(): Promise<number> {
    const before = this.said.length;
    this.child.stdin?.write("?");
    await until("it says how many", () => /answered \d+\n/.test(this.said.slice(before)), 20_000);
    return Number(/answered (\d+)\n/.exec(this.said.slice(before))?.[1]);
  }
}

const open: Served[] = [];
function serve(runtime: keyof typeof runtimes, ...words: string[]): Served {
  const served = new Served(runtime, words);
  open.push(served);
  return served;
}
afterAll(() => {
  for (const { child } of open) child.kill("SIGKILL");
});

interface Heard {
  readonly text: string;
  /** Whether the other side ended it, in whichever way. */
  readonly over: boolean;
}

/** What comes back, once the connection is over or `patienceMs` have passed. */
function talk(
  url: URL,
  sent: string | readonly string[],
  { from = "127.0.0.1", patienceMs = 15_000 } = {},
): Promise<Heard> {
  return new Promise((resolve) => {
    let text = "";
    const socket = net.connect({ host: url.hostname, port: Number(url.port), localAddress: from });
    const timer = setTimeout(() => end(false), patienceMs);
    const end = (over: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, over });
    };
    socket.on("connect", () => {
      for (const one of [sent].flat()) socket.write(one);
    });
    socket.on("data", (bytes: Buffer) => {
      text += bytes.toString("latin1");
    });
    socket.on("error", () => {});
    socket.on("close", () => end(true));
    socket.on("end", () => end(true));
  });
}

const request = (url: URL, method: string, ...headers: string[]) =>
  `${[`${method} ${url.pathname} HTTP/1.1`, `Host: ${url.host}`, ...headers].join("\r\n")}\r\n\r\n`;
const status = ({ text }: Heard) => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
const bodyOf = ({ text }: Heard) => text.slice(text.indexOf("\r\n\r\n") + 4);

for (const runtime of ["bun", "deno"] as const)
  describe(`a listener for one peer, under ${runtime}`, () => {
    let url: URL;
    beforeAll(async () => {
      url = await serve(runtime).url();
    });

    test("it answers the peer at its path, which another listener does not have, and no request at another", async () => {
      const { pathname } = await serve(runtime).url();
      expect(pathname).not.toBe(url.pathname);
      expect(url.hostname).toBe("127.0.0.1");
      expect(url.pathname).toMatch(/^\/[0-9a-f]{32}\/a%20film%20%26%20more%20%C3%BC\.mp4$/);
      const answer = await talk(url, request(url, "GET"));
      expect(answer.text).toContain("connection: close");
      expect([status(answer), bodyOf(answer), answer.over]).toEqual([200, "AAAAA", true]);
      const head = await talk(url, request(url, "HEAD"));
      expect([status(head), bodyOf(head)]).toEqual([200, ""]);
      expect(head.text).toContain("content-length: 5");
      const whole = `GET ${url.href} HTTP/1.0\r\n\r\n`;
      expect(status(await talk(url, whole))).toBe(200);
      const guesses = ["/", "/x/film.mp4", `/${"0".repeat(32)}/a.mp4`, url.pathname.slice(0, 32), "//", "/../"];
      for (const guess of guesses)
        expect([guess, status(await talk(url, `GET ${guess} HTTP/1.1\r\n\r\n`))]).toEqual([guess, 404]);
      const other = await talk(url, request(url, "DELETE"));
      expect([status(other), /allow: (.*)\r/.exec(other.text)?.[1]]).toEqual([405, "GET, HEAD, NOTIFY"]);
    });

    test("a stranger is disconnected before its request is read", async () => {
      const served = serve(runtime);
      const url = await served.url();
      for (const from of ["127.0.0.2", "127.9.9.9"])
        expect(await talk(url, request(url, "GET"), { from })).toEqual({ text: "", over: true });
      expect(await talk(url, "", { from: "127.0.0.3" })).toEqual({ text: "", over: true });
      expect(await served.answered()).toBe(0);
      expect(status(await talk(url, request(url, "GET")))).toBe(200);
      expect(await served.answered()).toBe(1);
    });

    test("a body comes whole, in whatever pieces; one that is too long, of no length or of a strange one is refused", async () => {
      const notify = request(url, "NOTIFY", "SID: uuid:1", "Content-Length: 6");
      expect(bodyOf(await talk(url, [...`${notify}<e/>ü`]))).toBe("uuid:1:<e/>Ã¼");
      for (const [line, expected] of [
        ["Content-Length: 1001", 413],
        ["Content-Length: -1", 400],
        ["Content-Length: 1e3", 400],
        ["Content-Length: 99999999999999999999", 400],
        ["Transfer-Encoding: chunked", 411],
      ] as const)
        expect([line, status(await talk(url, request(url, "NOTIFY", line)))]).toEqual([line, expected]);
    });

    test("what is no request is refused, and one with a long head as soon as it is too long", async () => {
      for (const wrong of [
        "hello\r\n\r\n",
        `GET ${url.pathname}\r\n\r\n`,
        request(url, "GET", "no header"),
        "\r\n\r\n",
      ])
        expect([wrong, status(await talk(url, wrong))]).toEqual([wrong, 400]);
      const long = `GET ${url.pathname}${"x".repeat(20_000)}`;
      expect(status(await talk(url, long))).toBe(431);
      expect(status(await talk(url, request(url, "GET", `A: ${"x".repeat(20_000)}`)))).toBe(431);
    });

    test("a request that is never whole is given up, and so is a connection without one", async () => {
      const url = await serve(runtime, "127.0.0.1", "400").url();
      const halves = ["", "GET /", request(url, "NOTIFY", "Content-Length: 5")];
      for (const half of halves) {
        const heard = await talk(url, half);
        expect([half, heard.over, status(heard)]).toEqual([half, true, 408]);
      }
    });

    test("a flood of connections does not keep the peer out", async () => {
      // They are given up much later.
      const url = await serve(runtime, "127.0.0.1", "120000").url();
      const idle = Array.from({ length: 200 }, () => {
        const socket = net.connect(Number(url.port), url.hostname).resume();
        socket.on("error", () => {});
        let isOpen = true;
        socket.on("close", () => {
          isOpen = false;
        });
        return { socket, isOpen: () => isOpen };
      });
      try {
        await until("only a few are left", () => idle.filter((one) => one.isOpen()).length <= 16);
        expect(status(await talk(url, request(url, "GET")))).toBe(200);
      } finally {
        for (const { socket } of idle) socket.destroy();
      }
    });

    test("an answer is sent as fast as it is taken, also to one that says it sends no more", async () => {
      const length = 50_000_000;
      const got = await new Promise<number>((resolve) => {
        let bytes = 0;
        const socket = net.connect({ host: url.hostname, port: Number(url.port), allowHalfOpen: true });
        socket.on("connect", () => socket.end(request(url, "GET", `Wanted: ${length}`)));
        socket.on("data", (piece: Buffer) => {
          bytes += piece.length;
          if (Math.random() < 0.01) {
            socket.pause();
            setTimeout(() => socket.resume(), 5);
          }
        });
        socket.on("error", () => resolve(-1));
        socket.on("end", () => resolve(bytes));
      });
      expect(got).toBeGreaterThan(length);
    });

    test("its last bytes wait for a peer that is paused", async () => {
      const askPaused = (wanted: string) => {
        const socket = net.connect(Number(url.port), url.hostname).pause();
        socket.write(request(url, "GET", `Wanted: ${wanted}`));
        return socket;
      };
      const first = askPaused("50000000");
      await Bun.sleep(500);
      first.destroy();
      // All of this is written without a wait, but the system does not take all of it.
      const second = askPaused("written");
      await Bun.sleep(2_500);
      let text = "";
      for await (const bytes of second) text += bytes;
      expect(text).toMatch(/content-length: \d{5}/);
      expect(bodyOf({ text, over: true })).toHaveLength(Number(/content-length: (\d+)/.exec(text)?.[1]));
    });

    test("a failure is answered where an answer is still possible, and otherwise closes the connection", async () => {
      expect(status(await talk(url, request(url, "GET", "Wanted: throw")))).toBe(500);
      const half = await talk(url, request(url, "GET", "Wanted: half"));
      expect([half.over, bodyOf(half).length < 1_000]).toEqual([true, true]);
    });

    test("closed, it leaves nothing: connections end, the port is free, and the process goes by itself", async () => {
      const served = serve(runtime);
      const url = await served.url();
      const slow = net.connect(Number(url.port), url.hostname);
      slow.on("error", () => {});
      let isOver = false;
      slow.on("close", () => {
        isOver = true;
      });
      slow.write(request(url, "GET", "Wanted: 100000000"));
      await until("it has begun", () => slow.bytesRead > 0);
      slow.pause();
      served.child.stdin?.end();
      await until("it has ended by itself", () => served.ended !== null);
      expect([served.ended, served.said.endsWith("closed\n")]).toEqual([0, true]);
      slow.resume();
      await until("the connection has ended", () => isOver);
      await until("nobody listens", () => isRefused(url));
    });
  });

test("without a way to the peer there is no listener", async () => {
  const options = { methods: ["GET"], answer: () => ({ status: 200 }) };
  for (const peer of ["", "localhost", "256.1.1.1", "not an address"])
    await expect(listenToPeer({ ...options, peer })).rejects.toMatchObject({ code: "device_unreachable" });
  expect(await addressFacing("127.0.0.1")).toBe("127.0.0.1");
  expect(await addressFacing("::1")).toBe("::1");
});
