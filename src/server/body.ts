/** Reading request bodies, bounded in size, depth and time. */
import { ZapdError } from "../api/errors.ts";
import { currentRuntime } from "../runtime/runtime.ts";
import { sleep } from "../system/sleep.ts";

const limits = { jsonBytes: 1024 * 1024, jsonMs: 30_000, depth: 32, keys: 1_000, idleMs: 10_000 } as const;
/** A body with a `content-length` up to this is read in one piece, which the runtime bounds: a stream takes a quarter of the time of a key press. */
const shortBytes = 16 * 1024;

/** The JSON of a body; `undefined` for an empty one. Fails with `invalid_payload` or `payload_too_large`. */
export async function readJson(request: Request): Promise<unknown> {
  const length = await checkLength(request, limits.jsonBytes);
  const bytes =
    /^\d{1,5}$/.test(length) && Number(length) <= shortBytes
      ? new Uint8Array(await withTimeout(request.arrayBuffer(), limits.idleMs))
      : await readParts(request);
  if (bytes.every((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d))) return undefined;
  checkType(request);
  const value = parse(bytes);
  checkShape(value);
  return value;
}

async function readParts(request: Request): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of chunksOf(request, limits.jsonBytes, limits.jsonMs)) parts.push(part);
  return Buffer.concat(parts);
}

/** Returns the `content-length`, empty where there is none. Fails with `payload_too_large`. */
export async function checkLength(request: Request, most: number): Promise<string> {
  const length = request.headers.get("content-length") ?? "";
  if (Number(length) <= most || length === "") return length;
  // With `expect: 100-continue` the client waits for the answer.
  const reader = request.headers.has("expect") ? undefined : bodyOf(request)?.getReader();
  if (reader) await discard(reader).finally(() => reader.cancel().catch(() => {}));
  throw tooLarge(most);
}

function bodyOf(request: Request): ReadableStream<Uint8Array> | null {
  return request.body;
}

/**
 * How much of the rest of a body that is too large is read (SECURITY.md T20), how long, and for how many pauses in a row: a
 * busy process reads nothing for a while. What came meanwhile is one part then, and with it at most 64 MiB are read.
 */
const rest = { mostBytes: 48 * 1024 * 1024, mostMs: 5_000, pauseMs: 50, pauses: 5 } as const;

/**
 * Reads the rest of a body that is too large. Most clients send the whole body before they read the answer, and Bun, which
 * closes the connection after it, resets what has not been read: they would fail without the answer. A server that reads on by
 * itself would be in the way of the answer: it is given at once.
 */
async function discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  if (currentRuntime().readsRest) return;
  const until = performance.now() + rest.mostMs;
  // The client may disconnect meanwhile.
  const read = () => reader.read().catch(() => ({ done: true, value: undefined }));
  let reading = read();
  let bytes = 0;
  for (let pauses = 0; pauses < rest.pauses && bytes < rest.mostBytes && performance.now() < until; ) {
    const part = await Promise.race([reading, sleep(rest.pauseMs)]);
    if (part?.done) return;
    if (part) reading = read();
    bytes += part?.value?.length ?? 0;
    pauses = part ? 0 : pauses + 1;
  }
}

/** Each part takes time from other requests: a body in more parts than `most` must have `leastBytes` in each on average. */
const parts = { most: 16 * 1024, leastBytes: 64 } as const;

/** The slowest allowed transfer, `bytes` within any `everyMs`, so that a caller cannot keep an upload open with almost no data. */
export interface Pace {
  readonly bytes: number;
  readonly everyMs: number;
}

/**
 * The chunks of a body. Fails with `payload_too_large` beyond `most` bytes, and with `invalid_payload` where the body stalls,
 * falls behind its `pace`, or takes longer than `timeoutMs`.
 */
