/** `zapd fleet`: a client of the MQTT broker, not of the local daemon. Each site answers for its own devices. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { constants } from "node:os";
import { activity, lastPowerWords } from "../api/client-words.ts";
import { codes, exits, toErrorCode, ZapdError } from "../api/errors.ts";
import { labelPrefix } from "../api/routes.ts";
import type { State } from "../api/schemas.ts";
import {
  eachOnce,
  type Fleet,
  type FleetDevice,
  type FleetResult,
  type FleetSite,
  type Selection,
  type Send,
} from "../mqtt/fleet.ts";
import { isObject } from "../system/json.ts";
import { printable } from "../system/printable.ts";
import { orAborted } from "../system/sleep.ts";
import { pluralize } from "../system/text.ts";
import { deepLinkOf } from "./apps.ts";
import type { Context } from "./context.ts";
import { printFailure } from "./explain.ts";
import { CommandError, UsageError } from "./failure.ts";
import { openFleet } from "./fleet-broker.ts";
import { type Request, requestOf } from "./fleet-words.ts";
import { defaultOwner } from "./lease.ts";
import { type Cell, isColoured, paintFor, table, unreadable } from "./print.ts";
import { endingSignals, onSignal } from "./signals.ts";
import { findVerb } from "./words.ts";

type Verb = (context: Context, words: readonly string[]) => Promise<number>;

const verbs: Readonly<Record<string, Verb>> = {
  ls: (context, words) => printDevices(context, words, false),
  state: (context, words) => printDevices(context, words, true),
  run,
  key,
  install,
};

/** The time for all devices together, without `--timeout`. */
const defaultTimeoutMs = 30_000;
/** Fetching, sending and starting a package. */
const installTimeoutMs = 240_000;
const noSites = "A site appears once its daemon uses the broker: zapd config set mqtt.url mqtt://HOST:1883";
/** How long to wait for a device that another holder has leased; and how long one request, which cannot be taken back, waits for that. */
const leaseWaitS = 30;
const leaseStepS = 2;
/** How much longer than the time for all devices freeing a lease may take. */
const freeingMs = 2_000;
/** How long the sites may take to answer after a signal: for a lease, as long again and 5 s more until its device is idle. */
const stoppingMs = (2 * leaseStepS + 5) * 1_000 + freeingMs;

export async function fleet(context: Context): Promise<number> {
  const [verb = "", ...words] = context.words;
  return findVerb(verbs, verb)(context, words);
}

/** Prints the selected devices; with `states` what each does, as its site last published it. */
async function printDevices(context: Context, words: readonly string[], states: boolean): Promise<number> {
  if (words.length > 0) throw new UsageError("it takes no further words: select with --label, --site and -d");
  const { fleet, close } = await openFleet(context, states);
  try {
    const { sites } = fleet;
    const selection = selectionOf(context);
    const devices = fleet.select(selection);
    if (context.json) {
      const shown = devices.map(({ site, document, state }) => ({
        site: site.site,
        online: site.online,
        device: document,
        ...(states && { state }),
      }));
      context.print(JSON.stringify({ ok: true, data: { sites, devices: shown } }));
      return exits.ok;
    }
    if (devices.length > 0) context.print(states ? devices.map(stateLine).join("\n") : deviceTable(devices, context));
    // A site that was named is one of them without a device, too.
    const found = new Set([selection.site, ...devices.map(({ site }) => site.site)]);
    const among = selectsAll(selection) ? sites : sites.filter(({ site }) => found.has(site));
    context.say(printable(summaryOf(among, devices)));
    if (sites.length === 0) context.say(noSites);
    return exits.ok;
  } finally {
    await close();
  }
}

/** Sends a command for one device to all selected devices. */
async function run(context: Context, words: readonly string[]): Promise<number> {
  if (words.length === 0)
    throw new UsageError("run which command? For example: zapd fleet run launch netflix --label lab");
  return runOnSelected(context, requestOf(words), defaultTimeoutMs);
}

