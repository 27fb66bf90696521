/**
 * R13: the time of day jumps by years and hours while requests are under way, and nothing takes more or less time for it.
 * The daemon runs with a `Date` that jumps by a signal; it must wait by the monotonic clock.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { testFolder } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { sourcesIn } from "../support/sources.ts";
import { WiredRoku } from "../support/wired-roku.ts";

const year = 365 * 86_400_000;
const hour = 3_600_000;
const jumps = [-10 * year, 10 * year, -hour, hour];
const preload = `
  const jumps = ${JSON.stringify(jumps)};
  const Real = Date;
  let offset = 0;
  globalThis.Date = class extends Real {
    constructor(...given) {
      if (given.length === 0) super(Real.now() + offset);
      else super(...given);
    }
    static now() { return Real.now() + offset; }
  };
  let next = 0;
  process.on("SIGUSR2", () => { offset = jumps[next++ % jumps.length]; });
`;

const folder = testFolder();
let daemon: TestDaemon;
let set: WiredRoku;
const kodi = createKodiSimulator({ name: "Kodi", mdns: false, port: 0, tcpPort: 0 });
const timeout = 700;
beforeAll(async () => {
  writeFileSync(join(folder, "clock.ts"), preload);
  set = await WiredRoku.start({ name: "Set" });
  await kodi.start();
  daemon = await startTestDaemon({
    speed: 1,
    fromSource: true,
    config: { devices: { request_timeout_ms: timeout } },
    within: jumping(),
  });
  await daemon.api("POST", "/devices", { ...set.address, name: "set" });
  const ports = { websocket: kodi.ports.tcp };
  await daemon.api("POST", "/devices", { host: kodi.host, port: kodi.port, platform: "kodi", name: "kodi", ports });
});
afterAll(async () => {
  await daemon.dispose();
  await Promise.all([set.stop(), kodi.stop()]);
});

function jumping(): string[] {
  return ["sh", "-c", 'bun="$1"; shift; exec "$bun" --preload "$0" "$@"', join(folder, "clock.ts")];
}

/** The milliseconds of some work, during which the clock jumps four times. */
async function throughJumps(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  const doing = work();
  for (const _jump of jumps) {
    await Bun.sleep(30);
    daemon.process.kill("SIGUSR2");
  }
  await doing;
  return performance.now() - began;
}

test("R13 the clock of the daemon does jump", async () => {
  const years = new Set<number>();
  for (const _jump of jumps) {
    daemon.process.kill("SIGUSR2");
    await Bun.sleep(20);
    await daemon.api("GET", "/devices/set/state");
    years.add(new Date((await daemon.api("GET", "/devices/set")).body.data.last_seen).getUTCFullYear());
  }
  const now = new Date().getUTCFullYear();
  expect([...years].toSorted()).toEqual([now - 10, now, now + 10]);
});

test("R13 a set that is silent is given up when its time is over, not sooner nor later", async () => {
  for (const what of ["/query/apps", "/query/media-player"]) set.broken.set(what, "hang");
  const apps = await throughJumps(() => daemon.api("POST", "/devices/set/apps/refresh"));
  const state = await throughJumps(() => daemon.api("GET", "/devices/set/state"));
  set.broken.clear();
  for (const took of [apps, state]) {
    expect(took).toBeGreaterThanOrEqual(timeout - 50);
    expect(took).toBeLessThan(10_000);
  }
});

test("R13 a sequence keeps its schedule, and keys that wait keep their places", async () => {
  const before = set.commands.length;
  const keys = ["up", "down", "left", "right", "select", "back", "home", "up", "down", "left"];
  const took = await throughJumps(async () => {
    const sequence = daemon.api("POST", "/devices/set/remote/sequence", { keys, delay_ms: 60 });
    // Each has a connection of its own: on a busy machine they may arrive in another order.
    await until("the sequence has begun", () => set.commands.length > before);
    const last = daemon.api("POST", "/devices/set/remote/key", { key: "info" });
    expect((await sequence).body).toMatchObject({ ok: true, data: { sent: keys.length } });
    expect((await last).status).toBe(200);
  });
  expect(took).toBeGreaterThanOrEqual(9 * 60);
  expect(set.commands.slice(before)).toEqual([
    ...["Up", "Down", "Left", "Right", "Select", "Back", "Home", "Up", "Down", "Left", "Info"].map(
      (key) => `/keypress/${key}`,
    ),
  ]);
});

test("R13 what is known stays known, no age is negative, and what plays is where it was", async () => {
  kodi.play({ title: "Film", durationMs: 600_000, positionMs: 60_000 });
  const apps = (await daemon.api("GET", "/devices/set/apps")).body.data.apps;
  expect(apps.length).toBeGreaterThan(0);
  set.broken.set("/query/apps", "hang");
  let uptime = 0;
  const began = performance.now();
  for (const _jump of [...jumps, ...jumps]) {
    daemon.process.kill("SIGUSR2");
    await Bun.sleep(20);
    const { data } = (await daemon.api("GET", "/health")).body;
    expect(data.uptime_s).toBeGreaterThanOrEqual(uptime);
    expect(data.uptime_s).toBeLessThan(600);
    uptime = data.uptime_s;
    // From the cache: the set does not answer.
    expect((await daemon.api("GET", "/devices/set/apps")).body.data.apps).toEqual(apps);
    const { state } = (await daemon.api("GET", "/devices/kodi/state")).body.data;
    expect(state.playback.position_ms).toBeGreaterThanOrEqual(60_000);
    expect(state.playback.position_ms).toBeLessThan(62_000 + performance.now() - began);
  }
  set.broken.clear();
});

