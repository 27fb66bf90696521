/** Reading request bodies, bounded in size, depth and time. */
import { ZapdError } from "../api/errors.ts";

const limits = { jsonBytes: 1024 * 1024, jsonMs: 30_000, depth: 32, keys: 1_000, idleMs: 10_000 } as const;
/** A body that says it is no longer than this is read in one piece, for the runtime holds it to that: a stream takes a quarter of the time of a key press. */
const shortBytes = 16 * 1024;

/** The JSON of a body; `undefined` for an empty one. Fails with `invalid_payload` or `payload_too_large`. */
export async function readJson(request: Request): Promise<unknown> {
  const length = checkLength(request, limits.jsonBytes);
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

/** Refuses a body that says it is too long, before it is read; gives the length that it says, empty where it says none. */
export function checkLength(request: Request, most: number): string {
  const length = request.headers.get("content-length") ?? "";
  if (Number(length) > most) throw tooLarge(most);
  return length;
}

/** Each part of a body takes time in which nobody else is answered: beyond so many, they must have so many bytes on average. */
const parts = { most: 16 * 1024, leastBytes: 64 } as const;

/** The least that must come, lest a caller hold a place with next to nothing: so many bytes in each so many milliseconds. */
export interface Pace {
  readonly bytes: number;
  readonly everyMs: number;
}

/**
 * The body's bytes as they come; a body that grows past `most`, goes silent, falls behind its `pace` or takes longer than
 * `timeoutMs` ends it.
 */
export async function* chunksOf(
  request: Request,
  most: number,
  timeoutMs: number,
  pace: Pace = { bytes: 0, everyMs: timeoutMs },
): AsyncGenerator<Uint8Array> {
  const reader = (request.body as ReadableStream<Uint8Array> | null)?.getReader();
  if (!reader) return;
  const until = performance.now() + timeoutMs;
  let size = 0;
  let count = 0;
  let stretch = { from: performance.now(), bytes: 0 };
  try {
    for (;;) {
      const { done, value } = await withTimeout(reader.read(), until - performance.now());
      if (done) return;
      size += value.length;
      if (size > most) throw tooLarge(most);
      if (++count > parts.most && size < count * parts.leastBytes) throw tooManyParts();
      stretch.bytes += value.length;
      if (performance.now() - stretch.from >= pace.everyMs) {
        if (stretch.bytes < pace.bytes) throw tooSlow(stretch.bytes, pace);
        stretch = { from: performance.now(), bytes: 0 };
      }
      const given = performance.now();
      // Under Deno each part lies in 64 KiB of its own, which last as long as it does.
      yield value.length < value.buffer.byteLength / 2 ? value.slice() : value;
      // While the disk or the form was waited for, nothing could come.
      stretch.from += performance.now() - given;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function tooSlow(bytes: number, { bytes: least, everyMs }: Pace): ZapdError {
  const seconds = everyMs / 1_000;
  const came = `${Math.floor(bytes / 1_024)} KiB of it came in ${seconds} s`;
  return new ZapdError("invalid_payload", `The body came too slowly: ${came}`, {
    hint: `Send at least ${least / 1_024 / seconds} KiB a second, on average over ${seconds} s`,
  });
}

function tooManyParts(): ZapdError {
  return new ZapdError("invalid_payload", `The body came in more than ${parts.most} small parts`, {
    hint: `Send chunks of at least ${parts.leastBytes} bytes, or the body as a whole`,
  });
}

/** Neither runtime ends a body that stalls (SECURITY.md 0.5, 0.6), so we do. */
function withTimeout<T>(read: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = timeoutMs < limits.idleMs ? "The body took too long" : "The body stopped coming for 10 s";
    const stalled = () => reject(new ZapdError("invalid_payload", late));
    const timer = setTimeout(stalled, Math.min(timeoutMs, limits.idleMs));
    read.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (cause: unknown) => {
        clearTimeout(timer);
        reject(new ZapdError("invalid_payload", "The body broke off", { cause }));
      },
    );
  });
}

/** Anything sent by a browser must say that it is JSON: that forces a preflight. Scripts need not (`curl -d`). */
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
      hint: `Send an object, such as: curl -d '{"key":"home"}'`,
      cause,
    });
  }
}

/** Bounds depth and keys without recursion: both runtimes parse nesting that would overflow a stack. */
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
      // Schemas would drop it in silence. At the top each route names what it does not know.
      if (depth > 0 && Object.hasOwn(one, "__proto__"))
        throw new ZapdError("invalid_payload", 'The body holds a key "__proto__", which means nothing');
      keys += inside.length;
      if (keys > limits.keys) throw new ZapdError("invalid_payload", `The body holds more than ${limits.keys} values`);
      for (const item of inside) next.push(item);
    }
    level = next;
  }
}

function tooLarge(most: number): ZapdError {
  return new ZapdError("payload_too_large", `The body is larger than ${Math.floor(most / (1024 * 1024))} MiB`);
}