export async function* chunksOf(
  request: Request,
  most: number,
  timeoutMs: number,
  pace: Pace = { bytes: 0, everyMs: timeoutMs },
): AsyncGenerator<Uint8Array> {
  const reader = bodyOf(request)?.getReader();
  if (!reader) return;
  const until = performance.now() + timeoutMs;
  let size = 0;
  let count = 0;
  let interval = { from: performance.now(), bytes: 0 };
  try {
    for (;;) {
      const { done, value } = await withTimeout(reader.read(), until - performance.now());
      if (done) return;
      size += value.length;
      if (size > most) {
        await discard(reader);
        throw tooLarge(most);
      }
      if (++count > parts.most && size < count * parts.leastBytes)
        throw new ZapdError("invalid_payload", `The body arrived in more than ${parts.most} small parts`, {
          hint: `Send chunks of at least ${parts.leastBytes} bytes, or the body as a whole`,
        });
      interval.bytes += value.length;
      if (performance.now() - interval.from >= pace.everyMs) {
        if (interval.bytes < pace.bytes) throw tooSlow(interval.bytes, pace);
        interval = { from: performance.now(), bytes: 0 };
      }
      const yieldedAt = performance.now();
      // Under Deno each part is a view of a buffer of 64 KiB, which would stay in memory as long as the part.
      yield value.length < value.buffer.byteLength / 2 ? value.slice() : value;
      // The time in which the consumer wrote the chunk does not count against the sender.
      interval.from += performance.now() - yieldedAt;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function tooSlow(bytes: number, { bytes: least, everyMs }: Pace): ZapdError {
  const seconds = everyMs / 1_000;
  const came = `${Math.floor(bytes / 1_024)} KiB in ${seconds} s`;
  return new ZapdError("invalid_payload", `The body arrived too slowly: ${came}`, {
    hint: `Send at least ${least / 1_024 / seconds} KiB a second, on average over ${seconds} s`,
  });
}

/** Neither runtime ends a body that stalls (SECURITY.md 0.5, 0.6). */
function withTimeout<T>(read: Promise<T>, timeoutMs: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = timeoutMs < limits.idleMs ? "The body took too long" : "No more of the body arrived for 10 s";
  const timer = setTimeout(() => reject(new ZapdError("invalid_payload", late)), Math.min(timeoutMs, limits.idleMs));
  const whole = read.catch((cause: unknown) => {
    throw new ZapdError("invalid_payload", "The body ended too early", { cause });
  });
  return Promise.race([whole, promise]).finally(() => clearTimeout(timer));
}

/** A browser must declare JSON, which forces a preflight. Scripts need no content type (`curl -d`). */
function checkType(request: Request): void {
  const fromBrowser = request.headers.has("origin") || request.headers.has("sec-fetch-site");
  if (!fromBrowser || /^application\/json\s*(;|$)/i.test(request.headers.get("content-type") ?? "")) return;
  throw new ZapdError("invalid_payload", "A page must send its body as application/json", {
    hint: "Set the header content-type: application/json",
  });
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    throw new ZapdError("invalid_payload", "The body is not JSON", {
      hint: "Send a JSON object; on a command line, in single quotes",
      cause,
    });
  }
}

/** Limits depth and number of values. Without recursion: both runtimes parse nesting that would overflow the stack. */
function checkShape(value: unknown): void {
  let keys = 0;
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limits.depth)
      throw new ZapdError("invalid_payload", `The body is nested deeper than ${limits.depth} levels`);
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one !== "object" || one === null) continue;
      const inside = Object.values(one);
      // Schemas drop it silently; at the top level the schema of the route reports it.
      if (depth > 0 && Object.hasOwn(one, "__proto__"))
        throw new ZapdError("invalid_payload", 'The body has a key "__proto__", which is not allowed');
      keys += inside.length;
      if (keys > limits.keys) throw new ZapdError("invalid_payload", `The body has more than ${limits.keys} values`);
      for (const item of inside) next.push(item);
    }
    level = next;
  }
}

function tooLarge(most: number): ZapdError {
  return new ZapdError("payload_too_large", `The body is larger than ${Math.floor(most / (1024 * 1024))} MiB`);
}
