/**
 * The BrightScript console of a Roku (protocols/roku.md 2.2): one TCP connection per set, shared by all who read, kept
 * in a ring. Nothing is ever written to it: a Ctrl-C would stop the app.
 */
import type net from "node:net";
import { systemCode, textOf, ZapdError } from "../../errors.ts";
import { rest } from "../../rest.ts";
import type { Address, Console } from "../platform.ts";
import { developerHint } from "./paths.ts";

const limits = { lines: 5_000, lineCharacters: 8_192, partial: 65_536 } as const;
/** What the set replays on connecting is over when it has been silent this long (roku-debug, RTA). */
const settleFor = 400;
const settleAtMost = 3_000;
const connectTimeout = 2_000;
const waitForFirst = 500;
const pollEvery = 50;
/** Attaching is shared by all who wait, so no caller's own signal ends it. */
const attachTimeout = 8_000;
/** Released when nobody has read for a while: a set serves one reader, and it may be an editor's turn. */
const releaseAfter = 60_000;
const inUse = /Console connection is already in use/i;

export class RokuConsole implements Console {
  readonly #address: Address;
  readonly #epoch = crypto.randomUUID().slice(0, 8);
  #lines: string[] = [];
  /** How many lines have gone through the ring. */
  #count = 0;
  readonly #prove: (signal: AbortSignal) => Promise<unknown>;
  #feed: Feed | undefined;
  #attaching: Promise<void> | undefined;
  #release: ReturnType<typeof setTimeout> | undefined;

  /** `prove` fails when another device has the address: its log is not for those who ask for this one. */
  constructor(address: Address, prove: (signal: AbortSignal) => Promise<unknown> = async () => {}) {
    this.#address = address;
    this.#prove = prove;
  }