async function key(context: Context, words: readonly string[]): Promise<number> {
  if (words.length > 1)
    throw new UsageError("one key at a time; for several: zapd fleet run keys KEY KEY --label LABEL");
  return runOnSelected(context, requestOf(["key", ...words]), defaultTimeoutMs);
}

/** Makes each site fetch and install a package, from an origin that the site's own config lists. */
async function install(context: Context, words: readonly string[]): Promise<number> {
  const [url, ...pairs] = words;
  if (url === undefined || URL.parse(url)?.protocol !== "https:")
    throw new UsageError("which package? Give the https address from which each site downloads it");
  const params = deepLinkOf(pairs);
  const { sha256, bytes } = await packageIdentity(context);
  const args = { url, sha256, bytes, ...(params && { params }) };
  return runOnSelected(context, { op: "dev_install", args, leased: true }, installTimeoutMs);
}

/** The hash and size of the package: of `--file`, which is the file at the address, or from `--sha256` and `--bytes`. */
async function packageIdentity(context: Context): Promise<{ sha256: string; bytes: number }> {
  const file = context.option("file");
  const [sha256, bytes] = [context.option("sha256"), context.option("bytes")];
  if (file !== undefined) {
    const hash = createHash("sha256");
    let count = 0;
    try {
      for await (const chunk of createReadStream(file) as AsyncIterable<Uint8Array>) {
        count += chunk.length;
        hash.update(chunk);
      }
    } catch (error) {
      throw new CommandError(`${file} ${unreadable(error)}`, exits.failed, undefined, { code: "file_unreadable" });
    }
    return { sha256: hash.digest("hex"), bytes: count };
  }
  if (sha256 === undefined || bytes === undefined || !/^[1-9]\d{0,8}$/.test(bytes))
    throw new UsageError(
      "give --file FILE, the same file as at the address, or --sha256 HEX and --bytes COUNT, so that each site can check the package",
    );
  if (!/^[0-9a-f]{64}$/i.test(sha256)) throw new UsageError("--sha256 needs 64 hex digits, as sha256sum prints them");
  return { sha256: sha256.toLowerCase(), bytes: Number(bytes) };
}

/** Takes a lease of a device, does the work with it, and frees it, also when `stopped` aborts. */
export async function withLease(
  send: Send,
  device: string,
  { timeoutMs, stopped }: { readonly timeoutMs: number; readonly stopped: AbortSignal },
  work: (lease: string) => Promise<unknown>,
): Promise<unknown> {
  stopped.throwIfAborted();
  const ttl_s = Math.min(3_600, Math.ceil(timeoutMs / 1_000) + 30);
  // Half of the time at most, so that the site does not give the lease to a command that has ended.
  const wait_s = Math.min(leaseWaitS, Math.floor(timeoutMs / 2_000));
  const args = { device, owner: defaultOwner(), ttl_s, note: "fleet install" };
  const take = async (leftS: number): Promise<unknown> => {
    const isLast = leftS <= leaseStepS;
    return send({ op: "take_lease", args: { ...args, wait_s: isLast ? leftS : leaseStepS } }).catch((error) => {
      const isTaken = error instanceof ZapdError && (error.code === "device_leased" || error.code === "device_busy");
      if (isLast || !isTaken) throw error;
      stopped.throwIfAborted();
      return take(leftS - leaseStepS);
    });
  };
  const given = await take(wait_s);
  const lease = isObject(given) ? given["token"] : undefined;
  if (typeof lease !== "string") throw new ZapdError("internal_error", "the site gave a lease without a token");
  try {
    // It may have been stopped while it waited for the lease.
    stopped.throwIfAborted();
    return await orAborted(work(lease), stopped);
  } finally {
    // A lease that is not freed expires.
    await send({ op: "free_lease", args: { device }, lease }, freeingMs).catch(() => {});
  }
}

