/** `zapd mcp` by its words: the token, a client's config, wrong words. What it says over stdio is in test/blackbox/mcp.test.ts. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findingOthers } from "../../src/cli/mcp.ts";
import { systemClock } from "../../src/system/sleep.ts";
import { zapdWords } from "../support/daemon.ts";
import { testFolder } from "../support/folder.ts";
import { runZapd } from "./program.ts";

const home = testFolder();
const { PATH } = process.env;
const state = join(home, "state");
const env = { PATH, HOME: home, ZAPD_STATE_DIR: state };
const zapd = (...words: string[]) => runZapd(["mcp", ...words], { env });

test("the token is printed, kept for its owner alone, and made anew when that is asked for", async () => {
  const first = await zapd("token");
  expect([first.status, first.stderr]).toEqual([0, ""]);
  expect(first.stdout).toMatch(/^[\w-]{43}\n$/);
  const file = join(state, "mcp.token");
  expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual([first.stdout, 0o600]);
  const renewed = await zapd("token", "--new", "--json");
  const { token } = JSON.parse(renewed.stdout) as { token: string };
  expect(token).not.toBe(first.stdout.trim());
  expect([(await zapd("token")).stdout.trim(), statSync(file).mode & 0o777]).toEqual([token, 0o600]);
});

test("another daemon is looked for once the one that has answered is away for longer than a restart takes", async () => {
  let now = 0;
  const context = { otherSocket: null as string | null | undefined };
  const fetch = () => Promise.reject(new Error("nobody listens"));
  const api = findingOthers(context, { url: "", lease: undefined, fetch }, { ...systemClock, now: () => now });
  const after = async (ms: number) => {
    now = ms;
    await Promise.resolve(api.fetch(new Request("http://zapd"))).catch(() => {});
    return context.otherSocket;
  };
  expect([await after(1_000), await after(61_000), await after(61_001)]).toEqual([null, null, undefined]);
});

/** Calls tools over stdio, and gives the paths of the daemon's API that were called for them. */
async function called(words: readonly string[], own: Readonly<Record<string, string>>, calls: readonly object[]) {
  const socket = join(home, "answers.sock");
  const paths: string[] = [];
  const answers = Bun.serve({
    unix: socket,
    async fetch(request) {
      const body = await request.text();
      paths.push(`${new URL(request.url).pathname}${body}`);
      return Response.json({ error: { code: "device_not_found", message: "none" } }, { status: 404 });
    },
  });
  const requests = calls.map((params, id) => ({ jsonrpc: "2.0", id: id + 1, method: "tools/call", params }));
  const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const all = [{ jsonrpc: "2.0", id: 0, method: "initialize", params: hello }, ...requests];
  const input = all.map((one) => `${JSON.stringify(one)}\n`).join("");
  const { status } = await runZapd(["mcp", "--socket", socket, ...words], { env: { ...env, ...own }, input });
  await answers.stop(true);
  expect(status).toBe(0);
  return paths.toSorted();
}

test("a tool that names no device is for the one of -d or $ZAPD_DEVICE; a scene only for that of -d", async () => {
  const state = { name: "get_state", arguments: {} };
  const keys = { name: "press_keys", arguments: { keys: ["up"], wait_ms: 0 } };
  const named = { name: "get_state", arguments: { device: "Den" } };
  const scene = { name: "run_scene", arguments: { name: "evening" } };
  const calls = [state, keys, named, scene];
  const leased = { ZAPD_DEVICE: "Bench" };
  const pathsFor = (device: string, body: string) =>
    [
      `/v1/devices/${device}/remote/key{"key":"up"}`,
      `/v1/devices/${device}/state`,
      "/v1/devices/Den/state",
      `/v1/scenes/evening${body}`,
    ].toSorted();
  expect(await called([], {}, calls)).toEqual(pathsFor("default", '{"dry_run":true}'));
  expect(await called([], leased, calls)).toEqual(pathsFor("Bench", '{"dry_run":true}'));
  const withOption = await called(["-d", "Attic"], leased, calls);
  expect(withOption).toEqual(pathsFor("Attic", '{"device":"Attic","dry_run":true}'));
});

test("a client is told how this very program is started; a file that is broken stays as it is", async () => {
  const file = join(home, ".cursor", "mcp.json");
  const added = await zapd("add", "cursor", "--socket", "/run/zapd.sock", "-d", "Kitchen");
  expect([added.status, added.stdout]).toEqual([0, ""]);
  expect(added.stderr).toStartWith(`Cursor knows zapd now: ${file.replace(home, "~")}`);
  const { mcpServers } = JSON.parse(readFileSync(file, "utf8"));
  expect(mcpServers.zapd).toMatchObject({ type: "stdio", command: zapdWords()[0], env: { ZAPD_STATE_DIR: state } });
  expect(mcpServers.zapd.args.slice(-5)).toEqual(["mcp", "--socket", "/run/zapd.sock", "--device", "Kitchen"]);
  // What is written starts it: it answers, and ends with its input.
  const { command, args, env: own } = mcpServers.zapd;
  const hello = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';
  const child = Bun.spawn([command, ...args], {
    env: { ...env, ...own },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  child.stdin.write(hello);
  await child.stdin.flush();
  const { value } = await child.stdout.getReader().read();
  expect(JSON.parse(new TextDecoder().decode(value))).toMatchObject({ id: 1, result: {} });
  child.stdin.end();
  expect(await child.exited).toBe(0);

  mkdirSync(join(home, ".config", "Code", "User"), { recursive: true });
  const broken = join(home, ".config", "Code", "User", "mcp.json");
  writeFileSync(broken, "{\n  servers: {}\n}\n");
  const refused = await zapd("add", "vscode");
  expect(refused.status).toBe(1);
  expect(refused.stderr).toMatch(
    /^zapd: ~\/.*line 2, column 3.*\n +Correct the file and run the command again; nothing was changed\n$/,
  );
  expect(readFileSync(broken, "utf8")).toBe("{\n  servers: {}\n}\n");
});

test("other words are wrong use", async () => {
  for (const words of [["add"], ["add", "emacs"], ["add", "cursor", "vscode"], ["serve"], ["token", "now"]]) {
    const { status, stdout } = await zapd(...words);
    expect([words, status, stdout]).toEqual([words, 2, ""]);
  }
  expect(existsSync(join(home, ".claude.json"))).toBe(false);
});
