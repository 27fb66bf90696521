/** 9: sideloading a package through the daemon, against curl straight to the set. */
import { execFile } from "node:child_process";
import { randomFillSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { writeZip } from "../../../support/zip.ts";
import { median, ratios, short, spreadOf } from "../figures.ts";
import { drive, nameOf, PeerRounds } from "../peers.ts";
import { memoryOf, resetPeak } from "../process.ts";
import type { Growth, Row } from "../report.ts";
import type { SetPlace } from "../sets-worker.ts";
import { developerPassword, type Stage } from "../stage.ts";
import type { Measure } from "./measure.ts";

/** Of the packages, in MB (1 000 000 bytes). */
const sizes = [1, 10, 100] as const;
const most = sizes.indexOf(100);
const run = promisify(execFile);
/** The Ethernet port of most sets, 100 Mbit/s, and the package that is sent over it. */
const link = { bytes_per_s: 12_500_000, size: sizes.indexOf(10) } as const;

type Sent = Awaited<ReturnType<typeof sendBoth>>;

async function measure(stage: Stage): Promise<Row[]> {
  const folder = stage.folder();
  const packages = sizes.map((size) => packageOf(folder, size));
  const deploy = new PeerRounds(nameOf("roku-deploy"));
  const rounds = await stage.rounds(async () => {
    const sent: Sent[] = [];
    for (const one of packages) sent.push(await sendBoth(stage, one));
    const linked = packages[link.size];
    if (linked) sent.push(await sendBoth(stage, linked, link.bytes_per_s));
    const set = await developerSet(stage);
    const words = [set.host, set.port, set.installer ?? 0, developerPassword, folder, packages[most]?.file ?? ""];
    await deploy.measure(async () => (await drive("roku-deploy.mjs", "publish", ...words))["ms"] ?? Number.NaN);
    await stage.sets.ask("stop", set);
    return sent;
  });
  const of = (at: number, what: keyof Sent) => rounds.map((sent) => sent[at]?.[what] ?? Number.NaN);
  const growth = (figure: (at: number) => number): Growth[] =>
    sizes.map((size, at) => ({ size: `${size} MB`, figure: figure(at) }));
  const name = `${sizes[most]} MB`;
  const linked = { ours: of(sizes.length, "ours_ms"), curl: of(sizes.length, "curl_ms") };
  return [
    {
      measure: 9,
      what: `sideload ${name}, bytes`,
      limit: 1,
      how: "body bytes received by the set ÷ bytes of the package",
      figure: spreadOf(of(most, "bytes")),
      must: { at: "most", value: 1.001 },
      growth: growth((at) => median(of(at, "bytes"))),
      peers: [],
    },
    {
      measure: 9,
      what: `sideload ${name}, time`,
      limit: 1,
      how: `${short(median(of(most, "ours_ms")))} ms ÷ curl --digest ${short(median(of(most, "curl_ms")))} ms`,
      figure: ratios(of(most, "ours_ms"), of(most, "curl_ms")),
      // On loopback, where nobody's set is, receiving takes as long as sending.
      must: null,
      growth: growth((at) => ratios(of(at, "ours_ms"), of(at, "curl_ms")).median),
      peers: [deploy.against(of(most, "curl_ms"), "without the start of its process")],
    },
    {
      measure: 9,
      what: `sideload ${sizes[link.size]} MB over 100 Mbit/s, time`,
      limit: 1,
      how: `${short(median(linked.ours))} ms ÷ curl --digest ${short(median(linked.curl))} ms`,
      figure: ratios(linked.ours, linked.curl),
      must: { at: "most", value: 1.15 },
      growth: [],
      peers: [],
      note: "a package is received and checked whole before the set sees its first byte: on loopback, where receiving takes as long as sending, the ratio shows it; over the link of a real set it does not",
    },
    {
      measure: 9,
      what: `sideload ${name}, peak memory`,
      limit: 0,
      how: "the daemon's peak minus its memory before",
      figure: spreadOf(of(most, "memory_mb")),
      must: { at: "most", value: 24, unit: "MB" },
      growth: growth((at) => median(of(at, "memory_mb"))),
      peers: [],
    },
  ];
}

interface Package {
  readonly path: string;
  readonly file: string;
  readonly bytes: number;
}

/** A sound package whose bulk cannot be compressed, as pictures cannot. */
function packageOf(folder: string, megabytes: number): Package {
  const file = `package-${megabytes}.zip`;
  const path = join(folder, file);
  const zip = writeZip([
    { name: "manifest", content: "title=Bench\nmajor_version=1\nminor_version=0\nbuild_version=1\n" },
    { name: "source/main.brs", content: "sub main()\nend sub\n" },
    { name: "images/bulk.bin", content: randomFillSync(Buffer.alloc(megabytes * 1_000_000)) },
  ]);
  writeFileSync(path, zip);
  return { path, file, bytes: zip.length };
}

const developerSet = async (stage: Stage): Promise<SetPlace> => {
  const options = { name: `Sideload ${performance.now()}`, developer: { password: developerPassword } };
  const [set] = await stage.plugIn(1, options);
  if (!set) throw new Error("no set started");
  return set;
};

/**
 * Each way to a new set, through a new daemon: neither finds what the other left. Gives how far the daemon's memory rose
 * above what it was, and the bytes that the daemon sent to the set for one byte of the package.
 */
async function sendBoth(stage: Stage, { path, bytes }: Package, bytes_per_s?: number) {
  const plug = async (): Promise<SetPlace> => {
    const set = await developerSet(stage);
    if (bytes_per_s === undefined) return set;
    const { port } = await stage.sets.ask("link", { host: set.host, port: set.installer ?? 0, bytes_per_s });
    return { ...set, installer: port };
  };
  const set = await plug();
  // The set hangs up after its challenge without saying so: curl must not send the package over that connection.
  const form = ["-H", "Connection: close", "-F", "mysubmit=Install", "-F", `archive=@${path}`];
  const curl_ms = await curlToSet(
    "--digest",
    "-u",
    `rokudev:${developerPassword}`,
    ...form,
    `http://${set.host}:${set.installer}/plugin_install`,
  );
  await stage.sets.ask("stop", set);

  const other = await plug();
  const daemon = await stage.daemon({ sets: [other] });
  // As with a daemon that is used: what it loads late is loaded, and it rests.
  await daemon.api("GET", "/devices/S0/apps");
  await Bun.sleep(300);
  const before = memoryOf(daemon.pid);
  resetPeak(daemon.pid);
  const ours_ms = await curl("-F", `archive=@${path}`, `http://127.0.0.1:${daemon.port}/v1/devices/S0/dev/install`);
  const memory_mb = memoryOf(daemon.pid, "peak") - before;
  const sent = await stage.sets.ask("requests", { set: other.set, path: "/plugin_install" });
  daemon.child.kill("SIGKILL");
  await stage.sets.ask("stop", other);
  return { ours_ms, curl_ms, memory_mb, bytes: sent.body_bytes / bytes };
}

/** What curl ends with when the other side closed the connection under it: no answer, nothing sent, nothing received. */
const closedUnderIt: ReadonlySet<unknown> = new Set([52, 55, 56]);
const mostTries = 4;

/** Milliseconds of a whole call. Fails when the answer is no success. */
async function curl(...words: readonly string[]): Promise<number> {
  const began = performance.now();
  await run("curl", ["-sSf", "-o", "/dev/null", ...words]);
  return performance.now() - began;
}

/** The same straight to a set, which hangs up after its challenge: where curl did not see that in time, it tries again. */
export async function curlToSet(...words: readonly string[]): Promise<number> {
  for (let tries = 1; ; tries++) {
    try {
      return await curl(...words);
    } catch (error) {
      if (tries === mostTries || !closedUnderIt.has((error as { code?: unknown }).code)) throw error;
    }
  }
}

export const sideload: Measure = { number: 9, title: "sideload", run: measure };
