import { createHash, randomInt } from "node:crypto";
import type { Answer, HttpOptions, Plan, RecordedRequest, Request } from "../http.ts";
import { picture } from "../images.ts";
import { convertPackage, deletePackage, installPackage } from "./install.ts";
import { installerPage, type Message } from "./installer-page.ts";
import type { Model } from "./model.ts";
import { createPackageReader, type Package } from "./package-reader.ts";

const USER = "rokudev";
const USUAL_REALM = "rokudev";
const KEPT_NONCES = 256;

export interface Gate {
  /** The header of a 401: no algorithm, no opaque, no stale, a decimal nonce (2.1). */
  challenge(): readonly [string, string];
  admits(request: Request): boolean;
}

export function createGate(password: string, realm = USUAL_REALM): Gate {
  const nonces = new Set<string>();
  return {
    challenge() {
      const nonce = String(randomInt(1_000_000_000, 2 ** 32));
      nonces.add(nonce);
      for (const oldest of nonces) {
        if (nonces.size > KEPT_NONCES) nonces.delete(oldest);
      }
      return ["WWW-Authenticate", `Digest qop="auth", realm="${realm}", nonce="${nonce}"`];
    },
    admits(request) {
      const words = parse(request.headers.authorization ?? "");
      if (words === null || words.username !== USER || words.realm !== realm) return false;
      if (words.nonce === undefined || !nonces.has(words.nonce)) return false;
      // The uri must be the request line's, query and all (2.1).
      if (words.uri !== request.target) return false;
      const expected = expectedResponse(words, { method: request.method, realm, password });
      return expected !== null && words.response?.toLowerCase() === expected;
    },
  };
}

type Words = Readonly<Record<string, string | undefined>>;

function expectedResponse(
  words: Words,
  { method, realm, password }: { method: string; realm: string; password: string },
): string | null {
  const { nonce, uri, qop, nc, cnonce } = words;
  const secret = md5(`${USER}:${realm}:${password}`);
  const subject = md5(`${method}:${uri}`);
  if (qop === undefined) return md5(`${secret}:${nonce}:${subject}`);
  if (qop !== "auth" || cnonce === undefined || !/^[0-9a-f]{8}$/i.test(nc ?? "")) return null;
  return md5(`${secret}:${nonce}:${nc}:${cnonce}:${qop}:${subject}`);
}

function parse(header: string): Words | null {
  const [, body] = /^Digest\s+(.*)$/is.exec(header) ?? [];
  if (body === undefined) return null;
  const words: Record<string, string> = Object.create(null);
  for (const [, name = "", quoted, bare] of body.matchAll(/([a-z]+)\s*=\s*(?:"([^"]*)"|([^\s,]+))/gi)) {
    words[name.toLowerCase()] = quoted ?? bare ?? "";
  }
  return words;
}

function md5(text: string): string {
  return createHash("md5").update(text).digest("hex");
}

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

const UPLOAD_LIMIT = 512 * 1024 * 1024;
const FAILED_CHECK = "Failed to check for software update";

/** What a form said, once it was read to its end. */
export interface Form {
  readonly fields: Readonly<Record<string, string>>;
  readonly archive: { readonly fileName: string; readonly content: Package } | null;
  readonly hasArchiveField: boolean;
}

/** The development application installer (2.1). */
export function installer(model: Model, password: string, record: (request: RecordedRequest) => void): HttpOptions {
  const gate = createGate(password, model.identity.developer?.realm);
  return {
    headers: [],
    record,
    plan(request): Plan {
      // Answered without reading the body, and the socket is closed under whoever is still sending it.
      if (!gate.admits(request)) return { refuse: challenge(model, gate, request) };
      return request.method === "POST" ? post(model, request) : get(model, request);
    },
  };
}

function challenge(model: Model, gate: Gate, request: Request): Answer {
  if (request.headers.authorization !== undefined) {
    model.emit({ type: "refused", path: request.target, status: 401, text: "refused the developer password" });
  }
  return { status: 401, headers: [gate.challenge()] };
}

