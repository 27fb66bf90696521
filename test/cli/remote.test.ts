import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { root } from "../support/sources.ts";
import { runZapd } from "./program.ts";
import { InTerminal, noJobs } from "./terminal.ts";

if (noJobs) process.stderr.write(`skipped: the remote in a terminal: ${noJobs}\n`);
const main = join(root, "src/main.ts");

test("without a terminal it says so and what to use instead: exit 2", async () => {
  const { status, stdout, stderr } = await runZapd(["remote"], { env: process.env });
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toContain("the remote needs a terminal to fill, and here is none");
});

describe.skipIf(noJobs !== null)(`in a terminal${noJobs ? ` (skipped: ${noJobs})` : ""}`, () => {
  const living = createRokuSimulator({ name: "Living Room", kind: "tv", ssdp: false, launchMs: 0 });
  const bedroom = createRokuSimulator({ name: "Bedroom", kind: "stick", access: "limited", ssdp: false });
  const open: InTerminal[] = [];
  let daemon: TestDaemon;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    for (const set of [living, bedroom]) {
      await set.start();
      await daemon.api("POST", "/devices", { host: set.host, port: set.port });
    }
  });
  afterAll(async () => {
    await Promise.all(open.map((one) => one.ended));
    await Promise.all([daemon.dispose(), living.stop(), bedroom.stop()]);
  });

  function terminal(command: readonly string[], env: Record<string, string> = {}): InTerminal {
    const usual = { ...process.env, LANG: "C.UTF-8", LC_ALL: "", NO_COLOR: "", TERM: "xterm-256color" };
    const pty = InTerminal.withJobs([process.execPath, ...command], { env: { ...usual, ...env } });
    open.push(pty);
    return pty;
  }

  async function remote(env: Record<string, string> = {}): Promise<InTerminal> {
    const socket = join(daemon.stateFolder, "zapd.sock");
    const pty = terminal([main, "remote", "--socket", socket, "-d", "Living Room"], env);
    await pty.fills("/ apps");
    await pty.fills(/on · .*volume \d+/);
    return pty;
  }

  const pressed = (count: number) => until(`${count} keys`, () => living.keys.length >= count);

  test("drives a set: keys in order, what is on it live, apps by their names, text, the next set", async () => {
    const pty = await remote();
    expect(pty.alternate).toBe(true);
    const before = living.keys.length;
    for (const [at, keys] of ["\x1b[B", "\x1bOC", "\r", "\x7f", "h", "+"].entries()) {
      pty.type(keys);
      await pressed(before + at + 1);
    }
    expect(living.keys.slice(before)).toEqual(["Down", "Right", "Select", "Back", "Home", "VolumeUp"]);
    await pty.fills("on · home · volume 19");

    pty.type("/");
    await pty.fills("Netflix");
    pty.type("ytb");
    await pty.fills("▸ YouTube");
    pty.type("\r");
    await pty.fills("on · YouTube");
    living.play({ durationMs: 600_000 });
    await pty.fills(/playing 0:0[1-5] \/ 10:00/);

    pty.type("t");
    await pty.fills("Enter sends");
    pty.type("\x1b[200~hé q\r\x1b[201~");
    await pty.fills("text hé q");
    pty.type("\r");
    await until("the text", () => living.text.includes("hé q"));

    pty.type("\t");
    await pty.fills("limited: keys are refused");
    pty.type("h");
    await pty.fills("Network access: Enabled");
    expect(pty.screen).toContain("Bedroom refused to press home");
    pty.type("q");
    expect(await pty.end()).toBe("0 cooked");
    expect(pty.alternate).toBe(false);
  }, 30_000);

  test("follows the size of the terminal, and a lone Esc leaves", async () => {
    const pty = await remote();
    pty.resize(20, 6);
    const lines = () => pty.screen.split("\n");
    await until("the small screen", () => lines().length <= 6 && pty.screen.includes("Enter select"));
    expect(lines().filter((line) => line.length > 20)).toEqual([]);
    pty.resize(100, 30);
    await pty.fills("╭───");
    pty.type("\x1b");
    expect(await pty.end()).toBe("0 cooked");
  }, 30_000);

  test("gives the terminal back when it is stopped, and takes it again", async () => {
    const pty = await remote();
    pty.type("\x1a");
    await pty.shows(/<<stopped \d+ cooked>>/);
    await until("the screen again", () => pty.alternate && pty.screen.includes("Living Room"));
    const before = living.keys.length;
    pty.type("h");
    await pressed(before + 1);
    process.kill(Number(/<<stopped (\d+)/.exec(pty.text)?.[1]), "SIGTERM");
    expect(await pty.end()).toBe("143 cooked");
    expect(pty.alternate).toBe(false);
  }, 30_000);

  test("gives the terminal back when it crashes, and then says what happened", async () => {
    const path = JSON.stringify(join(root, "src/cli/remote/terminal.ts"));
    const script = `const { Terminal } = await import(${path}); new Terminal().open({ input() { throw new Error("boom\x1b[2J") } });`;
    const pty = terminal(["-e", script]);
    await until("the alternate screen", () => pty.alternate);
    pty.type("x");
    expect(await pty.end()).toBe("1 cooked");
    expect([pty.alternate, pty.screen.includes("zapd: the remote failed: boom[2J")]).toEqual([false, true]);
  }, 30_000);

  test("survives a daemon that goes and comes back", async () => {
    const pty = await remote({ NO_COLOR: "1" });
    await daemon.stop("SIGKILL");
    await pty.fills("the daemon does not answer; trying again");
    expect(pty.text).not.toMatch(/\x1b\[3\dm/);
    daemon = await startTestDaemon({ folder: daemon.folder });
    await pty.fills(/on · .*volume \d+/);
    const before = living.keys.length;
    pty.type("h");
    await pressed(before + 1);
    pty.type("\x03");
    expect(await pty.end()).toBe("0 cooked");
  }, 30_000);
});