async function runOnSelected(context: Context, { op, args, leased }: Request, mostMs: number): Promise<number> {
  const selection = selectionOf(context);
  if (selectsAll(selection))
    throw new UsageError("which devices? Select them with --label LABEL, --site SITE or -d NAME, or all with -d all");
  const began = performance.now();
  const timeoutMs = context.timeoutMs ?? mostMs;
  const { fleet, replyTo, close } = await openFleet(context, false);
  const hints = new Set<string>();
  const [interrupted, gaveUp] = [new AbortController(), new AbortController()];
  let by: NodeJS.Signals | undefined;
  if (leased)
    onSignal([...endingSignals(), "SIGPIPE"], (signal) => {
      by = signal;
      interrupted.abort(new ZapdError("device_error", "The installation was stopped"));
      const silent = new ZapdError("site_offline", "The installation was stopped, but its site does not answer", {
        hint: "A lease that was not freed ends by itself",
      });
      setTimeout(() => gaveUp.abort(silent), stoppingMs).unref();
    });
  try {
    const targets = eachOnce(fleet.select(selection));
    if (targets.length === 0) throw noneSelectedError(fleet);
    const leftMs = Math.max(1, timeoutMs - (performance.now() - began));
    const limits = { timeoutMs: leftMs, stopped: interrupted.signal };
    const work = (send: Send, { id: device }: FleetDevice) => {
      const call = { op, args: { ...args, device } };
      return leased
        ? orAborted(
            withLease(send, device, limits, (lease) => send({ ...call, lease })),
            gaveUp.signal,
          )
        : send(call).then(checkScene);
    };
    const results = await fleet.run(targets, work, {
      replyTo,
      timeoutMs: leftMs,
      onResult: (result) => {
        // There may be no terminal, or no reader, left, and a failed write would end the process before all leases are freed.
        const isUnread = by === "SIGHUP" || by === "SIGPIPE";
        if (!context.json && !isUnread) printDeviceResult(context, result, hints);
      },
    });
    const status = reportResults(context, results);
    return by && by !== "SIGPIPE" ? 128 + constants.signals[by] : status;
  } finally {
    await close();
  }
}

/** Fails where a scene failed. The answer of a scene is a success that holds the result of each step. */
function checkScene(data: unknown): unknown {
  if (!isObject(data) || !Array.isArray(data["steps"]) || data["outcome"] === "done") return data;
  const steps: readonly unknown[] = data["steps"];
  const errors = steps.flatMap((step) => (isObject(step) && isObject(step["error"]) ? [step["error"]] : []));
  const { code, message, hint } = errors[0] ?? {};
  throw new ZapdError(
    toErrorCode(code),
    typeof message === "string" ? message.slice(0, 1_024) : "The scene did not finish",
    typeof hint === "string" ? { hint: hint.slice(0, 1_024) } : {},
  );
}

/** Prints the summary, and gives 0 where any device succeeded, else the exit status of the first failure. */
function reportResults(context: Context, results: readonly FleetResult[]): number {
  const accepted = results.filter(({ ok }) => ok).length;
  const [first] = results.flatMap((one) => (one.ok ? [] : [one.error]));
  const shown = results.map(({ device, ...rest }) => ({
    site: device.site.site,
    device: { id: device.id, name: device.name },
    ...rest,
  }));
  const status = accepted > 0 || !first ? exits.ok : codes[first.code].exit;
  if (context.json) {
    const document =
      status === exits.ok
        ? { ok: true, data: { results: shown } }
        : { ok: false, error: { ...first, details: { results: shown } } };
    context.print(JSON.stringify(document));
  } else if (results.length > 1) context.say(`${accepted} of ${results.length} accepted it`);
  return status;
}

/** Prints the result of one device. */
function printDeviceResult(context: Context, result: FleetResult, printedHints: Set<string>): void {
  const where = `${result.device.site.site}/${result.device.name}`;
  if (result.ok) return context.print(printable(`${where}: ok`));
  const { message, hint } = result.error;
  printFailure(context, `${where}: ${message}`, hint, printedHints);
}

function selectionOf(context: Context): Selection {
  const labels = context
    .option("label")
    ?.split(",")
    .map((one) => one.trim());
  if (labels?.includes("")) throw new UsageError("--label needs labels, separated by commas");
  const device = context.option("device");
  const labelOfDevice = device?.startsWith(labelPrefix) ? [device.slice(labelPrefix.length)] : [];
  return {
    labels: [...(labels ?? []), ...labelOfDevice],
    site: context.option("site"),
    device: labelOfDevice.length > 0 ? undefined : device,
  };
}