function get(model: Model, request: Request): Plan {
  const [path] = request.target.split("?");
  const answer = (): Answer => {
    if (path === "/" || path === "/plugin_install" || path === "/plugin_inspect") return page(model, []);
    if (path !== "/pkgs/dev.png" || model.active !== "dev") return { status: 404 };
    return { status: 200, headers: [["Content-Type", "image/png"]], body: picture("screenshot", 1280, 720) };
  };
  return { limit: 64 * 1024, receive: () => {}, answer };
}

function post(model: Model, request: Request): Plan {
  const [path = ""] = request.target.split("?");
  const form = readForm(request.headers["content-type"] ?? "");
  const answer = () => FORMS[path]?.(model, form.end()) ?? { status: 404 };
  // The socket is closed after every form, unannounced: a pooled one is dead when it is used again (2.1).
  return { limit: UPLOAD_LIMIT, receive: form.push, answer, hangUp: true };
}

const FORMS: Readonly<Record<string, (model: Model, form: Form) => Answer | "reset">> = {
  "/plugin_install": (model, form) => {
    const { mysubmit = "" } = form.fields;
    if (model.installFault !== null && /^(install|replace)$/i.test(mysubmit)) return faulty(model, form);
    return page(model, submit(model, mysubmit, form));
  },
  "/plugin_inspect": (model, form) => {
    if (form.fields.mysubmit !== "Screenshot" || model.active !== "dev")
      return page(model, [failed("Screenshot failed")]);
    return page(model, [{ type: "success", text: "Screenshot ok" }], `pkgs/dev.png?time=${Date.now()}`);
  },
};

function submit(model: Model, mysubmit: string, form: Form): Message[] {
  if (/^(install|replace)$/i.test(mysubmit)) {
    return form.archive === null ? [missingArchive()] : installPackage(model, form.archive, form.fields);
  }
  if (/^convert to (squashfs|cramfs)$/i.test(mysubmit)) return convertPackage(model);
  if (!/^delete(all)?$/i.test(mysubmit)) return [];
  const mayLack = model.identity.developer?.archiveOptional ?? true;
  return form.hasArchiveField || mayLack ? deletePackage(model) : [missingArchive()];
}

/** The set wants to phone home, or the connection drops in the middle (2.1). */
function faulty(model: Model, form: Form): Answer | "reset" {
  switch (model.installFault) {
    case "reset":
      return "reset";
    case "update-required":
      return { status: 577 };
    case "update-page":
      return { ...page(model, []), body: `<html><body><h1>${FAILED_CHECK}</h1><p>"${FAILED_CHECK}"</p></body></html>` };
    default:
      return page(model, submit(model, "Install", form));
  }
}

function missingArchive(): Message {
  return failed('Failure: Form Error: "archive" Field Not Found');
}

function failed(text: string): Message {
  return { type: "error", text };
}

function page(model: Model, messages: readonly Message[], image?: string): Answer {
  const headers = [["Content-Type", 'text/html; charset="utf-8"']] as const;
  return { status: 200, headers, body: installerPage(model, messages, image) };
}

function readForm(contentType: string): { push: (chunk: Uint8Array) => void; end: () => Form } {
  const fields: Record<string, string> = Object.create(null);
  const archive = createPackageReader();
  let fileName: string | null = null;
  let inArchive = false;
  const push = createFormReader(contentType, {
    field: (name, value) => {
      fields[name] = value;
    },
    file(name, given) {
      inArchive = name === "archive";
      if (inArchive) fileName = given;
    },
    content: (chunk) => inArchive && archive.push(chunk),
  });
  const end = (): Form => {
    const content = archive.end();
    const sent = fileName !== null && content.bytes > 0;
    const hasArchiveField = fileName !== null || fields.archive !== undefined;
    return { fields, hasArchiveField, archive: sent ? { fileName: fileName ?? "", content } : null };
  };
  return { push, end };
}
