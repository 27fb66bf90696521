import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { root } from "../support/sources.ts";
import { Pty, whyNoPty } from "./pty.ts";

const noPty = whyNoPty();
if (noPty !== null) process.stderr.write(`skipped: the remote in a terminal: ${noPty}\n`);
const main = join(root, "src/main.ts");

test("without a terminal it says so and what to use instead: exit 2", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, "remote"], { input: "" });
  expect([status, stdout.toString()]).toEqual([2, ""]);
  expect(stderr.toString()).toContain("the remote needs a terminal to fill, and here is none");
});

describe.skipIf(noPty !== null)(`in a terminal${noPty === null ? "" : ` (skipped: ${noPty})`}`, () => {
  const living = createRokuSimulator({ name: "Living Room", kind: "tv", ssdp: false, launchMs: 0 });
  const bedroom = createRokuSimulator({ name: "Bedroom", kind: "stick", access: "limited", ssdp: false });
  const open: Pty[] = [];
  let daemon: TestDaemon;

  beforeAll(async () => {
    daemon = await startTestDaemon();
    for (const set of [living, bedroom]) {
      await set.start();
      await daemon.api("POST", "/devices", { host: set.host, port: set.port });
    }
  });
  afterAll(async () => {
    await Promise.all(open.map((one) => one.dispose()));
    await Promise.all([daemon.dispose(), living.stop(), bedroom.stop()]);
  });

  async function remote(env: Record<string, string> = {}): Promise<Pty> {
    const socket = join(daemon.stateFolder, "zapd.sock");
    const pty = new Pty([process.execPath, main, "remote", "--socket", socket, "-d", "Living Room"], env);
    open.push(pty);
    await pty.shows("/ apps");
    await pty.shows(/on · .*volume \d+/);
    return pty;
  }

  const pressed = (pty: Pty, count: number) => pty.until(() => living.keys.length >= count, `${count} keys`);

  test("drives a set: keys in order, what is on it live, apps by their names, text, the next set", async () => {
    const pty = await remote();
    expect(pty.alternate).toBe(true);
    const before = living.keys.length;
    for (const [at, keys] of ["\x1b[B", "\x1bOC", "\r", "\x7f", "h", "+"].entries()) {
      pty.send(keys);
      await pressed(pty, before + at + 1);
    }
    expect(living.keys.slice(before)).toEqual(["Down", "Right", "Select", "Back", "Home", "VolumeUp"]);
    await pty.shows("on · home · volume 19");

    pty.send("/");
    await pty.shows("Netflix");
    pty.send("ytb");
    await pty.shows("▸ YouTube");
    pty.send("\r");
    await pty.shows("on · YouTube");
    living.play({ durationMs: 600_000 });
    await pty.shows(/playing 0:0[1-5] \/ 10:00/);

    pty.send("t");
    await pty.shows("Enter sends");
    pty.send("\x1b[200~hé q\r\x1b[201~");
    await pty.shows("text hé q");
    pty.send("\r");
    await pty.until(() => living.text.includes("hé q"), "the text");

    pty.send("\t");
    await pty.shows("limited: keys are refused");
    pty.send("h");
    await pty.shows("Network access: Enabled");
    expect(pty.text).toContain("Bedroom refused to press home");
    pty.send("q");
    expect(await pty.end()).toBe("0 cooked");
    expect(pty.alternate).toBe(false);
  }, 30_000);

  test("follows the size of the terminal, and a lone Esc leaves", async () => {
    const pty = await remote();
    pty.resize(20, 6);
    await pty.until(() => pty.text.split("\n").length <= 6 && pty.text.includes("Enter select"), "the small screen");
    expect(pty.text.split("\n").filter((line) => line.length > 20)).toEqual([]);
    pty.resize(100, 30);
    await pty.shows("╭───");
    pty.send("\x1b");
    expect(await pty.end()).toBe("0 cooked");
  }, 30_000);

  test("gives the terminal back when it is stopped, and takes it again", async () => {
    const pty = await remote();
    pty.send("\x1a");
    await pty.until(() => pty.written.includes("<<stopped cooked>>"), "the stop");
    await pty.until(() => pty.alternate && pty.text.includes("Living Room"), "the screen again");
    const before = living.keys.length;
    pty.send("h");
    await pressed(pty, before + 1);
    process.kill(pty.job, "SIGTERM");
    expect(await pty.end()).toBe("143 cooked");
    expect(pty.alternate).toBe(false);
  }, 30_000);

  test("gives the terminal back when it crashes, and then says what happened", async () => {
    const terminal = JSON.stringify(join(root, "src/cli/remote/terminal.ts"));
    const script = `const { Terminal } = await import(${terminal}); new Terminal().open({ input() { throw new Error("boom\x1b[2J") } });`;
    const pty = new Pty([process.execPath, "-e", script], {});
    open.push(pty);
    await pty.until(() => pty.alternate, "the alternate screen");
    pty.send("x");
    expect(await pty.end()).toBe("1 cooked");
    expect([pty.alternate, pty.text.includes("zapd: the remote failed: boom[2J")]).toEqual([false, true]);
  }, 30_000);

  test("survives a daemon that goes and comes back", async () => {
    const pty = await remote({ NO_COLOR: "1" });
    await daemon.stop("SIGKILL");
    await pty.shows("the daemon does not answer; trying again");
    expect(pty.written).not.toMatch(/\x1b\[3\dm/);
    daemon = await startTestDaemon({ folder: daemon.folder });
    await pty.shows(/on · .*volume \d+/);
    const before = living.keys.length;
    pty.send("h");
    await pressed(pty, before + 1);
    pty.send("\x03");
    expect(await pty.end()).toBe("0 cooked");
  }, 30_000);
});
