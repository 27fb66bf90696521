import { afterAll, beforeAll, expect, test } from "bun:test";
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type CastSimulator, createCastSimulator } from "../../../src/simulators/cast.ts";
import { until } from "../../support/http-device.ts";
import { saidBy } from "../../support/said.ts";

/** Debian's own, of which pychromecast is a package; another python may come first. */
const python = "/usr/bin/python3";
const noPychromecast = !existsSync("/usr/lib/python3/dist-packages/pychromecast");
const noVlc = Bun.which("cvlc") === null || Bun.which("ffmpeg") === null;
for (const [missing, what] of [
  [noPychromecast, "python3-pychromecast"],
  [noVlc, "vlc-bin and ffmpeg"],
] as const)
  if (missing) process.stderr.write(`skipped: casting with others' clients: there is no ${what}\n`);

let set: CastSimulator;
let folder: string;
beforeAll(async () => {
  set = createCastSimulator({ name: "Attic", host: "127.0.0.5" });
  await set.start();
  // Read by another user, who may not be let into a folder of temporary files that is ours.
  folder = mkdtempSync("/var/tmp/zapd-cast-");
  chmodSync(folder, 0o755);
});
afterAll(async () => {
  await set.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What a program said, once it has ended, by itself or by the signal. */
async function ran(program: string, words: readonly string[], signal?: AbortSignal) {
  const child = spawn(program, words, { cwd: folder, env: { ...process.env, HOME: folder } });
  signal?.addEventListener("abort", () => child.kill("SIGTERM"));
  const said = saidBy(child);
  const status = await new Promise((resolve) => child.on("close", resolve));
  return { status, ...said };
}

test.skipIf(noPychromecast)(
  "pychromecast finds it, plays, pauses, seeks, changes the volume, launches and leaves",
  async () => {
    const { status, stdout, stderr } = await ran(python, [join(import.meta.dir, "sender.py"), "Attic"]);
    expect([status, stderr.includes("Traceback") ? stderr : ""]).toEqual([0, ""]);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([
      { model: "Chromecast", uuid: set.id, idle: true, standby: false },
      { title: "A film", duration: 120, seekable: true },
      ...(stdout.includes("refused") ? [{ refused: expect.any(String) }] : []),
      { idle: true },
    ]);
    expect(set.commands.map(({ type }) => type)).toEqual([
      "LAUNCH",
      "LOAD",
      "PAUSE",
      "SEEK",
      "SET_VOLUME",
      "SET_VOLUME",
      "LAUNCH",
      "LAUNCH",
      "STOP",
    ]);
    expect(set.state).toMatchObject({ level: 0.3, muted: true, app: null });
  },
  60_000,
);

test.skipIf(noVlc)(
  "VLC proves it, launches the default receiver and hands it what it plays",
  async () => {
    const file = join(folder, "a.mp4");
    const made = [
      "-f",
      "lavfi",
      "-i",
      "testsrc=duration=6:size=160x120:rate=10",
      "-c:v",
      "libx264",
      "-pix_fmt",
      "yuv420p",
    ];
    execFileSync("ffmpeg", ["-loglevel", "error", ...made, file]);
    chmodSync(file, 0o644);
    const before = set.commands.length;
    const vlc = [
      "cvlc",
      "-I",
      "dummy",
      "--sout",
      "#chromecast",
      "--sout-chromecast-ip=127.0.0.5",
      "--demux-filter=demux_chromecast",
      file,
      "vlc://quit",
    ];
    // It does not run as root.
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(folder, 65_534, 65_534);
    const [program = "", ...words] = isRoot ? ["setpriv", "--reuid", "65534", "--clear-groups", ...vlc] : vlc;
    const over = new AbortController();
    const running = ran(program, words, over.signal);
    await until("it plays", () => set.state.playback?.state === "PLAYING", 30_000);
    expect(set.state.playback?.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/chromecast\//);
    // Nobody fetches what it serves, so it would go on for ever.
    over.abort();
    await running;
    await until("it has hung up", () => set.state.clients === 0);
    const told = set.commands.slice(before).map(({ type }) => type);
    expect(told.slice(0, 2)).toEqual(["LAUNCH", "LOAD"]);
  },
  90_000,
);
