/** Follows one request body through the chunks of a connection, by length or by transfer coding. */
export interface Body {
  readonly received: number;
  readonly done: boolean;
  /** Takes what belongs to the body and gives back what follows it. */
  push(chunk: Buffer): Buffer | "too-large" | "malformed";
}

const LONGEST_SIZE_LINE = 256;

/** Null when the head states no length that can be followed. */
export function createBody(
  headers: Readonly<Record<string, string>>,
  limit: number,
  receive: (chunk: Uint8Array) => void,
): Body | null {
  if (headers["transfer-encoding"]?.toLowerCase() === "chunked") return chunkedBody(limit, receive);
  const length = headers["content-length"] ?? "0";
  return /^\d{1,15}$/.test(length) ? lengthBody(Number(length), limit, receive) : null;
}

function lengthBody(length: number, limit: number, receive: (chunk: Uint8Array) => void): Body {
  let received = 0;
  return {
    get received() {
      return received;
    },
    get done() {
      return received === length;
    },
    push(chunk) {
      if (length > limit) return "too-large";
      const mine = chunk.subarray(0, length - received);
      received += mine.length;
      if (mine.length > 0) receive(mine);
      return chunk.subarray(mine.length);
    },
  };
}

function chunkedBody(limit: number, receive: (chunk: Uint8Array) => void): Body {
  let received = 0;
  let left = 0;
  let state: "size" | "content" | "break" | "trailer" | "done" = "size";
  const take = (chunk: Buffer): Buffer | "too-large" | "malformed" | null => {
    if (state === "content") {
      const mine = chunk.subarray(0, left);
      left -= mine.length;
      received += mine.length;
      if (received > limit) return "too-large";
      if (mine.length > 0) receive(mine);
      if (left === 0) state = "break";
      return chunk.subarray(mine.length);
    }
    const end = chunk.indexOf("\r\n");
    if (end < 0) return chunk.length > LONGEST_SIZE_LINE ? "malformed" : null;
    const line = chunk.subarray(0, end).toString("latin1");
    if (state === "break") state = line === "" ? "size" : "done";
    else if (state === "trailer") state = line === "" ? "done" : "trailer";
    else {
      if (!/^[0-9a-f]{1,8}\s*(;.*)?$/i.test(line)) return "malformed";
      left = Number.parseInt(line, 16);
      state = left === 0 ? "trailer" : "content";
    }
    return chunk.subarray(end + 2);
  };
  return {
    get received() {
      return received;
    },
    get done() {
      return state === "done";
    },
    push(chunk) {
      let rest = chunk;
      while (state !== "done" && rest.length > 0) {
        const next = take(rest);
        if (next === null) return rest;
        if (typeof next === "string") return next;
        rest = next;
      }
      return rest;
    },
  };
}
