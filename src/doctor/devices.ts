/** Checks of the devices: whether each answers and accepts commands, and whether packages can be installed. */
import type { Device, State } from "../api/client.ts";
import { powerWords } from "../api/client-words.ts";
import type { Failure, Outcome } from "../api/errors.ts";
import { Semaphore } from "../system/semaphore.ts";
import { joinWithAnd, shellQuote, shortTime } from "../system/text.ts";
import { type Examination, type Finding, fail, type Machine, ok, warn } from "./examination.ts";

/** `devices.request_timeout_ms` may be 30 s, which is longer than a person waits. */
const answerTimeoutMs = 8_000;
const atOnce = 16;
/** After this the remaining devices are not asked. */
const totalTimeoutMs = 20_000;

export async function devicesReachable(exam: Examination): Promise<Finding[]> {
  if ((await exam.daemon()).state !== "running") return [];
  const devices = await exam.devices();
  if (devices.length === 0)
    return [warn("no device is known", "Run zapd discover, or add one by its address: zapd add 192.168.1.40")];
  const until = performance.now() + totalTimeoutMs;
  const turns = new Semaphore(atOnce);
  const examined = devices.map(async (device) => {
    const found = await turns.run(() => examineDevice(device, exam, until));
    return { ...found, id: `device:${device.id}` };
  });
  return Promise.all(examined);
}

async function examineDevice(device: Device, exam: Examination, until: number): Promise<Finding> {
  const msLeft = () => Math.min(answerTimeoutMs, until - performance.now());
  const ms = msLeft();
  if (ms <= 0) return warn(`${device.name}: not asked, because the others took too long`);
  const late = performance.now() + ms;
  const answer = await exam.ask("getState", { id: device.id }, ms);
  // The device as it is after its answer.
  const known = answer.ok ? answer.data.device : device;
  if (!answer.ok && answer.code === "device_refused") return refused(known, answer);
  // It was this check that gave up, and not the daemon.
  if (!answer.ok && performance.now() >= late) return unreachable(known, notInTime(known, ms), exam.machine);
  if (!answer.ok) return unreachable(known, answer, exam.machine);
  if (known.access === "full" || known.access === null) return reachable(known, answer.data.state);
  if (known.access === "unpaired") return refused(known, answer);
  // A device that refuses keys refuses its list of apps too, and names the setting; reading the list changes nothing.
  const list = await exam.ask("refreshApps", { id: device.id }, Math.max(0, msLeft()));
  if (list.ok && list.data.device.access === "full") return reachable(list.data.device, answer.data.state);
  return refused(known, list);
}

function reachable(device: Device, state: State): Finding {
  const power = powerWords[state.power];
  return ok(`${device.name}: ${power}${device.access ? ", full access" : ""}`);
}

/** The words of the device's own settings. */
const modes = { full: "Enabled", limited: "Limited", disabled: "Disabled", unpaired: "not paired" } as const;

function refused(device: Device, answer: Outcome<unknown>): Finding {
  const withheld = device.access === "disabled" ? "everything refused" : "keys refused";
  const mode = device.access && device.access !== "full" ? ` (${modes[device.access]})` : "";
  const refusalHint = !answer.ok && answer.code === "device_refused" ? answer.hint : undefined;
  // With keys over one protocol, what is withheld need not be what another asks to be paired for.
  const pairing = device.access === "unpaired" && device.capabilities.includes("keys");
  const settings = device.withheld.find((one) => one.hint !== null)?.hint ?? undefined;
  const hint = refusalHint ?? (pairing ? `Run zapd pair ${shellQuote(device.name)}` : settings);
  return fail(`${device.name}: ${withheld}${mode}`, hint);
}

function notInTime({ name }: Device, ms: number): Failure {
  const message = `${name} did not answer within ${Math.round(ms / 1_000)} s`;
  return { code: "device_timeout", message, hint: "It may be asleep or busy" };
}

/** Codes whose messages begin with the name of the device. */
const ofDevice = /^(device_(unreachable|timeout|error|busy|unproven)|pairing_required|unsupported_operation)$/;

async function unreachable(device: Device, failed: Failure, machine: Machine): Promise<Finding> {
  const { name } = device;
  const seen = device.last_seen === null ? "" : ` (last seen ${shortTime(new Date(device.last_seen), machine.now())})`;
  const wakes = device.mac !== null && device.capabilities.includes("power_on");
  // Where something accepts connections the device is not asleep: another device has its address, or something else is wrong.
  if (failed.code === "device_unreachable" && wakes && !(await machine.isListening(device.host, device.port)))
    return warn(`${name}: asleep, wakes by magic packet${seen}`);
  // The finding begins with the name already.
  const found = ofDevice.test(failed.code) ? failed.message.slice(name.length) : ` ${failed.message}`;
  return fail(`${name}:${found}${seen}`, failed.hint);
}

/** Warns of devices in developer mode without a password, which installing needs. */
export async function developerPassword(exam: Examination): Promise<Finding[]> {
  const developers = (await exam.devices()).filter((one) => one.capabilities.includes("dev"));
  if (developers.length === 0) return [];
  const answer = await exam.ask("readConfig", {}, 2_000);
  if (!answer.ok || answer.data.dev.vendor_password !== "") return [];
  const names = joinWithAnd(developers.map((one) => one.name));
  const have = developers.length === 1 ? "has developer mode" : "have developer mode";
  // The API does not tell which sets have a password of their own.
  const hint =
    "Unless it has its own (zapd install PACKAGE --password -), give the one chosen on the set: zapd config set dev.vendor_password -";
  return [warn(`${names} ${have}, and dev.vendor_password is not set`, hint)];
}
