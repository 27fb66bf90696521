/**
 * `zapd play`: presses the key, plays what is at an address, or plays a file of this machine, which is served to that one
 * device for as long as it plays.
 */
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import type { Followed } from "../api/client.ts";
import { isPowerOff, positionAt, timecode } from "../api/client-words.ts";
import { exits, ZapdError } from "../api/errors.ts";
import type { Device, State } from "../api/schemas.ts";
import { printable } from "../system/printable.ts";
import { listenToPeer, type PeerListener } from "../transport/peer-listener.ts";
import { call, groupOf } from "./client.ts";
import { type Context, stderr } from "./context.ts";
import { CommandError, UsageError } from "./failure.ts";
import { pressKey } from "./keys.ts";
import { size } from "./print.ts";
import { type Progress, progressOn } from "./progress.ts";
import { followEvents, tryCall } from "./requests.ts";
import { ServedFile } from "./served-file.ts";
import { endingSignals, onSignal } from "./signals.ts";

/** A device that has requested nothing by then cannot reach us; one that does not report the file by then does not play it. */
const firstRequestTimeoutMs = 30_000;
/** How long the device must report an end: between two files it plays none, and an app in the background may still read. */
const endConfirmedAfterMs = { stopped: 3_000, elsewhere: 15_000 } as const;
/** Until then a device may still report what it did before. */
const settleMs = 5_000;
/** A device that does not report playback by then never does. */
const playbackReportTimeoutMs = 10_000;
/** How often to check for the end, and to redraw the progress. */
const checkEveryMs = 500;
const stopTimeoutMs = 5_000;

export async function play(context: Context): Promise<number> {
  const [what] = context.words;
  const type = context.option("type");
  if (type !== undefined && !/^[\w.+-]{1,64}\/[\w.+-]{1,64}$/.test(type))
    throw new UsageError("--type needs a type such as video/mp4");
  if (what === undefined && type !== undefined) throw new UsageError("--type needs an address or a file");
  if (what === undefined) {
    await pressKey(context, "play");
    return exits.ok;
  }
  if (groupOf(context)) throw new UsageError("a file plays on one device: give its name with -d");
  const [, scheme] = /^([a-z][a-z0-9+.-]+):\/\//i.exec(what) ?? [];
  if (/^https?$/i.test(scheme ?? "")) {
    const called = await call(context, "playMedia", { id: context.device, body: { url: what, mime: type } });
    const { device, confirmed } = called.data;
    context.reportDone(called, confirmed === false && `${device.name} accepted it, but does not show that it plays`);
    return exits.ok;
  }
  return playFile(context, pathOf(what, scheme), type ?? null);
}

function pathOf(what: string, scheme: string | undefined): string {
  if (what === "") throw new UsageError("play what? Give a file, or an address such as http://192.168.1.5/film.mp4");
  if (scheme === undefined) return what;
  if (scheme.toLowerCase() !== "file") throw new UsageError(`an address must begin with http or https, not ${scheme}`);
  try {
    return fileURLToPath(what);
  } catch {
    throw new UsageError(`${what} is not the address of a file on this machine`);
  }
}

async function playFile(context: Context, path: string, type: string | null): Promise<number> {
  const progress = progressOn(stderr());
  const file = await ServedFile.open(path, type);
  let listener: PeerListener | undefined;
  try {
    const device = (await call(context, "getDevice", { id: context.device }, { quiet: true })).data;
    listener = await serve(file, device);
    const stopped = new AbortController();
    // To the end of the process: the second signal of one Ctrl-C may come last.
    onSignal(endingSignals(), (signal) => stopped.abort(signal));
    const played = new FilePlayback(context, file, device, progress, stopped.signal);
    return await played.run(listener.url);
  } finally {
    progress.clear();
    await listener?.close();
    await file.close();
  }
}

async function serve(file: ServedFile, device: Device): Promise<PeerListener> {
  const methods = ["GET", "HEAD"];
  try {
    return await listenToPeer({ peer: device.host, methods, name: file.name, answer: (one) => file.answer(one) });
  } catch (error) {
    if (!(error instanceof ZapdError)) throw error;
    const { code, message, hint } = error;
    throw CommandError.of({ code, message: `${device.name} ${message}`, hint });
  }
}

/** What the device reported once it played the file, to tell when it plays something else. */
interface InitialPlayback {
  readonly app: string | null;
  readonly title: string | null;
  readonly durationMs: number | null;
}

/** One file that a device plays, from the hand-over of its address until the end. */
class FilePlayback {
  readonly #context: Context;
  readonly #file: ServedFile;
  readonly #device: Device;
  readonly #progress: Progress;
  readonly #signal: AbortSignal;
  /** Whether the device took the address. */
  #isHandedOver = false;
  #state: State | null = null;
  /** When the first request of the device was noticed; `null` until then. */
  #firstRequestAt: number | null = null;
  /** `null` until `settleMs` after the first request. */
  #initial: InitialPlayback | null = null;
  /** Whether the device reports playback. Where it does not, only its app and its power tell of the end. */
  #reportsPlayback = false;
  /** Whether it has reported more than that it loads the file, which may yet fail. */
  #hasPlayed = false;
  /** Whether the device reports playback, took the address, and did not report this file. */
  #isUnconfirmed = false;
  /** Whether another caller of the daemon has played something else there. */
  #isReplaced = false;
  /** Since when the device has reported an end; `null` while it has not. */
  #endSeenAt: number | null = null;
  #reportedFailure: string | null = null;
  #hasWarnedOfNoReport = false;

