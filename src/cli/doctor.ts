/** `zapd doctor`: looks for what may be in the way, and says what to do about it. */
import { exits } from "../api/errors.ts";
import type { Context } from "./context.ts";
import { type Check, type Finding, runChecks, type Verdict } from "./doctor/check.ts";
import { daemonRuns, portBound, socketPrivate } from "./doctor/daemon.ts";
import { developerPassword, devicesReachable } from "./doctor/devices.ts";
import { examine } from "./doctor/examination.ts";
import { configValid, stateWritable } from "./doctor/files.ts";
import { clockSane, container } from "./doctor/host.ts";
import { thisMachine } from "./doctor/machine.ts";
import { firewall, interfacesAsked, multicastReceived } from "./doctor/network.ts";
import { elsewhere, placesOf } from "./places.ts";
import { wrap } from "./print.ts";

/** Every check, in the order in which they are told. */
const checks: Readonly<Record<string, Check>> = {
  daemon: { about: "the daemon", within: 6_000, run: daemonRuns },
  port: { about: "its port", within: 6_000, run: portBound },
  socket: { about: "its socket", within: 6_000, run: socketPrivate },
  config: { about: "the config", within: 6_000, run: configValid },
  state: { about: "the state folder", within: 4_000, run: stateWritable },
  clock: { about: "the clock", within: 4_000, run: clockSane },
  interfaces: { about: "the interfaces", within: 5_000, run: interfacesAsked },
  multicast: { about: "multicast", within: 5_000, run: multicastReceived },
  firewall: { about: "the firewall", within: 5_000, run: firewall },
  container: { about: "the container", within: 5_000, run: container },
  devices: { about: "the devices", within: 25_000, run: devicesReachable },
  password: { about: "the developer password", within: 8_000, run: developerPassword },
};

export async function doctor(context: Context): Promise<number> {
  const places = await placesOf(context);
  const all: Finding[] = [];
  const remark = elsewhere(context, places);
  const exam = examine(thisMachine(), { ...places, remarks: remark === null ? [] : [remark] }, context);
  for await (const findings of runChecks(checks, exam)) {
    all.push(...findings);
    if (!context.json) for (const one of findings) context.print(findingLine(one, context));
  }
  const problems = all.filter((one) => one.status === "fail").length;
  const remarks = all.filter((one) => one.status === "warn").length;
  if (context.json) context.print(JSON.stringify({ checks: all, problems, remarks }));
  else context.print(summary(problems, remarks));
  return problems > 0 ? exits.failed : exits.ok;
}

export function summary(problems: number, remarks: number): string {
  const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;
  const parts = [problems > 0 && counted(problems, "problem"), remarks > 0 && counted(remarks, "remark")];
  return parts.filter(Boolean).join(", ") || "all is well";
}

const labels: Record<Verdict, { word: string; colour: string }> = {
  ok: { word: "ok", colour: "\x1b[32m" },
  warn: { word: "warn", colour: "\x1b[33m" },
  fail: { word: "FAIL", colour: "\x1b[31;1m" },
};
const indent = 6;

/** `FAIL  what was found. What to do`, its lines broken at the width of the terminal. */
export function findingLine(
  { status, text, hint }: Finding,
  { colour, width }: Pick<Context, "colour" | "width">,
): string {
  const { word, colour: start } = labels[status];
  const label = colour ? `${start}${word}\x1b[0m` : word;
  const said = hint === undefined ? text : `${text}. ${hint}`;
  return label + " ".repeat(indent - word.length) + wrap(said, width - indent).join(`\n${" ".repeat(indent)}`);
}
