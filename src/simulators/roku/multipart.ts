export interface FormListener {
  field(name: string, value: string): void;
  /** The content of a field that carries a file name comes in pieces; `file` comes first. */
  file(name: string, fileName: string): void;
  content(chunk: Uint8Array): void;
}

const HEAD_LIMIT = 8 * 1024;
const FIELD_LIMIT = 64 * 1024;

/** Reads a form as it arrives, so that an archive never has to be in memory. */
export function createFormReader(contentType: string, listener: FormListener): (chunk: Uint8Array) => void {
  const [, quoted, bare] = /^multipart\/form-data;.*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) return () => {};
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  // The first delimiter has no line end before it; with one put there all are alike.
  let rest = Buffer.from("\r\n");
  let state: "content" | "head" | "ignored" = "content";
  let part: Part | null = null;

  const step = (): boolean => {
    if (state === "ignored") return false;
    if (state === "head") {
      const end = rest.indexOf("\r\n\r\n");
      // `--` after a boundary closes the form.
      if (rest.subarray(0, 2).toString("latin1") === "--" || (end < 0 && rest.length > HEAD_LIMIT)) state = "ignored";
      if (state === "ignored" || end < 0) return false;
      part = openPart(rest.subarray(0, end).toString("utf8"), listener);
      rest = rest.subarray(end + 4);
      state = "content";
      return true;
    }
    const at = rest.indexOf(delimiter);
    const safe = at < 0 ? Math.max(0, rest.length - delimiter.length) : at;
    if (safe > 0) part?.take(rest.subarray(0, safe));
    rest = rest.subarray(at < 0 ? safe : at + delimiter.length);
    if (at < 0) return false;
    part?.close();
    part = null;
    state = "head";
    return true;
  };

  return (chunk) => {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    while (step());
  };
}

interface Part {
  take(chunk: Buffer): void;
  close(): void;
}

function openPart(head: string, listener: FormListener): Part {
  const [, name = ""] = /[;\s]name="([^"]*)"/i.exec(head) ?? [];
  const [, fileName] = /filename="([^"]*)"/i.exec(head) ?? [];
  if (fileName !== undefined) {
    listener.file(name, fileName);
    return { take: (chunk) => listener.content(chunk), close: () => {} };
  }
  const pieces: Buffer[] = [];
  let length = 0;
  return {
    take(chunk) {
      if (length < FIELD_LIMIT) pieces.push(Buffer.from(chunk));
      length += chunk.length;
    },
    close: () => listener.field(name, Buffer.concat(pieces).toString("utf8")),
  };
}