  constructor(context: Context, file: ServedFile, device: Device, progress: Progress, signal: AbortSignal) {
    this.#context = context;
    this.#file = file;
    this.#device = device;
    this.#progress = progress;
    this.#signal = signal;
  }

  /** Hands over the address, waits for the end, and gives the exit status. */
  async run(url: string): Promise<number> {
    const { id } = this.#device;
    const body = { url, mime: this.#file.type ?? undefined, title: titleOf(this.#file.name) };
    try {
      const called = await call(this.#context, "playMedia", { id, body, signal: this.#signal });
      this.#isUnconfirmed = called.data.confirmed === false;
      this.#hasPlayed = called.data.confirmed === true;
      this.#reportsPlayback = this.#hasPlayed;
      this.#context.reportDone(called);
    } catch (error) {
      if (this.#signal.aborted) return this.#stopInterrupted();
      throw error;
    }
    this.#isHandedOver = true;
    const handedOverAt = performance.now();
    const over = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
    this.#follow(AbortSignal.any([this.#signal, over.signal])).then(() => resolve(undefined), reject);
    const timer = setInterval(() => {
      try {
        const sentence = this.#check(handedOverAt);
        if (sentence) resolve(sentence);
      } catch (error) {
        reject(error);
      }
    }, checkEveryMs);
    const ended = await promise.finally(() => {
      clearInterval(timer);
      over.abort();
    });
    if (this.#signal.aborted) return this.#stopInterrupted();
    this.#say(ended ?? `${this.#device.name} is no longer known, so ${this.#file.name} is no longer served`);
    return exits.ok;
  }

  /** Follows the state of the device until the signal aborts or the device is removed. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { id } = this.#device;
    const broken = (isBroken: boolean) =>
      this.#say(
        isBroken
          ? `zapd: the daemon does not answer. ${this.#file.name} is still served; Ctrl-C ends`
          : "zapd: the daemon is back",
      );
    const query = { devices: id, types: "state.changed,device.removed,action.finished" };
    for await (const event of followEvents(this.#context, { query, signal }, { broken })) {
      if (event.type === "device.removed") {
        if (event.part_of === undefined) return;
        // The events of the other one come from now on.
        this.#state = null;
        this.#initial = null;
        continue;
      }
      // Our own was published before its answer, and so before these events.
      if (event.type === "action.finished") this.#isReplaced ||= event.action === "media" && event.ok;
      this.#state = stateIn(event) ?? this.#state;
    }
  }

  /** The sentence for the end, once it has come; `since`: when the device took the address. Fails where the device requests nothing, or plays nothing. */
  #check(since: number): string | undefined {
    const { name } = this.#device;
    const { lastUsedAt, failure } = this.#file;
    const now = performance.now();
    if (lastUsedAt === null && now - since > firstRequestTimeoutMs) throw this.#neverRequestedError();
    if (failure !== null && failure !== this.#reportedFailure) this.#say(`zapd: ${this.#file.name} ${failure}`);
    this.#reportedFailure = failure;
    this.#showProgress(now - since);
    if (lastUsedAt === null || this.#state === null) return undefined;
    const isQuiet = now - lastUsedAt > endConfirmedAfterMs.elsewhere;
    if (this.#isUnconfirmed && !this.#reportsPlayback && isQuiet && now - since > firstRequestTimeoutMs)
      throw this.#notPlayedError();
    this.#firstRequestAt ??= lastUsedAt;
    this.#noteInitial(this.#state, now - this.#firstRequestAt);
    const why = this.#endReason(this.#state);
    if (why === null) {
      this.#endSeenAt = null;
      return undefined;
    }
    this.#endSeenAt ??= now;
    if (now - Math.max(this.#endSeenAt, lastUsedAt) < endConfirmedAfterMs[why]) return undefined;
    const isStopped = why === "stopped" && !this.#isReplaced && !isPowerOff(this.#state.power);
    if (isStopped && this.#reportsPlayback && !this.#hasPlayed) throw this.#notPlayedError();
    return `${this.#file.name} has ended on ${name}`;
  }

  #noteInitial({ app, playback }: State, askedMs: number): void {
    this.#reportsPlayback ||= playback !== null && playback.status !== "stopped";
    this.#hasPlayed ||= playback?.status === "playing" || playback?.status === "paused";
    if (
      !this.#reportsPlayback &&
      !this.#isUnconfirmed &&
      askedMs > playbackReportTimeoutMs &&
      !this.#hasWarnedOfNoReport
    ) {
      this.#hasWarnedOfNoReport = true;
      const { name } = this.#device;
      const end = app === null ? "turns off" : `leaves ${app.name} or turns off`;
      this.#say(`${name} does not show what it plays: ${this.#file.name} is served until it ${end}. Ctrl-C ends`);
    }
    if (askedMs < settleMs) return;
    const { app: ownApp, title, durationMs } = this.#initial ?? {};
    this.#initial = {
      app: ownApp ?? app?.id ?? null,
      title: title ?? playback?.title ?? null,
      durationMs: durationMs ?? playback?.duration_ms ?? null,
    };
  }

  /** Why the device no longer plays the file; `null` while it does. */
  #endReason({ power, app, playback }: State): keyof typeof endConfirmedAfterMs | null {
    if (isPowerOff(power)) return "stopped";
    if (this.#reportsPlayback && (playback === null || playback.status === "stopped")) return "stopped";
    if (this.#isReplaced) return "elsewhere";
    const { app: ownApp = null, title = null, durationMs = null } = this.#initial ?? {};
    if (ownApp !== null && app?.id !== ownApp) return "elsewhere";
    // A device may correct the title or the duration of a file; only another file, or a stream without an end, changes both.
    const isOther =
      title !== null &&
      durationMs !== null &&
      playback?.title != null &&
      playback.title !== title &&
      Math.abs((playback.duration_ms ?? 0) - durationMs) > 5_000;
    return isOther ? "elsewhere" : null;
  }

  #showProgress(sinceMs: number): void {
    const { name } = this.#device;
    const playback = this.#state?.playback ?? null;
    const sent = `${size(this.#file.bytesSent)} sent`;
    const asks = this.#file.lastUsedAt !== null;
    const waiting = `has not requested it yet, ${Math.round(sinceMs / 1_000)} s`;
    const parts = [`${this.#file.name} on ${name}`, asks ? playbackText(playback) : waiting, asks ? sent : ""];
    this.#progress.show(printable(parts.filter(Boolean).join("  ")));
  }

  #neverRequestedError(): CommandError {
    const { name, host } = this.#device;
    const seconds = firstRequestTimeoutMs / 1_000;
    return CommandError.of({
      code: "device_error",
      message: `${name} accepted the address of ${this.#file.name}, but did not request it within ${seconds} s`,
      hint: `A firewall on this machine may block it: allow ${host} to connect to this program. Or the device cannot play such a file`,
    });
  }

  #notPlayedError(): CommandError {
    return CommandError.of({
      code: "device_refused",
      message: `${this.#device.name} requested ${this.#file.name}, but does not play it`,
      hint: "It may not support this kind of file: try another format",
    });
  }

  async #stopInterrupted(): Promise<number> {
    const { name } = this.#device;
    // Before the hand-over is confirmed, a request of the device shows that it has the address.
    const hasIt = this.#isHandedOver || this.#file.lastUsedAt !== null;
    const isPlaying = hasIt && (this.#state === null || this.#endReason(this.#state) === null);
    const hasStopped = isPlaying && (await this.#stop());
    const remark = isPlaying && !hasStopped ? `; ${name} could not be stopped` : "";
    this.#say(hasStopped ? `stopped ${this.#file.name} on ${name}` : `${this.#file.name} is no longer served${remark}`);
    // As of a command that the signal has ended, so that a shell does not go on after `&&`.
    return 128 + constants.signals[this.#signal.reason as NodeJS.Signals];
  }

  /** Stops the playback, or leaves the app where the device has no stop. */
  async #stop(): Promise<boolean> {
    const { id } = this.#device;
    const stopped = await tryCall(this.#context, "controlPlayback", { id, body: { do: "stop" } }, stopTimeoutMs);
    // Before `settleMs`, playback that the device reports counts as the file.
    const isInApp = this.#initial === null ? this.#reportsPlayback : this.#initial.app !== null;
    if (stopped.ok || stopped.code !== "unsupported_operation" || !isInApp) return stopped.ok;
    return (await tryCall(this.#context, "stopApp", { id }, stopTimeoutMs)).ok;
  }

  #say(line: string): void {
    this.#progress.clear();
    this.#context.say(printable(line));
  }
}

/** Only events of the one device come. */
function stateIn(event: Followed): State | null {
  if (event.type === "state.changed") return event.state;
  return event.type === "snapshot" ? (event.devices[0]?.state ?? null) : null;
}

function playbackText(playback: State["playback"]): string {
  if (playback === null) return "";
  const { status, duration_ms } = playback;
  const at = positionAt(playback, Date.now());
  return [status, [at, duration_ms].flatMap((ms) => (ms === null ? [] : [timecode(ms)])).join(" / ")].join(" ").trim();
}

/** The title for the device: the name of the file without its extension; none where that is empty. */
function titleOf(name: string): string | undefined {
  const title = printable(name.replace(/\.\w{1,5}$/, ""))
    .slice(0, 256)
    .toWellFormed();
  return title === "" ? undefined : title;
}
