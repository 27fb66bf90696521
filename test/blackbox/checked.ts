/** Calls that check each answer: the status of its code, the envelope, the schema, and that no vendor's words are in it. */
import { expect } from "bun:test";
import { statSync } from "node:fs";
import { basename, join } from "node:path";
import type { z } from "zod";
import { commonCodes, Failure, operations, success } from "../../src/api/operations.ts";
import { filesBelow } from "../security/canaries.ts";
import type { Answered, TestDaemon } from "../support/daemon.ts";

export { until } from "../support/http-device.ts";

export type Name = keyof typeof operations;
export type Data<Of extends Name> = z.infer<(typeof operations)[Of]["data"]>;
export type Failed = z.infer<typeof Failure>["error"];

export interface Call {
  readonly id?: string;
  readonly body?: unknown;
  readonly query?: string;
}

/** The statuses of DESIGN.md 2.8, independent of the code. */
const statuses: readonly [number, string][] = [
  [
    400,
    "invalid_payload invalid_key unsupported_key unsupported_operation unsupported_media invalid_device_name device_name_taken ambiguous_device ambiguous_app",
  ],
  [
    400,
    "invalid_host invalid_archive package_rejected dev_password_missing unsupported_patch_value unknown_config_key invalid_config_value",
  ],
  [403, "forbidden_host forbidden_origin loop_detected"],
  [404, "device_not_found default_device_missing app_not_found dev_package_missing picture_not_found not_found"],
  [405, "method_not_allowed"],
  [413, "payload_too_large"],
];
const statusOf = (code: string): number => statuses.find(([, codes]) => codes.split(" ").includes(code))?.[0] ?? 500;

export function at(name: Name, call: Call = {}): string {
  return operations[name].path.replace(":id", encodeURIComponent(call.id ?? "")) + (call.query ? `?${call.query}` : "");
}

export async function ask(daemon: TestDaemon, name: Name, call: Call = {}): Promise<Answered> {
  const answered = await daemon.api(operations[name].method.toUpperCase(), at(name, call), call.body);
  expect(answered.headers.get("content-type")).toStartWith("application/json");
  expectNoVendorWords(answered.body, name.toLowerCase().includes("config"));
  return answered;
}

/** The `data` of a call that must succeed, with nothing in it that the schema does not know. */
export async function succeed<Of extends Name>(daemon: TestDaemon, name: Of, call: Call = {}): Promise<Data<Of>> {
  return accepted(name, await ask(daemon, name, call));
}

export function accepted<Of extends Name>(name: Of, answered: Answered): Data<Of> {
  if (answered.status !== 200) throw new Error(`${name}: ${answered.status} ${JSON.stringify(answered.body)}`);
  const parsed = success(operations[name].data).parse(answered.body);
  expect(parsed).toEqual(answered.body);
  // The schema of this very operation has read it.
  return parsed.data as Data<Of>;
}

/** The error of a call that must fail with one of the codes. */
export async function refuse(daemon: TestDaemon, name: Name, call: Call, ...codes: string[]): Promise<Failed> {
  const error = refused(await ask(daemon, name, call), ...codes);
  // As the document lists them.
  expect([...commonCodes, ...operations[name].codes]).toContain(error.code);
  return error;
}

export function refused(answered: Answered, ...codes: string[]): Failed {
  if (answered.status === 200) throw new Error(`not refused: ${JSON.stringify(answered.body)}`);
  const { error } = Failure.parse(answered.body);
  expect(codes, `${error.code}: ${error.message}`).toContain(error.code);
  expect(answered.status).toBe(statusOf(error.code));
  expect(error.message.length).toBeGreaterThan(0);
  return error;
}

export async function add(
  daemon: TestDaemon,
  fake: { readonly address: object },
  name?: string,
): Promise<Data<"addDevice">> {
  const body = { ...fake.address, platform: "roku", ...(name !== undefined && { name }) };
  return succeed(daemon, "addDevice", { body });
}

const vendorValues =
  /^(appl|tvin|ssvr|menu|native-ui|PowerOn|PowerOff|Ready|DisplayOff|Headless|InstantReplay|permissive)$/;
const vendorText =
  /<\/|<\?xml|<app|<player|ecp-setting|user-device|power-mode|\bECP\b|keypress|keyup|tvinput_|is-tv|Lit_/;

/** No vendor's field, value or XML, at any depth. */
function expectNoVendorWords(value: unknown, settings = false, where = "body"): void {
  if (typeof value === "string") {
    if (vendorValues.test(value) || vendorText.test(value)) throw new Error(`${where}: ${value}`);
  } else if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) expectNoVendorWords(one, settings, `${where}[${index}]`);
  } else if (value && typeof value === "object") {
    for (const [key, one] of Object.entries(value)) {
      if (!/^[a-z][a-z0-9_]*$/.test(key) && !settings) throw new Error(`${where}: a field called "${key}"`);
      if (key !== "lines" && key !== "messages") expectNoVendorWords(one, settings, `${where}.${key}`);
    }
  }
}

/** Each secret is in the file of credentials with mode 0600, and in no answer, no log line and no other file. */
export async function expectKept(
  daemon: TestDaemon,
  ids: readonly string[],
  secrets: readonly string[],
): Promise<void> {
  const said = [daemon.log()];
  for (const name of ["listDevices", "status", "health", "readConfig"] as const)
    said.push(JSON.stringify((await ask(daemon, name)).body));
  for (const id of ids)
    for (const name of ["getDevice", "getState", "listApps"] as const)
      said.push(JSON.stringify((await ask(daemon, name, { id })).body));
  const files = filesBelow([daemon.stateFolder]);
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(7);
    for (const text of said) expect(text).not.toContain(secret);
    const holding = files.filter(({ text }) => text.includes(secret));
    expect(holding.map(({ path }) => basename(path))).toEqual(["credentials.json"]);
  }
  expect(statSync(join(daemon.stateFolder, "credentials.json")).mode & 0o777).toBe(0o600);
}
