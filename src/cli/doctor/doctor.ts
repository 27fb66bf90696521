/** `zapd doctor`: looks for what may be in the way, and says what to do about it. */

import { exits } from "../../api/errors.ts";
import type { Device, State } from "../../api/schemas.ts";
import type { Outcome } from "../client.ts";
import type { Context } from "../context.ts";
import { powerWords } from "../control.ts";
import type { Failure } from "../failure.ts";
import { listed, shortTime, wrap } from "../print.ts";
import { otherConfig, placesOf } from "../running.ts";
import { configValid, daemonRuns, portBound, socketPrivate, stateWritable } from "./daemon.ts";
import {
  type Check,
  type Examination,
  examine,
  type Finding,
  fail,
  type Machine,
  ok,
  runChecks,
  thisMachine,
  type Verdict,
  warn,
} from "./examination.ts";
import { clockSane, container, firewall, interfacesAsked, multicastReceived } from "./network.ts";

/** Every check, in the order in which they are told. */
const checks: Readonly<Record<string, Check>> = {
  daemon: { about: "the daemon", timeoutMs: 6_000, run: daemonRuns },
  port: { about: "its port", timeoutMs: 6_000, run: portBound },
  socket: { about: "its socket", timeoutMs: 6_000, run: socketPrivate },
  config: { about: "the config", timeoutMs: 6_000, run: configValid },
  state: { about: "the state folder", timeoutMs: 4_000, run: stateWritable },
  clock: { about: "the clock", timeoutMs: 4_000, run: clockSane },
  interfaces: { about: "the interfaces", timeoutMs: 5_000, run: interfacesAsked },
  multicast: { about: "multicast", timeoutMs: 5_000, run: multicastReceived },
  firewall: { about: "the firewall", timeoutMs: 5_000, run: firewall },
  container: { about: "the container", timeoutMs: 5_000, run: container },
  devices: { about: "the devices", timeoutMs: 25_000, run: devicesReachable },
  password: { about: "the developer password", timeoutMs: 8_000, run: developerPassword },
};

export async function doctor(context: Context): Promise<number> {
  const places = await placesOf(context);
  const all: Finding[] = [];
  const remark = otherConfig(context, places);
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
  const sentence = hint === undefined ? text : `${text}. ${hint}`;
  return label + " ".repeat(indent - word.length) + wrap(sentence, width - indent).join(`\n${" ".repeat(indent)}`);
}

/** A device has `devices.request_timeout_ms` for one answer, 30 s at most; this is what a person waits for. */
const answerTimeoutMs = 8_000;
const atOnce = 16;
/** Of many that do not answer, the last are not waited for. */
const totalTimeoutMs = 20_000;

export async function devicesReachable(exam: Examination): Promise<Finding[]> {
  if ((await exam.met()).as !== "running") return [];
  const devices = await exam.devices();
  if (devices.length === 0)
    return [warn("no device is known", "zapd discover, or by its address: zapd add 192.168.1.40")];
  const until = performance.now() + totalTimeoutMs;
  const findings: Finding[] = new Array(devices.length);
  const todo = devices.entries();
  const work = async () => {
    for (const [at, device] of todo)
      findings[at] = { ...(await examineDevice(device, exam, until)), id: `device:${device.id}` };
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return findings;
}

async function examineDevice(device: Device, exam: Examination, until: number): Promise<Finding> {
  const left = () => Math.min(answerTimeoutMs, until - performance.now());
  if (left() <= 0) return warn(`${device.name}: not asked, the others took too long`);
  const asked = await exam.ask("getState", { id: device.id }, left());
  // What was learned while it answered counts, not what was known before.
  const known = asked.ok ? asked.data.device : device;
  if (!asked.ok && asked.code === "device_refused") return refused(known, asked);
  if (!asked.ok) return unreachable(known, asked, exam.machine);
  if (known.access === "full" || known.access === null) return reachable(known, asked.data.state);
  // Its list of apps is refused together with its keys, and the refusal names the setting; nothing is moved by asking.
  const list = await exam.ask("refreshApps", { id: device.id }, Math.max(0, left()));
  if (list.ok && list.data.device.access === "full") return reachable(list.data.device, asked.data.state);
  return refused(known, list);
}

function reachable(device: Device, state: State): Finding {
  const power = powerWords[state.power];
  return ok(`${device.name}: ${power}${device.access ? ", full access" : ""}`);
}

/** The set's own words for its modes. */
const modes = { full: "Enabled", limited: "Limited", disabled: "Disabled", unpaired: "not paired" } as const;

function refused(device: Device, asked: Outcome<unknown>): Finding {
  const withheld = device.access === "disabled" ? "everything refused" : "keys refused";
  const mode = device.access && device.access !== "full" ? ` (${modes[device.access]})` : "";
  const hint = !asked.ok && asked.code === "device_refused" ? asked.hint : undefined;
  return fail(`${device.name}: ${withheld}${mode}`, hint);
}

/** The codes of failures that speak of the device itself. */
const ofDevice = /^(device_(unreachable|timeout|error|busy|unproven)|pairing_required|unsupported_operation)$/;

async function unreachable(device: Device, failed: Failure, machine: Machine): Promise<Finding> {
  const { name } = device;
  const seen = device.last_seen === null ? "" : ` (last seen ${shortTime(new Date(device.last_seen), machine.now())})`;
  const wakes = device.mac !== null && device.capabilities.includes("power_on");
  // Where somebody accepts connections nobody sleeps: another device has its address, or it fails otherwise.
  if (failed.code === "device_unreachable" && wakes && !(await machine.listens(device.host, device.port)))
    return warn(`${name}: asleep, wakes by magic packet${seen}`);
  // What a device fails with begins with its name, which stands here once.
  const found = ofDevice.test(failed.code) ? failed.message.slice(name.length) : ` ${failed.message}`;
  return fail(`${name}:${found}${seen}`, failed.hint);
}

/** A developer mode that nothing can be installed with. */
export async function developerPassword(exam: Examination): Promise<Finding[]> {
  const developers = (await exam.devices()).filter((one) => one.capabilities.includes("dev"));
  if (developers.length === 0) return [];
  const asked = await exam.ask("readConfig", {}, 2_000);
  if (!asked.ok || asked.data.dev.vendor_password !== "") return [];
  const names = listed(developers.map((one) => one.name));
  const have = developers.length === 1 ? "has developer mode" : "have developer mode";
  const hint = "Give the one chosen on the set: zapd config set dev.vendor_password -";
  return [warn(`${names} ${have}, and no developer password is set`, hint)];
}
