/** `zapd play FILE`: a file of this machine, served by the command itself to one set, and as long as that plays it. */
import { beforeEach, describe, expect, test } from "bun:test";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { appendFileSync, chmodSync, renameSync, truncateSync, unlinkSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { createDlnaSimulator, type DlnaSimulator } from "../../src/simulators/dlna.ts";
import type { KodiSimulator } from "../../src/simulators/kodi.ts";
import type { RokuSimulator } from "../../src/simulators/roku.ts";
import { mediaTypeOf } from "../../src/system/media-types.ts";
import { daemonForFile } from "../blackbox/daemon-for-file.ts";
import { zapdWords } from "../support/daemon.ts";
import { folderForEach } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { isRefused } from "../support/listening.ts";
import { saidBy } from "../support/said.ts";
import { plugInKodi, plugInRoku } from "../support/sets.ts";
import { root } from "../support/sources.ts";

/** How many times as fast as ours the clock of the command runs; faster in the tests that wait for its deadlines. */
const usualSpeed = 4;
const deadlineSpeed = 12;
/** Longer than anything that the command waits for by design. */
const patienceMs = 25_000;
const bytes = Buffer.from(Array.from({ length: 1_000_000 }, (_, at) => (at * 7 + (at >> 8)) & 255));

const config = { discovery: { timeout_ms: 100, interfaces: ["nowhere"] } };
const { daemon, atEnd } = await daemonForFile({ config }, { cleans: "each test" });
const folders = folderForEach();
let folder = "";
let cinema: KodiSimulator;

beforeEach(async () => {
  folder = folders();
  cinema = await plugInKodi();
  await add(cinema, "Cinema");
  await daemon.api("PATCH", "/config", { "daemon.default_device": "Cinema" });
});

async function add(set: KodiSimulator | RokuSimulator | DlnaSimulator, name: string): Promise<void> {
  const { status, body } = await daemon.api("POST", "/devices", { host: "127.0.0.1", port: set.port, name });
  expect([status, body.error]).toEqual([200, undefined]);
}

function file(name: string, content: Uint8Array | string = bytes): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

interface Playing {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  said(): string;
  /** How many documents it has printed. */
  documents(): number;
  /** Where the file is served, once it is. */
  url(): Promise<URL>;
}

const programs = {
  bun: zapdWords({ isFast: true }),
  deno: [join(root, "node_modules/deno/deno"), "run", "--no-prompt", "-A", join(root, "src/main.ts")],
} as const;

function play(...words: string[]): Playing {
  return playUnder("bun", words);
}

function playUnder(runtime: keyof typeof programs, words: readonly string[], speed = usualSpeed): Playing {
  const [command = "", ...given] = programs[runtime];
  const child = spawn(command, [...given, "play", ...words], {
    cwd: folder,
    env: { ...process.env, ZAPD_SOCKET: join(daemon.stateFolder, "zapd.sock"), ZAPD_TEST_SPEED: String(speed) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  atEnd(() => child.kill("SIGKILL"));
  const texts = saidBy(child);
  const ended = new Promise<number | null>((resolve) => child.on("close", (code) => resolve(code)));
  return {
    child,
    ended,
    said: () => texts.stderr,
    documents: () => texts.stdout.split("\n").length - 1,
    async url() {
      await until(`it is handed over (${texts.stderr})`, () => texts.stdout.includes("\n"), patienceMs);
      return new URL(JSON.parse(texts.stdout).data.url);
    },
  };
}

/** As the set's player fetches it. */
const get = (url: URL, headers: Record<string, string> = {}, method = "GET") => fetch(url, { method, headers });

async function bodyOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

/** Whether anybody answers there, called from an address of this machine. */
function answers(url: URL, from: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ host: url.hostname, port: Number(url.port), localAddress: from });
    socket.on("connect", () => socket.write(`GET ${url.pathname} HTTP/1.1\r\n\r\n`));
    socket.on("data", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
    socket.on("end", () => resolve(false));
  });
}

describe("a file that is served", () => {
  test("whole, by its head, and by any one range; to the set alone; until the set has stopped", async () => {
    const played = play(file("a film & möre (1).mp4"), "--json");
    const url = await played.url();
    expect(url.hostname).toBe("127.0.0.1");
    expect(decodeURIComponent(url.pathname)).toMatch(/^\/[0-9a-f]{32}\/a film & möre \(1\)\.mp4$/);
    expect(cinema.state.playback?.path).toBe(url.href);

    const whole = await get(url);
    expect([whole.status, whole.headers.get("content-type"), whole.headers.get("accept-ranges")]).toEqual([
      200,
      "video/mp4",
      "bytes",
    ]);
    expect((await bodyOf(whole)).equals(bytes)).toBe(true);
    const head = await get(url, {}, "HEAD");
    expect([head.status, head.headers.get("content-length"), (await bodyOf(head)).length]).toEqual([200, "1000000", 0]);

    for (const [range, start, end] of [
      ["bytes=0-0", 0, 1],
      ["bytes=10-299999", 10, 300_000],
      ["bytes=999990-", 999_990, 1_000_000],
      ["bytes=-5", 999_995, 1_000_000],
      ["bytes=-2000000", 0, 1_000_000],
      ["bytes=5-99999999", 5, 1_000_000],
      ["bytes=999000-9223372036854775807", 999_000, 1_000_000],
    ] as const) {
      const part = await get(url, { range });
      const seen = [range, part.status, part.headers.get("content-range"), part.headers.get("content-length")];
      expect(seen).toEqual([range, 206, `bytes ${start}-${end - 1}/1000000`, String(end - start)]);
      expect((await bodyOf(part)).equals(bytes.subarray(start, end))).toBe(true);
    }
    for (const range of ["bytes=1000000-", "bytes=-0", "bytes=9223372036854775807-"]) {
      const beyond = await get(url, { range });
      expect([range, beyond.status, beyond.headers.get("content-range")]).toEqual([range, 416, "bytes */1000000"]);
    }
    for (const range of ["bytes=5-2", "bytes=", "bytes=1-2,5-6", "lines=1-2", "bytes=a-b"])
      expect([range, (await get(url, { range })).status]).toEqual([range, 200]);
    const tag = whole.headers.get("etag") ?? "";
    expect((await get(url, { range: "bytes=0-0", "if-range": tag })).status).toBe(206);
    expect((await get(url, { range: "bytes=0-0", "if-range": '"other"' })).status).toBe(200);
    expect((await get(url, {}, "POST")).status).toBe(405);

    expect(await answers(url, "127.0.0.2")).toBe(false);
    expect((await get(new URL("/etc/passwd", url))).status).toBe(404);
    expect((await get(new URL(`/${"0".repeat(32)}/x.mp4`, url))).status).toBe(404);
    // Players look for subtitles and pictures beside a film: they are not given the film as such.
    for (const [beside, status] of [
      ["a%20film.srt", 404],
      ["a.film%20.MP4?x=.srt", 200],
      ["", 200],
    ] as const)
      expect([beside, (await get(new URL(beside, url), {}, "HEAD")).status]).toEqual([beside, status]);

    cinema.endPlayback();
    expect([await played.ended, played.said()]).toEqual([0, "a film & möre (1).mp4 has ended on Cinema\n"]);
    expect(await isRefused(url)).toBe(true);
  }, 60_000);

  test("is of the type that its ending says, or that was said; the set is told the same", async () => {
    expect(["a.mkv", "A.WEBM", "a.mp3", "a.flac", "a.b.m3u8", "a.strange"].map(mediaTypeOf)).toEqual([
      "video/x-matroska",
      "video/webm",
      "audio/mpeg",
      "audio/flac",
      "application/vnd.apple.mpegurl",
      null,
    ]);
    for (const [name, words, type] of [
      ["a.mkv", [], "video/x-matroska"],
      ["a.strange", [], "application/octet-stream"],
      ["a.strange", ["--type", "video/mp4"], "video/mp4"],
    ] as const) {
      const played = play(file(name), "--json", ...words);
      const response = await get(await played.url(), { range: "bytes=0-0" });
      expect([name, response.headers.get("content-type")]).toEqual([name, type]);
      played.child.kill("SIGINT");
      await played.ended;
    }
  }, 60_000);

  test("stays what it was under a name that is given to another, and goes on when its name is gone", async () => {
    const path = file("film.mp4");
    const played = play(path, "--json");
    const url = await played.url();
    renameSync(file("other.mp4", "another one"), path);
    expect((await bodyOf(await get(url))).equals(bytes)).toBe(true);
    unlinkSync(path);
    expect((await bodyOf(await get(url, { range: "bytes=100-199" }))).equals(bytes.subarray(100, 200))).toBe(true);
    expect(played.said()).toBe("");
  }, 60_000);

  test("may grow, and may become shorter: what is answered is of its size as it is", async () => {
    const path = file("film.mp4");
    const played = play(path, "--json");
    const url = await played.url();
    const tag = (await get(url, {}, "HEAD")).headers.get("etag") ?? "";
    appendFileSync(path, "more");
    const grown = await get(url, { range: "bytes=999999-" });
    expect([grown.headers.get("content-range"), (await bodyOf(grown)).length]).toEqual([
      "bytes 999999-1000003/1000004",
      5,
    ]);
    expect((await get(url, { range: "bytes=0-9", "if-range": tag })).status).toBe(200);
    truncateSync(path, 100);
    const shorter = await get(url);
    expect([shorter.headers.get("content-length"), (await bodyOf(shorter)).length]).toEqual(["100", 100]);
    truncateSync(path, 0);
    const empty = await get(url, { range: "bytes=-5" });
    expect([empty.status, empty.headers.get("content-range")]).toEqual([416, "bytes */0"]);
  }, 60_000);
});

describe("it ends", () => {
  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)(
    "by Ctrl-C or another signal, and the set is told to stop: %s",
    async (signal, status) => {
      const played = play(file("film.mp4"), "--json", "--timeout", "20s");
      const url = await played.url();
      await get(url);
      // That was a limit to the hand-over alone.
      await Bun.sleep(20_000 / usualSpeed);
      await until("it plays", () => cinema.state.playback?.path === url.href, patienceMs);
      // As a launcher passes it on that the terminal has interrupted as well, however late.
      played.child.stderr?.once("data", () => played.child.kill(signal));
      played.child.kill(signal);
      expect([await played.ended, played.said()]).toEqual([status, "stopped film.mp4 on Cinema\n"]);
      expect(cinema.state.playback).toBeNull();
      expect(await isRefused(url)).toBe(true);
    },
    60_000,
  );

  test.each([
    ["a film", 3_600_000],
    ["a stream without an end", null],
  ])(
    "when the set plays something else, without being told to stop that: %s",
    async (title, durationMs) => {
      const played = playUnder("bun", [file("film.mp4"), "--json"], deadlineSpeed);
      await get(await played.url());
      // Longer than it takes to settle, by a second of real time for a busy machine.
      await Bun.sleep(5_000 / deadlineSpeed + 1_200);
      cinema.play({ title, path: "/media/another.mp4", durationMs });
      expect([await played.ended, played.said()]).toEqual([0, "film.mp4 has ended on Cinema\n"]);
      expect(cinema.state.playback?.path).toBe("/media/another.mp4");
    },
    60_000,
  );

  test("by Ctrl-C, which does not stop what another caller has played there meanwhile", async () => {
    const played = play(file("film.mp4"), "--json");
    const url = await played.url();
    await get(url);
    await until("it plays", () => cinema.state.playback?.path === url.href, patienceMs);
    // It follows the events by then.
    await Bun.sleep(2_000);
    const other = "http://127.0.0.1:9/another.mp4";
    expect((await daemon.api("POST", "/devices/Cinema/media", { url: other })).status).toBe(200);
    // It is told of it by then.
    await Bun.sleep(1_000);
    played.child.kill("SIGINT");
    expect([await played.ended, played.said()]).toEqual([130, "film.mp4 is no longer served\n"]);
    expect(cinema.state.playback?.path).toBe(other);
  }, 60_000);

  test("when the set asks for nothing, and says what may be in the way", async () => {
    const played = playUnder("bun", [file("film.mp4")], deadlineSpeed);
    expect(await played.ended).not.toBe(0);
    expect(played.said()).toContain(
      "zapd: Cinema accepted the address of film.mp4, but did not request it within 30 s.",
    );
    expect(played.said()).toContain(
      "A firewall on this machine may block it: allow 127.0.0.1 to connect to this program",
    );
  }, 60_000);

  test("when the set asks for it, and plays nothing", async () => {
    await daemon.api("DELETE", "/devices/Cinema");
    const attic = await plugInKodi({ startMs: 3_600_000 });
    await add(attic, "Attic");
    const played = playUnder("bun", [file("film.mp4"), "-d", "Attic", "--json"], deadlineSpeed);
    await get(await played.url());
    expect([await played.ended, played.said()]).toEqual([
      5,
      "zapd: Attic requested film.mp4, but does not play it.\n      It may not support this kind of file: try another format\n",
    ]);
    expect(played.documents()).toBe(1);
  }, 60_000);

  test("when the set only loads it, and then stops", async () => {
    // At the same address the two would be one device.
    await daemon.api("DELETE", "/devices/Cinema");
    const name = "Attic";
    const attic = createDlnaSimulator({ name, uuid: randomUUID(), ssdp: false });
    await attic.start();
    try {
      await add(attic, name);
      const played = play(file("stalled.mp4"), "-d", name, "--json");
      await get(await played.url());
      // It follows the events by then.
      await Bun.sleep(2_000);
      attic.endMedia();
      expect([await played.ended, played.said().split("\n")[0]]).toEqual([
        5,
        "zapd: Attic requested stalled.mp4, but does not play it.",
      ]);
    } finally {
      await attic.stop();
    }
  }, 60_000);

  test("not when the device becomes a part of another", async () => {
    await daemon.api("DELETE", "/devices/Cinema");
    await add(await plugInRoku({ kind: "tv" }), "Den");
    const attic = await plugInKodi({ name: "Attic" });
    await add(attic, "Attic");
    const played = play(file("film.mp4"), "-d", "Attic", "--json");
    const url = await played.url();
    await get(url);
    await until("it plays", () => attic.state.playback?.path === url.href, patienceMs);
    // It follows the events by then.
    await Bun.sleep(2_000);
    expect((await daemon.api("POST", "/devices/Den/join", { with: "Attic" })).status).toBe(200);
    // It is told of it by then.
    await Bun.sleep(1_000);
    expect((await bodyOf(await get(url))).equals(bytes)).toBe(true);
    attic.endPlayback();
    expect([await played.ended, played.said()]).toEqual([0, "film.mp4 has ended on Attic\n"]);
  }, 60_000);

  test("when the device is removed", async () => {
    const played = play(file("film.mp4"), "--json");
    await get(await played.url());
    await daemon.api("DELETE", "/devices/Cinema");
    expect([await played.ended, played.said()]).toEqual([
      0,
      "Cinema is no longer known, so film.mp4 is no longer served\n",
    ]);
  }, 60_000);

  test("a set without a stop leaves the app that plays", async () => {
    const den = await plugInRoku({ kind: "tv", apps: [{ id: "782875", name: "Media Assistant" }] });
    await add(den, "Den");
    const played = playUnder("bun", [file("film.mp4"), "-d", "Den", "--json"], deadlineSpeed);
    await get(await played.url());
    expect(den.state.lastLaunch?.id).toBe("782875");
    await Bun.sleep(8_000 / deadlineSpeed);
    played.child.kill("SIGINT");
    expect([await played.ended, played.said()]).toEqual([130, "stopped film.mp4 on Den\n"]);
    await until("it has left the app", () => den.state.activeApp === null, patienceMs);
    // Also where it has only just begun.
    const another = play(file("film.mp4"), "-d", "Den", "--json");
    await get(await another.url());
    another.child.kill("SIGINT");
    expect([await another.ended, another.said()]).toEqual([130, "stopped film.mp4 on Den\n"]);
  }, 60_000);
});