test("R13 it starts on files of the future and of the past, and with a mark that another start left in either", async () => {
  const { folder: own, stateFolder } = daemon;
  const added = (await daemon.api("GET", "/devices")).body.data.map((one: { added_at: string }) => one.added_at);
  for (const jump of [-10 * year, 10 * year]) {
    await daemon.stop("SIGKILL");
    const then = new Date(Date.now() + jump);
    writeFileSync(join(stateFolder, "zapd.sock.starting"), "");
    for (const name of ["devices.json", "apps.json", "zapd.sock.starting"])
      utimesSync(join(stateFolder, name), then, then);
    const began = performance.now();
    daemon = await startTestDaemon({ folder: own, fromSource: true, within: jumping() });
    expect(performance.now() - began).toBeLessThan(10_000);
    expect((await daemon.api("GET", "/health")).body.data.warnings).toEqual([]);
    expect((await daemon.api("GET", "/devices")).body.data.map((one: { added_at: string }) => one.added_at)).toEqual(
      added,
    );
  }
});

const spaces = ["unshare", "-rT", "--fork", "--kill-child", "--monotonic=100000", "--boottime=100000"];
const noSpaces = spawnSync("unshare", [...spaces.slice(1), "true"]).status === 0 ? null : "no time namespaces";
if (noSpaces !== null) process.stderr.write(`skipped: clocks of another boot: ${noSpaces}\n`);

test.skipIf(noSpaces !== null)(
  `R13 a machine that has run for long is as good as another${noSpaces === null ? "" : ` (skipped: ${noSpaces})`}`,
  async () => {
    const shifted = await startTestDaemon({ within: spaces });
    try {
      expect((await shifted.api("GET", "/health")).body.data.uptime_s).toBeLessThan(60);
      await shifted.api("POST", "/devices", { ...set.address, name: "set" });
      const { status } = await shifted.api("POST", "/devices/set/remote/sequence", {
        keys: ["up", "up"],
        delay_ms: 50,
      });
      expect(status).toBe(200);
    } finally {
      await shifted.dispose();
    }
  },
);

test("R13 no duration is measured by the time of day", () => {
  const reading = /Date\.now\(|\bnew Date\(\)|\.getTime\(|\.valueOf\(|Date\.parse\(|process\.uptime\(/g;
  // Simulated sets have a time of their own.
  const sources = sourcesIn("src").filter(({ path }) => !path.startsWith("src/simulators/"));
  const places = sources.flatMap(({ path, code }) => {
    const lines = code.split("\n").filter((line) => line.match(reading));
    return lines.map((line) => `${path}: ${line.trim()}`);
  });
  // Each is a time to be read by people, a moment of the API (where what plays is, when a prompt ends), the time of a file, a word that was never there before, or a day that outlives the
  // process (SECURITY.md 2.4): a clock set back prolongs it.
  const meant = [
    /toISOString\(\)/,
    /now: \(\) => new Date\(\)/,
    /const viewport = \{.*now: new Date\(\)/,
    /isOtherDay\(line\.at, .* new Date\(\)\)/,
    // A page may be on a machine with another clock than the daemon's, whose times it shows.
    /src\/web\/calls\.ts: return Date\.now\(\) \+ daemonAheadMs;/,
    /src\/web\/calls\.ts: const ahead = Date\.parse\(response\.headers\.get\("date"\) \?\? ""\) - Date\.now\(\);/,
    /put\(\{ url: .*, at: new Date\(\) \}\)/,
    /mtimeMs|mtime\.getTime\(\)/,
    /<Countdown until=\{Date\.parse\(now\.expires_at/,
    // What plays runs on from the time at which it was where the API says.
    /position_at [!=]== null.* - Date\.parse\(position_at\)/,
    /positionAt\(playback, (now\.getTime|Date\.now)\(\)\)/,
    /stateAt\((known|view), model\.seeking, now\.getTime\(\)\)/,
    /update\(before, event, Date\.now\(\)\)/,
    /untilNextSecond\(this\.#model, Date\.now\(\)\)/,
    /Math\.abs\(Date\.now\(\) - made\) > markStaleMs/,
    /src\/devices\/feed\.ts: const passed = Date\.parse\(.*position_at/,
    /expiresAt = Date\.now\(\) \+ pairing\.expiresMs/,
    /Date\.parse\(expires_at \?\? ""\) - Date\.now\(\)/,
    // A lease outlives the process, and is told by the day.
    /src\/devices\/leases\.ts: const left = Date\.parse\(until\) - Date\.now\(\);/,
    /src\/cli\/with-lease\.ts: const leftMs = Date\.parse\(until\) - Date\.parse\(taken\.until\)/,
    /src\/system\/text\.ts: return shortTime\(/,
    // The page knows no other clock that counts the machine's sleep. A clock that is set sends nothing, and timers bound the waits.
    /src\/web\/(store|holding)\.ts: .*(askedAt|heldAt)/,
    // When a message was sent, only its sender's clock says.
    /src\/mqtt\/commands\.ts: const (at = typeof sentAt|age = Date\.now\(\) - at;)/,
    /zapd: String\(Date\.now\(\)\)/,
    /const quietMs = now - Math\.max\(\.\.\.last\.map\(\(one\) => Date\.parse\(one\)\)\)/,
  ];
  expect(places.filter((place) => !meant.some((one) => one.test(place)))).toEqual([]);
  expect(places.length).toBeGreaterThan(5);
});
