/** What a command says of a socket behind which there is no zapd that answers. */
import { afterAll, describe, expect, test } from "bun:test";
import { chownSync, lchownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import net from "node:net";
import { dirname, join } from "node:path";
import { Context } from "../../src/cli/context.ts";
import { tryCall } from "../../src/cli/requests.ts";
import { denoFlags } from "../support/daemon.ts";
import { testFolder } from "../support/folder.ts";
import { fullSocket } from "../support/full-socket.ts";
import { root } from "../support/sources.ts";
import { runProgram, runZapd } from "./program.ts";

const folder = testFolder();
const servers: { close(): unknown }[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

/** A server that says this to whoever has asked, and hangs up. */
async function sayingOnly(text: string): Promise<string> {
  const path = join(folder, `${servers.length}.sock`);
  const server = net.createServer((socket) => socket.once("data", () => socket.end(text)));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  servers.push(server);
  return path;
}

const env = { PATH: process.env["PATH"], HOME: folder };
const run = (socket: string, ...words: string[]) => runZapd([...words, "--socket", socket], { env });
const deno = [join(root, "node_modules/deno/deno"), "run", ...denoFlags("start"), join(root, "src/main.ts")];
const runInDeno = (socket: string, ...words: string[]) => runProgram([...deno, ...words, "--socket", socket], { env });

test("the socket that the config names is asked, in whichever way it is written there", async () => {
  const config = join(folder, "config.toml");
  const socket = await sayingOnly("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nnull");
  for (const text of [
    `[daemon]\n# socket = "/not/this"\n  socket = '${socket}' # this\n`,
    `daemon = { http_port = 7272, socket = "${socket}" }\n`,
    `[daemon]\r\n"socket"="${socket}"\r\n`,
    `daemon . socket = "${socket}"\n`,
  ]) {
    writeFileSync(config, text);
    const { stderr } = await runZapd(["status", "--config", config], { env });
    expect([text, stderr]).toEqual([text, `zapd: the program that answers at ${socket} is not zapd.\n`]);
  }
});

test("a call that takes too long does not say that it was the daemon: a device may be slow", async () => {
  const path = join(folder, "slow.sock");
  const server = net.createServer(() => {});
  await new Promise<void>((resolve) => server.listen(path, resolve));
  servers.push(server);
  const context = new Context({ values: { socket: path }, positionals: [] });
  expect(await tryCall(context, "listApps", { id: "Den" }, 1_000)).toEqual({
    ok: false,
    code: "daemon_not_running",
    message: "no answer within 1 s",
  });
});

test("of a list that is empty no head is printed", async () => {
  const data = { device: { name: "Den" }, platform: "roku", apps: [], inputs: [], channels: [] };
  const json = JSON.stringify({ ok: true, data });
  const socket = await sayingOnly(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n${json}`,
  );
  for (const [list, said] of [
    ["apps", "no app is installed"],
    ["inputs", "Den has no inputs"],
    ["channels", "Den has no channels"],
  ] as const) {
    expect(await run(socket, list)).toMatchObject({ status: 0, stdout: "", stderr: `${said}\n` });
    expect((await run(socket, list, "--json")).stdout).toBe(`${json}\n`);
  }
});

const noStranger = process.getuid?.() === 0 ? "" : " (skipped: only root can make a socket of another user)";
test.skipIf(noStranger !== "")(
  `T17 a socket of another user that the config names, or a link or a folder of theirs, is sent nothing; one that is named is asked${noStranger}`,
  async () => {
    const stranger = 65_534;
    const config = join(folder, "theirs.toml");
    const socket = await sayingOnly("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nnull");
    const link = join(folder, "link.sock");
    symlinkSync(socket, link);
    lchownSync(link, stranger, stranger);
    const below = join(folder, "theirs", "link.sock");
    mkdirSync(dirname(below));
    symlinkSync(socket, below);
    chownSync(dirname(below), stranger, stranger);
    const words = ["config", "set", "dev.vendor_password", "-", "--config", config];
    const refused = (path: string) => ({
      stdout: "",
      stderr: `zapd: the daemon's socket belongs to another user: ${path}.\n      Correct daemon.socket in ~/theirs.toml, or name the socket with --socket if you trust its owner\n`,
      status: 5,
    });
    for (const path of [link, below, socket]) {
      if (path === socket) chownSync(socket, stranger, stranger);
      writeFileSync(config, `daemon.socket = "${path}"\ndiscovery.interfaces = ["nowhere"]\n`);
      expect(await runZapd(words, { env, input: "secret\n" })).toEqual(refused(path));
    }
    const doctor = await runZapd(["doctor", "--config", config], { env });
    expect(doctor.stdout).toStartWith(`FAIL  the control socket ~/`);
    expect(doctor.stdout).toContain("belongs to another user");
    expect((await run(socket, ...words)).stderr).toBe(`zapd: the program that answers at ${socket} is not zapd.\n`);
  },
);

test("a daemon is given no socket by an option", async () => {
  const { stderr, status } = await run(join(folder, "mine.sock"), "serve");
  expect([status, stderr]).toEqual([2, expect.stringContaining("daemon.socket")]);
});

describe("behind the socket", () => {
  test.each([run, runInDeno])("nobody", async (run) => {
    writeFileSync(join(folder, "file"), "");
    for (const socket of [join(folder, "none"), join(folder, "file"), join(folder, "long".repeat(60))]) {
      const { stderr, status } = await run(socket, "key", "home");
      expect(stderr).toStartWith(`zapd: the daemon is not running: nothing answers at ${socket}. Start it with`);
      expect(status).toBe(7);
    }
  });

  test.each([run, runInDeno])("one who hangs up, before or in the middle of an answer", async (run) => {
    for (const said of ["", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"]) {
      const { stderr, status } = await run(await sayingOnly(said), "state");
      expect(stderr).toBe("zapd: the daemon closed the connection without an answer.\n      Its log says why\n");
      expect(status).toBe(1);
    }
  });

  test("what its runtime does not permit is no fault of zapd or of its daemon", async () => {
    const bare = [join(root, "node_modules/deno/deno"), "run", "--no-prompt", "--unstable-net"];
    const socket = await sayingOnly("");
    for (const permitted of [[], ["--allow-env", "--allow-read=."]]) {
      const words = [...bare, ...permitted, join(root, "src/main.ts"), "state", "--socket", socket];
      const { stderr, status } = await runProgram(words, { env, cwd: root });
      expect([stderr, status]).toEqual([
        expect.stringMatching(/^zapd: its runtime does not permit this: .* run again with the --allow-\w+ flag\.\n$/),
        1,
      ]);
    }
    const given = [join(root, "src/main.ts"), "run", join(folder, "none.toml")];
    const { stderr } = await runProgram([...bare, "--allow-env", "--allow-read=src", ...given], { env, cwd: root });
    expect(stderr).toContain("none.toml could not be read (Requires read access");
  });

  test.skipIf(process.platform !== "linux")("one that is stopped, with all the callers that may wait", async () => {
    const path = join(folder, "full.sock");
    servers.push(await fullSocket(path));
    for (const runs of [run, runInDeno]) {
      const { stderr, status } = await runs(path, "key", "home");
      expect([stderr, status]).toEqual([expect.stringMatching(/^zapd: the daemon does not answer: too many/), 7]);
    }
  });

  test("one that is stopped: what needs no device is not waited for without end", async () => {
    const path = join(folder, "stopped.sock");
    servers.push(net.createServer().listen(path));
    const fast = { env: { ...env, ZAPD_TEST_SPEED: "60" } };
    for (const words of [
      ["devices", "--json"],
      ["status", "--json"],
      ["config", "get", "--json"],
    ]) {
      const { stdout, stderr, status } = await runZapd([...words, "--socket", path], fast);
      expect([words, status, stderr]).toEqual([
        words,
        7,
        expect.stringMatching(/^zapd: the daemon does not answer\.\n/),
      ]);
      expect(JSON.parse(stdout).error.code).toBe("daemon_not_running");
    }
  }, 120_000);

  test("one who does not answer, and is not waited for much longer than the wait for a state takes", async () => {
    const path = join(folder, "silent.sock");
    servers.push(net.createServer().listen(path));
    const { stderr, status } = await run(path, "wait", "power:on", "--timeout", "100ms");
    expect([stderr, status]).toEqual(["zapd: the daemon did not answer.\n", 7]);
  }, 20_000);

  test("one whose scene takes longer than --timeout: under Deno the stream of its steps ends as if it were over", async () => {
    const path = join(folder, "steps.sock");
    const endless = new ReadableStream({ start: (stream) => stream.enqueue("\n") });
    const headers = { "content-type": "application/x-ndjson" };
    const server = Bun.serve({ unix: path, fetch: () => new Response(endless, { headers }) });
    servers.push({ close: () => server.stop(true) });
    const { stderr, status } = await runInDeno(path, "run", "movie-night", "--timeout", "500ms");
    expect([stderr, status]).toEqual(["zapd: no answer within 500 ms, the time given with --timeout.\n", 4]);
  }, 20_000);

  test("another program", async () => {
    for (const body of ["<html>hello</html>", '"text"', "[]", "null", "{}", '{"ok":false}', '{"ok":true}']) {
      const socket = await sayingOnly(`HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${body}`);
      const { stdout, stderr, status } = await run(socket, "devices", "--json");
      expect(stderr).toBe(`zapd: the program that answers at ${socket} is not zapd.\n`);
      expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: "internal_error" } });
      expect(status).toBe(1);
    }
  });
});