  /** The lines after `cursor`; a cursor of another run of the daemon counts as none. */
  async read(cursor: string | null, signal: AbortSignal): Promise<{ lines: string[]; cursor: string }> {
    if (!this.#feed?.open) {
      this.#attaching ??= this.#attach(AbortSignal.timeout(attachTimeout)).finally(() => {
        this.#attaching = undefined;
      });
    }
    await this.#attaching;
    clearTimeout(this.#release);
    this.#release = setTimeout(() => this.close(), releaseAfter);
    this.#release.unref?.();
    const [epoch, at] = cursor?.split(".") ?? [];
    const seen = epoch === this.#epoch && at ? Number.parseInt(at, 10) : 0;
    await this.#something(seen, signal);
    const fresh = Math.min(this.#lines.length, Math.max(0, this.#count - seen));
    return { lines: this.#lines.slice(this.#lines.length - fresh), cursor: `${this.#epoch}.${this.#count}` };
  }

  /** Waits a moment where there is nothing to give yet: what an install or a launch sets off comes just behind its answer. */
  async #something(seen: number, signal: AbortSignal): Promise<void> {
    for (let waited = 0; this.#count <= seen && this.#feed?.open && waited < waitForFirst; waited += pollEvery) {
      await rest(pollEvery, signal);
    }
  }

  close(): void {
    clearTimeout(this.#release);
    this.#feed?.close();
    this.#feed = undefined;
  }

  async #attach(signal: AbortSignal): Promise<void> {
    const replay: string[] = [];
    let settled = false;
    const feed = new Feed((line) => {
      if (settled) return this.#add([line]);
      replay.push(line);
      // What will not be kept is not collected either.
      if (replay.length > 2 * limits.lines) replay.splice(0, limits.lines);
    });
    // From now on it is there to be closed, whoever waits for it.
    this.#feed = feed;
    await this.#prove(signal);
    await feed.connect(this.#address, signal);
    const start = performance.now();
    const quietFor = () => performance.now() - Math.max(feed.heardAt, start);
    while (feed.open && quietFor() < settleFor && performance.now() - start < settleAtMost)
      await rest(pollEvery, signal);
    if (replay.some((line) => inUse.test(line))) {
      feed.close();
      throw new ZapdError("console_in_use", "already serves its developer console to another program", {
        hint: "Close the editor, telnet or log viewer that is connected to it, and ask again",
      });
    }
    settled = true;
    this.#add(replay.slice(overlap(this.#lines, replay)));
  }

  #add(lines: readonly string[]): void {
    this.#count += lines.length;
    this.#lines.push(...lines);
    if (this.#lines.length > limits.lines) this.#lines = this.#lines.slice(-limits.lines);
  }
}

/**
 * How many lines at the start of a replay have been kept before. The set replays its buffer on each connection: what
 * stands there up to the last lines that we kept is not new.
 */
export function overlap(kept: readonly string[], replay: readonly string[]): number {
  const tail = kept.slice(-20);
  for (let end = replay.length; end > 0 && tail.length > 0; end--) {
    const shared = Math.min(tail.length, end);
    if (tail.slice(-shared).every((line, at) => line === replay[end - shared + at])) return end;
  }
  return 0;
}

/** One TCP connection, cut into lines. */
class Feed {
  open = false;
  heardAt = 0;
  readonly #onLine: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #socket: net.Socket | undefined;
  #partial = "";
  #skip = 0;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  async connect(address: Address, signal: AbortSignal): Promise<void> {
    const { connect } = await import("node:net");
    return new Promise((resolve, reject) => {
      const socket = connect({ host: address.host, port: address.port });
      this.#socket = socket;
      const fail = (error: unknown) => {
        socket.destroy();
        reject(error instanceof ZapdError ? error : closed(error));
      };
      const timer = setTimeout(() => fail(closed("no answer")), connectTimeout);
      const aborted = () => fail(signal.reason);
      signal.addEventListener("abort", aborted, { once: true });
      socket.on("error", fail);
      socket.on("close", () => this.#ended());
      socket.on("data", (bytes: Uint8Array) => this.#received(bytes));
      socket.on("connect", () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", aborted);
        this.open = true;
        resolve();
      });
      socket.on("close", () => {
        clearTimeout(timer);
        fail(closed("it was let go"));
      });
    });
  }

  close(): void {
    this.open = false;
    this.#socket?.destroy();
  }

  #ended(): void {
    this.open = false;
    if (this.#partial !== "") this.#line(this.#partial);
    this.#partial = "";
  }

  #received(bytes: Uint8Array): void {
    this.heardAt = performance.now();
    this.#partial += this.#decoder.decode(this.#withoutTelnet(bytes), { stream: true });
    const lines = this.#partial.split(/\r?\n/);
    this.#partial = (lines.pop() ?? "").slice(-limits.partial);
    for (const line of lines) this.#line(line);
  }

  #line(line: string): void {
    // Colours and other terminal controls of an app's own output stay out: readers print this.
    this.#onLine(
      line
        .replace(/\x1b\[[0-9;]*[A-Za-z]/g, "")
        .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "")
        .slice(0, limits.lineCharacters),
    );
  }

  /** Takes out NUL and telnet commands (0xff and two bytes), which may be split across packets. */
  #withoutTelnet(bytes: Uint8Array): Uint8Array {
    if (this.#skip === 0 && !bytes.includes(0xff) && !bytes.includes(0)) return bytes;
    return bytes.filter((byte) => {
      if (this.#skip > 0) {
        this.#skip--;
        return false;
      }
      if (byte === 0xff) this.#skip = 2;
      return byte !== 0xff && byte !== 0;
    });
  }
}

function closed(cause: unknown): ZapdError {
  if (systemCode(cause) === "ECONNREFUSED") {
    return new ZapdError("device_refused", "does not open its developer console", { hint: developerHint, cause });
  }
  return new ZapdError("device_unreachable", "did not answer on its developer console", {
    hint: developerHint,
    cause: textOf(cause),
  });
}
