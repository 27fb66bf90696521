/** Checks of each known device: whether it answers, and what its settings let through. All through the daemon. */
import type { z } from "zod";
import type { Device, operations, State } from "../../api/operations.ts";
import type { Asked } from "../ask.ts";
import { devicePath } from "../client.ts";
import type { Failure } from "../failure.ts";
import { listed, shortTime } from "../words.ts";
import { type Finding, fail, ok, warn } from "./check.ts";
import type { Examination } from "./examination.ts";

type StateData = z.infer<(typeof operations)["getState"]["data"]>;

/** A device has `devices.request_timeout_ms` for one answer, 30 s at most; this is what a person waits for. */
const answersWithin = 8_000;
const atOnce = 16;
/** Of many that do not answer, the last are not waited for. */
const allWithin = 20_000;

export async function devicesReachable(exam: Examination): Promise<Finding[]> {
  if ((await exam.met()).as !== "running") return [];
  const devices = await exam.devices();
  if (devices.length === 0)
    return [warn("devices", "no device is known", "zapd discover, or by its address: zapd add 192.168.1.40")];
  const until = performance.now() + allWithin;
  const findings: Finding[] = new Array(devices.length);
  const todo = devices.entries();
  const work = async () => {
    for (const [at, device] of todo) findings[at] = await examineDevice(device, exam, until);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return findings;
}

async function examineDevice(device: Device, exam: Examination, until: number): Promise<Finding> {
  const path = devicePath(device.id);
  const left = () => Math.min(answersWithin, until - performance.now());
  if (left() <= 0) return warn(`device:${device.id}`, `${device.name}: not asked, the others took too long`);
  const asked = await exam.ask<StateData>("GET", `${path}/state`, left());
  // What was learned while it answered counts, not what was known before.
  const known = asked.ok ? asked.data.device : device;
  if (!asked.ok && asked.code === "device_refused") return refused(known, asked);
  if (!asked.ok) return unreachable(known, asked, exam.machine.now());
  if (known.access === "full" || known.access === null) return reachable(known, asked.data.state);
  // Its list of apps is refused together with its keys, and the refusal names the setting; nothing is moved by asking.
  const list = await exam.ask<{ device: Device }>("POST", `${path}/apps/refresh`, Math.max(0, left()));
  if (list.ok && list.data.device.access === "full") return reachable(list.data.device, asked.data.state);
  return refused(known, list);
}

function reachable(device: Device, state: State): Finding {
  const power = { on: "on", standby: "in standby", off: "off", unknown: "answers" }[state.power];
  return ok(`device:${device.id}`, `${device.name}: ${power}${device.access ? ", full access" : ""}`);
}

/** The set's own words for its modes. */
const modes = { full: "Enabled", limited: "Limited", disabled: "Disabled", unpaired: "not paired" } as const;

function refused(device: Device, asked: Asked<unknown>): Finding {
  const withheld = device.access === "disabled" ? "everything refused" : "keys refused";
  const mode = device.access && device.access !== "full" ? ` (${modes[device.access]})` : "";
  const hint = !asked.ok && asked.code === "device_refused" ? asked.hint : undefined;
  return fail(`device:${device.id}`, `${device.name}: ${withheld}${mode}`, hint);
}

function unreachable(device: Device, failed: Failure, now: Date): Finding {
  const id = `device:${device.id}`;
  const { name } = device;
  const seen = device.last_seen === null ? "" : ` (last seen ${shortTime(new Date(device.last_seen), now)})`;
  const moved = failed.reason === "wrong_device";
  const wakes = device.mac !== null && device.capabilities.includes("power_on");
  if (failed.code === "device_unreachable" && !moved && wakes)
    return warn(id, `${name}: asleep, wakes by magic packet${seen}`);
  const said = failed.message;
  return fail(
    id,
    `${said.startsWith(name) ? `${name}:${said.slice(name.length)}` : `${name}: ${said}`}${seen}`,
    failed.hint,
  );
}

/** A developer mode that nothing can be installed with. */
export async function developerPassword(exam: Examination): Promise<Finding[]> {
  const developers = (await exam.devices()).filter((one) => one.capabilities.includes("dev"));
  if (developers.length === 0) return [];
  const asked = await exam.ask<{ dev: { vendor_password: string } }>("GET", "/config", 2_000);
  if (!asked.ok || asked.data.dev.vendor_password !== "") return [];
  const names = listed(developers.map((one) => one.name));
  const have = developers.length === 1 ? "has developer mode" : "have developer mode";
  const hint = "Give the one chosen on the set: zapd config set dev.vendor_password -";
  return [warn("password", `${names} ${have}, and no developer password is set`, hint)];
}
