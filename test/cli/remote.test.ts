import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { startTestDaemon, type TestDaemon, zapdWords } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { joined } from "../support/joined.ts";
import { root } from "../support/sources.ts";
import { runZapd } from "./program.ts";
import { InTerminal, noJobs } from "./terminal.ts";

if (noJobs) process.stderr.write(`skipped: the remote in a terminal: ${noJobs}\n`);

test("without a terminal it says so and what to use instead: exit 2", async () => {
  const { status, stdout, stderr } = await runZapd(["remote"], { env: process.env });
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toContain("the remote needs a terminal, but there is none");
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
    const pty = InTerminal.withJobs(command, { env: { ...usual, ...env } });
    open.push(pty);
    return pty;
  }

  async function remote(env: Record<string, string> = {}, program = zapdWords()): Promise<InTerminal> {
    const socket = join(daemon.stateFolder, "zapd.sock");
    const pty = terminal([...program, "remote", "--socket", socket, "-d", "Living Room"], env);
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
    pty.type("25");
    await pty.fills("Enter sets it");
    pty.type("\r");
    await pty.fills("on · home · volume 25");

    pty.type("s");
    await pty.fills("HDMI 2");
    pty.type("hdmi 2\r");
    await pty.fills("on · HDMI 2 · volume 25");

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
    await pty.fills("Bedroom refused to press home");
    expect(pty.screen).toContain("Network access: Enabled");
    pty.type("q");
    expect(await pty.end()).toBe("0 cooked");
    expect(pty.alternate).toBe(false);
    // Keys that come up were asked for, and are no more.
    const modes = [...pty.text.matchAll(/\x1b\[(>2u|<u|\?1049[hl])/g)].map(([, mode]) => mode);
    expect(modes).toEqual(["?1049h", ">2u", "<u", "?1049l"]);
  }, 60_000);

  test("is told what happens, and asks nothing", async () => {
    const asked: string[] = [];
    const socket = join(daemon.folder, "tapped.sock");
    const tap = createServer((client) => {
      client.on("data", (bytes) => asked.push(...(`${bytes}`.match(/^[A-Z]+ \S+(?= HTTP)/gm) ?? [])));
      joined(client, connect(join(daemon.stateFolder, "zapd.sock")));
    }).listen(socket);
    const pty = terminal([...zapdWords(), "remote", "--socket", socket, "-d", "Living Room"]);
    await pty.fills(/on · .*volume \d+/);
    living.play({ durationMs: 700_000 });
    await pty.fills("/ 11:40");
    // It runs on the screen, whatever the daemon says meanwhile.
    const shown = () => /playing (\d+:\d+)/.exec(pty.screen)?.[1];
    const seen = new Set<string | undefined>();
    await until("four seconds on the screen", () => seen.add(shown()).size >= 4, 10_000);
    const attic = createRokuSimulator({ name: "Attic", kind: "stick", ssdp: false });
    await attic.start();
    const { body } = await daemon.api("POST", "/devices", { host: attic.host, port: attic.port });
    await pty.fills("1/3");
    await daemon.api("PATCH", "/devices/Living%20Room", { name: "Wohnzimmer 客" });
    await pty.fills("Wohnzimmer 客");
    pty.type("\t\t");
    await pty.fills("Attic");
    await daemon.api("DELETE", `/devices/${body.data.id}`);
    await pty.fills("Attic is no longer known");
    await pty.fills(/^ Wohnzimmer 客 .*1\/2$/m);
    await daemon.api("PATCH", `/devices/${encodeURIComponent("Wohnzimmer 客")}`, { name: "Living Room" });
    await pty.fills(/^ Living Room .*1\/2$/m);
    expect(asked).toEqual(["GET /v1/devices/Living%20Room", "GET /v1/events"]);
    pty.type("q");
    expect(await pty.end()).toBe("0 cooked");
    tap.close();
    await attic.stop();
  }, 60_000);

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
  }, 60_000);

  test("ends without waiting for the notice of a press that was refused meanwhile", async () => {
    const pty = await remote();
    pty.type("\t");
    await pty.fills("limited: keys are refused");
    const since = performance.now();
    pty.type("hq");
    expect(await pty.end()).toBe("0 cooked");
    expect(performance.now() - since).toBeLessThan(5_000);
  }, 60_000);

  test("ends without waiting for a command that takes long", async () => {
    const socket = join(daemon.folder, "deaf.sock");
    const isCommand = Promise.withResolvers<void>();
    const tap = createServer((client) => {
      const house = connect(join(daemon.stateFolder, "zapd.sock"));
      client.once("data", (bytes) => {
        if (`${bytes}`.startsWith("POST")) return isCommand.resolve();
        house.write(bytes);
        joined(client, house);
      });
    }).listen(socket);
    const pty = terminal([...zapdWords(), "remote", "--socket", socket, "-d", "Living Room"]);
    await pty.fills(/on · .*volume \d+/);
    pty.type("h");
    await isCommand.promise;
    const since = performance.now();
    pty.type("q");
    expect(await pty.end()).toBe("0 cooked");
    expect(performance.now() - since).toBeLessThan(5_000);
    tap.close();
  }, 60_000);

  test.each([
    ["", zapdWords()],
    [", behind its launcher", ["node", join(root, "src/cli/zapd.mjs")]],
  ])(
    "gives the terminal back when it is stopped, and takes it again%s",
    async (_how, program) => {
      const pty = await remote({}, program);
      pty.type("\x1a");
      await pty.shows(/<<stopped \d+ cooked>>/);
      // Not on the screen that is left: what a shell writes there is lost.
      expect(pty.text.split("<<stopped")[0]).toContain("\x1b[?1049l");
      await until("the screen again", () => pty.alternate && pty.screen.includes("Living Room"));
      const before = living.keys.length;
      pty.type("h");
      await pressed(before + 1);
      process.kill(Number(/<<stopped (\d+)/.exec(pty.text)?.[1]), "SIGTERM");
      expect(await pty.end()).toBe("143 cooked");
      expect(pty.alternate).toBe(false);
    },
    60_000,
  );

  test("gives the terminal back when it crashes, and then says what happened", async () => {
    const path = JSON.stringify(join(root, "src/cli/remote/terminal.ts"));
    const script = `const { Terminal } = await import(${path}); new Terminal().open({ input() { throw new Error("boom\x1b[2J") } });`;
    const pty = terminal([process.execPath, "-e", script]);
    await until("the alternate screen", () => pty.alternate);
    pty.type("x");
    expect(await pty.end()).toBe("1 cooked");
    expect([pty.alternate, pty.screen.includes("zapd: the remote failed: boom[2J")]).toEqual([false, true]);
  }, 60_000);

  test("ends when its window is closed", async () => {
    const socket = join(daemon.stateFolder, "zapd.sock");
    const pty = new InTerminal([...zapdWords(), "remote", "--socket", socket], { env: process.env });
    await pty.fills(/on · .*volume \d+/);
    expect(["0", "129"]).toContain(`${await pty.hangUp()}`);
  }, 60_000);

  test("goes on with the whole where its device became a part of another while it heard nothing", async () => {
    const cinema = createKodiSimulator({ name: "Cinema", port: 0, tcpPort: 0, mdns: false, startMs: 0 });
    await cinema.start();
    const { body } = await daemon.api("POST", "/devices", { host: cinema.host, port: cinema.port });
    const clients = new Set<Socket>();
    const socket = join(daemon.folder, "broken.sock");
    const tap = createServer((client) => {
      clients.add(client);
      joined(client, connect(join(daemon.stateFolder, "zapd.sock")));
    }).listen(socket);
    await daemon.api("PATCH", "/config", { "daemon.default_device": "Bedroom" });
    const pty = terminal([...zapdWords(), "remote", "--socket", socket, "-d", "Cinema"]);
    await pty.fills(/^ Cinema /m);
    tap.close();
    for (const client of clients) client.destroy();
    await pty.fills("the daemon does not answer; trying again");
    await daemon.api("POST", "/devices/Living%20Room/join", { with: body.data.id });
    // A new daemon has none of the events of the one before.
    await daemon.stop();
    daemon = await startTestDaemon({ folder: daemon.folder });
    tap.listen(socket);
    await pty.fills(/^ Living Room .*\/2$/m);
    pty.type("q");
    expect(await pty.end()).toBe("0 cooked");
    tap.close();
    await daemon.api("POST", "/devices/Living%20Room/split", { platform: "kodi" });
    await daemon.api("DELETE", `/devices/${body.data.id}`);
    await daemon.api("PATCH", "/config", { "daemon.default_device": null });
    await cinema.stop();
  }, 60_000);

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
  }, 60_000);
});