describe("under Deno", () => {
  test("a file is served, and ends, as under Bun", async () => {
    const attic = await plugInKodi({ name: "Attic" });
    await add(attic, "Attic");
    const path = file("a film.mp4");
    const played = playUnder("deno", [path, "--json"]);
    const stopped = playUnder("deno", [path, "-d", "Attic", "--json"]);
    const url = await played.url();
    const range = await get(url, { range: "bytes=100-299999" });
    expect((await bodyOf(range)).equals(bytes.subarray(100, 300_000))).toBe(true);
    expect(await answers(url, "127.0.0.2")).toBe(false);
    cinema.endPlayback();
    expect([await played.ended, played.said()]).toEqual([0, "a film.mp4 has ended on Cinema\n"]);
    await get(await stopped.url());
    stopped.child.kill("SIGINT");
    expect([await stopped.ended, stopped.said()]).toEqual([130, "stopped a film.mp4 on Attic\n"]);
  }, 60_000);
});

describe("what cannot be", () => {
  const run = async (...words: string[]) => {
    const played = play(...words);
    return { status: await played.ended, said: played.said() };
  };

  test("no file, a folder, an empty one, a pipe, one that may not be read", async () => {
    const none = await run("missing.mp4");
    expect(none).toEqual({ status: 1, said: "zapd: missing.mp4 does not exist.\n" });
    expect(await run(folder)).toEqual({ status: 1, said: `zapd: ${folder} is a folder: give a file in it.\n` });
    expect((await run(file("empty.mp4", ""))).said).toBe(`zapd: ${join(folder, "empty.mp4")} is empty.\n`);
    execFileSync("mkfifo", [join(folder, "pipe.mp4")]);
    expect((await run("pipe.mp4")).said).toBe("zapd: pipe.mp4 is not a regular file, so it cannot be played.\n");
    chmodSync(file("secret.mp4"), 0);
    // Root reads everything.
    if (process.getuid?.() !== 0)
      expect((await run("secret.mp4")).said).toBe("zapd: secret.mp4 cannot be read: you lack the permission.\n");
    expect((await run("secret.mp4/more")).said).toBe("zapd: secret.mp4/more does not exist.\n");
    expect(cinema.state.playback).toBeNull();
  }, 60_000);

  test("words that mean nothing that can be played", async () => {
    expect((await run("rtsp://192.168.1.5/x")).said).toContain("an address must begin with http or https, not rtsp");
    expect((await run("")).said).toContain("play what? Give a file, or an address such as http://192.168.1.5/film.mp4");
    expect((await run(file("a.mp4"), "-d", "all")).said).toContain("plays on one device");
    expect((await run(file("a.mp4"), "--type", "film")).said).toContain("--type needs a type such as video/mp4");
    expect((await run("--type", "video/mp4")).said).toContain("--type needs an address or a file");
    expect((await run(file("a.mp4"), "b.mp4")).status).toBe(2);
    const away = await run(file("a.mp4"), "-d", "Nobody", "--json");
    expect([away.status, away.said]).toEqual([3, expect.stringContaining('zapd: no device is called "Nobody"')]);
  }, 60_000);

  test("a set that plays no files says so, with what helps", async () => {
    const den = await plugInRoku({ kind: "tv", apps: [] });
    await add(den, "Den");
    const refused = await run(file("film.mp4"), "-d", "Den");
    expect(refused.status).toBe(2);
    expect(refused.said).toContain("On the Roku, add it from the channel store: Media Assistant (channel 782875)");
  }, 60_000);

  test("an address of a file, as a file manager gives it", async () => {
    const path = file("ein film.mp4");
    const played = play(`file://${encodeURI(path)}`, "--json");
    expect((await bodyOf(await get(await played.url()))).equals(bytes)).toBe(true);
  }, 60_000);
});
