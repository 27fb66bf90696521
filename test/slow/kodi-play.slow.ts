/** `zapd play FILE` at a real Kodi, which fetches the file in ranges. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { startTestDaemon, type TestDaemon, zapdWords } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { type RealKodi, startRealKodi, whyNoKodi } from "../support/real-kodi.ts";
import { saidBy } from "../support/said.ts";

const missing = whyNoKodi();
if (missing !== null) process.stderr.write(`skipped: a file that a real Kodi plays: ${missing}\n`);

let real: RealKodi;
let daemon: TestDaemon;

beforeAll(async () => {
  if (missing !== null) return;
  real = await startRealKodi({ name: "Twin Kodi" });
  daemon = await startTestDaemon({ config: { discovery: { interfaces: ["nowhere"], timeout_ms: 100 } } });
  await daemon.api("POST", "/devices", { host: real.host, name: "Cinema" });
}, 240_000);
afterAll(async () => {
  await daemon?.dispose();
  await real?.stop();
}, 30_000);

function zapd(...words: string[]): { child: ChildProcess; said(): string; ended: Promise<number | null> } {
  const env = { ...process.env, ZAPD_SOCKET: join(daemon.stateFolder, "zapd.sock") };
  const [program = "", ...first] = zapdWords();
  const child = spawn(program, [...first, ...words, "-d", "Cinema"], { env });
  const said = saidBy(child);
  return {
    child,
    said: () => said.stderr,
    ended: new Promise((resolve) => child.on("close", (code) => resolve(code))),
  };
}

const playing = async () => (await real.call("Player.GetActivePlayers")) as { playerid: number }[];
/** Waits until a film runs: before that Kodi seeks nowhere. Fails with what the command has said. */
async function itPlays({ said }: { said(): string }): Promise<{ playerid: number }[]> {
  const isAt = async ({ playerid }: { playerid: number }) =>
    (await real.call("Player.GetProperties", { playerid, properties: ["percentage", "speed", "time"] })) as {
      percentage: number;
    };
  let shown: { percentage: number }[] = [];
  const isPlaying = async () => {
    shown = await Promise.all((await playing()).map(isAt));
    return shown.some(({ percentage }) => percentage > 0);
  };
  try {
    await until("it plays", isPlaying, 60_000, 100);
  } catch (error) {
    throw new Error(`${JSON.stringify(shown)}, and the command said ${JSON.stringify(said())}`, { cause: error });
  }
  return playing();
}

describe.skipIf(missing !== null)(`a file of this machine${missing === null ? "" : ` (skipped: ${missing})`}`, () => {
  test("is played to its end, and sought in; then the command ends", async () => {
    const file = join(real.folder, "ein film ü & (1).mp4");
    execFileSync("cp", [real.clips.video, file]);
    const played = zapd("play", file);
    const [player] = await itPlays(played);
    const item = await real.call("Player.GetItem", { playerid: player?.playerid, properties: ["file"] });
    expect(JSON.stringify(item)).toMatch(
      /http:\/\/10\.77\.\d+\.1:\d+\/[0-9a-f]{32}\/ein%20film%20%C3%BC%20%26%20\(1\)\.mp4/,
    );
    expect(await zapd("seek", "1:52").ended).toBe(0);
    expect([await played.ended, played.said()]).toEqual([0, "ein film ü & (1).mp4 has ended on Cinema\n"]);
  }, 120_000);

  test("is stopped there by Ctrl-C", async () => {
    const played = zapd("play", real.clips.video);
    await itPlays(played);
    played.child.kill("SIGINT");
    expect(await played.ended).toBe(130);
    await until("it plays nothing", async () => (await playing()).length === 0);
  }, 120_000);

  test("that cannot be played is an error", async () => {
    const file = join(real.folder, "no film.mp4");
    await Bun.write(file, "no film");
    const played = zapd("play", file);
    expect(await played.ended).toBeOneOf([0, 5]);
    expect(played.said()).toMatch(
      /^(zapd: Cinema requested no film\.mp4, but does not play it\.|no film\.mp4 has ended on Cinema)/,
    );
  }, 120_000);
});