describe.skipIf(noJobs !== null)("a key that is kept down", () => {
  /** When each press reached the set. */
  const at: number[] = [];
  const onEvent = ({ type }: { type: string }) => void (type === "key" && at.push(performance.now()));
  const set = createRokuSimulator({ name: "Den", kind: "tv", ssdp: false, onEvent });
  let daemon: TestDaemon;

  beforeAll(async () => {
    // Time is measured here.
    daemon = await startTestDaemon({ speed: 1 });
    await set.start();
    await daemon.api("POST", "/devices", { host: set.host, port: set.port });
  });
  afterAll(async () => {
    await Promise.all([daemon.dispose(), set.stop()]);
  });

  /** Whatever a test has come to, its key is no longer down, and its remote has gone. */
  const ends: (() => unknown)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  /** A remote with the key kept down in it, as a terminal that repeats it every 30 ms; `stop` ends the repeats. */
  async function keptDown(repeat: string, { first = repeat, presses = 5 } = {}) {
    at.length = 0;
    const socket = join(daemon.stateFolder, "zapd.sock");
    const pty = new InTerminal([...zapdWords(), "remote", "--socket", socket], { env: process.env });
    await pty.fills(/on · .*volume \d+/);
    pty.type(first);
    await until("the first press", () => at.length > 0);
    const repeats = setInterval(() => pty.type(repeat), 30);
    const stop = () => clearInterval(repeats);
    ends.push(stop, () => pty.kill("SIGKILL"));
    await until("presses that go on", () => at.length >= presses);
    return { pty, stop };
  }

  /** Milliseconds until the last press came: none came for a second after it. */
  async function lastPress(): Promise<number> {
    const since = performance.now();
    const last = () => Math.max(since, at.at(-1) ?? 0);
    while (performance.now() - last() < 1_000) await Bun.sleep(20);
    return last() - since;
  }

  test("is pressed at the pace of the daemon, not of the terminal, until its repeats stop", async () => {
    const { pty, stop } = await keptDown("\x1b[B", { presses: 12 });
    // The first few are those of the keyboard; from then on there are 150 ms between two. One may come late, and seem near the next.
    const paced = at.slice(3);
    expect(((paced.at(-1) ?? 0) - (paced[0] ?? 0)) / (paced.length - 1)).toBeGreaterThan(100);
    stop();
    expect(await lastPress()).toBeLessThan(2_000);
    pty.type("q");
    await pty.ended;
  }, 60_000);

  test("stops when it comes up, where the terminal says so", async () => {
    const { pty, stop } = await keptDown("\x1b[1;1:2B", { first: "\x1b[B" });
    stop();
    pty.type("\x1b[1;1:3B");
    expect(await lastPress()).toBeLessThan(1_000);
    pty.type("q");
    await pty.ended;
  }, 60_000);

  test.each([
    ["another key is pressed that leaves", (pty: InTerminal) => pty.type("q")],
    ["the remote is ended", (pty: InTerminal) => pty.kill("SIGTERM")],
    ["the remote is killed by -9", (pty: InTerminal) => pty.kill("SIGKILL")],
    ["the window is closed", (pty: InTerminal) => pty.hangUp()],
  ])(
    "stops within 2 s when %s",
    async (_name, end) => {
      const { pty, stop } = await keptDown("+");
      stop();
      await end(pty);
      // Half a second more for a machine that is busy.
      expect(await lastPress()).toBeLessThan(2_500);
    },
    60_000,
  );
});
