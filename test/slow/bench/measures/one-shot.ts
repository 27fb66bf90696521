/** 2: one key from the command line, whole processes: the compiled `zapd` against curl at the same socket. */
import { spawnSync } from "node:child_process";
import { median, ratios, short } from "../figures.ts";
import { drive, nameOf, PeerRounds } from "../peers.ts";
import type { Row } from "../report.ts";
import { keyThrough, type Stage } from "../stage.ts";
import type { Measure } from "./measure.ts";

const times = 15;
/** How many other devices the daemon knows. */
const sizes = [0, 99, 999] as const;

async function run(stage: Stage): Promise<Row[]> {
  const { devicesOf } = await import("../registry.ts");
  const [set] = await stage.plugIn();
  if (!set) throw new Error("no set started");
  const daemons = await Promise.all(
    sizes.map((others) =>
      stage.daemon({ devices: devicesOf(others), sets: [set], config: { daemon: { default_device: "S0" } } }),
    ),
  );
  const { path, body = "" } = keyThrough("default");
  const curl = (socket: string) =>
    whole("curl", [
      "-sf",
      "-o",
      "/dev/null",
      "--unix-socket",
      socket,
      "-X",
      "POST",
      "-d",
      body,
      `http://localhost${path}`,
    ]);
  const client = new PeerRounds(nameOf("roku-client"));
  const deploy = new PeerRounds(nameOf("roku-deploy"));
  const rounds = await stage.rounds(async () => {
    const sides = daemons.map(({ socket }) => {
      const pairs = Array.from({ length: times }, () => [
        whole(stage.programs.zapd, ["key", "home"], { ZAPD_SOCKET: socket }),
        curl(socket),
      ]);
      return { zapd: median(pairs.map(([ms = 0]) => ms)), curl: median(pairs.map(([, ms = 0]) => ms)) };
    });
    for (const [peer, driver] of [
      [client, "roku-client.mjs"],
      [deploy, "roku-deploy.mjs"],
    ] as const)
      await peer.measure(async () => {
        const began = performance.now();
        await drive(driver, "press", set.host, set.port).catch((error: unknown) => {
          // It prints nothing, and that is no JSON: the key was pressed all the same.
          if (!(error instanceof SyntaxError)) throw error;
        });
        return performance.now() - began;
      });
    return sides;
  });
  const of = (size: number) => ({
    zapd: rounds.map((sides) => sides[size]?.zapd ?? Number.NaN),
    curl: rounds.map((sides) => sides[size]?.curl ?? Number.NaN),
  });
  const first = of(0);
  return [
    {
      measure: 2,
      what: "one key from the command line",
      limit: 1,
      how: `\`zapd key home\` ${short(median(first.zapd))} ms ÷ curl ${short(median(first.curl))} ms`,
      figure: ratios(first.zapd, first.curl),
      must: { at: "most", value: 1.5 },
      growth: sizes.map((others, at) => ({
        size: `${others + 1} devices`,
        figure: ratios(of(at).zapd, of(at).curl).median,
      })),
      peers: [
        client.against(first.curl, "a script of one line, straight to the set"),
        deploy.against(first.curl, "a script of one line, straight to the set"),
      ],
    },
  ];
}

/** Milliseconds of a whole process. Fails when it does. */
function whole(program: string, words: readonly string[], env: Record<string, string> = {}): number {
  const began = performance.now();
  const { status, stderr } = spawnSync(program, words, { env: { ...process.env, ...env } });
  if (status !== 0) throw new Error(`${program} ${words[0]} ended with ${status}: ${stderr.toString().slice(0, 200)}`);
  return performance.now() - began;
}

export const oneShot: Measure = { number: 2, title: "one-shot command line", run };