/** Without a choice everything is listed, and nothing is sent. */
function selectsAll(selection: Selection): boolean {
  return Object.values(selection).every((one) => one === undefined || one.length === 0);
}

function noneSelectedError(fleet: Fleet): CommandError {
  const count = fleet.select().length;
  return CommandError.of({
    code: count === 0 ? "device_not_found" : "group_not_found",
    message: count === 0 ? "No site on the broker has a device" : `None of the ${count} devices on the broker matches`,
    hint: count === 0 ? noSites : "List them with their labels: zapd fleet ls",
  });
}

function summaryOf(sites: readonly FleetSite[], devices: readonly FleetDevice[]): string {
  const off = sites.filter(({ online }) => !online);
  const listed = off.slice(0, 8).map(({ site }) => site);
  const names = off.length > listed.length ? [...listed, `${off.length - listed.length} more`] : listed;
  const count = `${pluralize(devices.length, "device")}, ${pluralize(sites.length, "site")}`;
  return off.length === 0 ? count : `${count}; offline: ${names.join(", ")}`;
}

function deviceTable(devices: readonly FleetDevice[], context: Context): string {
  const paint = paintFor(isColoured(context));
  const columns = [
    { title: "SITE", shrinkOrder: 0 },
    { title: "NAME", shrinkOrder: 1 },
    { title: "PLATFORM", dropOrder: 2 },
    { title: "MODEL", shrinkOrder: 2, dropOrder: 3 },
    { title: "POWER" },
    { title: "LABELS", shrinkOrder: 3, dropOrder: 1 },
  ];
  const rows = devices.map((one): Cell[] => [
    one.site.site,
    one.name,
    textIn(one.document, "platform") ?? "",
    textIn(one.document, "model") ?? "",
    one.site.online ? (textIn(one.document, "power") ?? "") : { text: "offline", paint: paint.bad },
    one.labels.join(","),
  ]);
  return table(columns, rows, context.width);
}

/** `lab2/Kitchen is on · YouTube`; the last known state where the site is offline. */
export function stateLine({ site, name, state }: FleetDevice): string {
  const where = `${site.site}/${name}`;
  const published = state && stateIn(state);
  const power = published?.power ?? "unknown";
  const known = power === "unknown" ? [where, lastPowerWords[power]] : [`${where} is ${lastPowerWords[power]}`];
  const parts = [...known, ...(published ? activity(published) : []), ...(site.online ? [] : ["offline"])];
  return printable(parts.join(" · "));
}

/** The text of a field; `null` where there is none. */
function textIn(document: unknown, name: string): string | null {
  const value = isObject(document) ? document[name] : null;
  return typeof value === "string" ? value : null;
}

/** A published state, field by field, since a site may run another version; `null` where it has no known power. */
function stateIn(document: Readonly<Record<string, unknown>>): State | null {
  const { power, app, playback, volume } = document;
  if (typeof power !== "string" || !Object.hasOwn(lastPowerWords, power)) return null;
  const name = textIn(app, "name");
  const about = { title: textIn(playback, "title"), artist: textIn(playback, "artist"), artwork: false };
  const status = ["playing", "paused", "buffering"].find((one) => isObject(playback) && playback["status"] === one);
  const level = isObject(volume) && typeof volume["level"] === "number" ? volume["level"] : null;
  const times = { position_ms: null, duration_ms: null, live: null, position_at: null, rate: null };
  return {
    power: power as State["power"],
    app: name === null ? null : { id: "", name, platform_id: "", type: "app", version: null, installed: true },
    screensaver: document["screensaver"] === true,
    playback: status === undefined ? null : { status: status as "playing", ...about, ...times },
    volume: isObject(volume) ? { level, muted: volume["muted"] === true } : null,
    input: null,
    observed_at: "",
  };
}
