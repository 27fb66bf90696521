/** The development application installer: who may use it, its forms and its page. */
import { createHash, randomInt } from "node:crypto";
import { picture } from "../bench/documents.ts";
import type { Answer, HttpOptions, Request } from "../bench/http.ts";
import { convertPackage, deletePackage, installPackage, type Package, readPackage } from "./install.ts";
import type { Model } from "./model.ts";
import type { DeveloperOptions } from "./options.ts";

export interface Message {
  readonly type: "success" | "error" | "info";
  readonly text: string;
}

const UPLOAD_LIMIT = 512 * 1024 * 1024;
const FAILED_CHECK = "Failed to check for software update";

/** The development application installer (2.1). */
export function installer(model: Model, { password, realm }: DeveloperOptions): HttpOptions {
  const gate = createGate(password, realm);
  return {
    record: model.requests,
    limit: UPLOAD_LIMIT,
    // Answered without reading the body, and the socket is closed under whoever is still sending it.
    refuse: (request) => (gate.admits(request) ? null : challenge(model, gate, request)),
    async answer(request, body) {
      const [path = ""] = request.target.split("?");
      if (request.method !== "POST") return get(model, path);
      const reply = FORMS[path]?.(model, await readForm(request, body)) ?? { status: 404 };
      // The socket is closed after every form, unannounced: a pooled one is dead when it is used again (2.1).
      return typeof reply === "string" ? reply : { ...reply, hangUp: true };
    },
  };
}

function challenge(model: Model, gate: Gate, request: Request): Answer {
  if (request.headers["authorization"] !== undefined) model.emit("refused", "refused the developer password");
  return { status: 401, headers: [gate.challenge()] };
}

function get(model: Model, path: string): Answer {
  if (path === "/" || path === "/plugin_install" || path === "/plugin_inspect") return page(model, []);
  if (path !== "/pkgs/dev.png" || model.active !== "dev") return { status: 404 };
  return { status: 200, headers: [["Content-Type", "image/png"]], body: picture("screenshot", 1280, 720) };
}

/** What a form said, once it was read to its end. */
interface Form {
  readonly fields: Readonly<Record<string, string>>;
  readonly archive: { readonly fileName: string; readonly content: Package } | null;
  readonly hasArchiveField: boolean;
}

async function readForm({ headers }: Request, body: Buffer): Promise<Form> {
  const response = new Response(new Uint8Array(body), { headers: { "Content-Type": headers["content-type"] ?? "" } });
  const form = await response.formData().catch(() => new FormData());
  const fields: Record<string, string> = Object.create(null);
  for (const [name, value] of form) if (typeof value === "string") fields[name] = value;
  const sent = form.get("archive");
  const file = sent === null || typeof sent === "string" || sent.size === 0 ? null : sent;
  const content = file && readPackage(new Uint8Array(await file.arrayBuffer()));
  return { fields, hasArchiveField: sent !== null, archive: content && { fileName: file?.name ?? "", content } };
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

/** The page every form of the installer answers with, whether or not it worked (2.1). */
function installerPage(model: Model, messages: readonly Message[], image?: string): string {
  const { identity, sideloaded } = model;
  const params = {
    messages: messages.length === 0 ? null : messages.map(({ text, type }) => ({ text, text_type: "text", type })),
    metadata: { dev_id: identity.seed.slice(0, 40), dev_key: true, voice_sdk: false },
    packages: sideloaded === null ? [] : [packageEntry(sideloaded)],
  };
  const shell = messages.map(
    ({ type, text }) =>
      `  Shell.create('Roku.Message').trigger('Set message type', '${type}')` +
      `.trigger('Set message content', '${scriptText(text)}').trigger('Render', node);`,
  );
  const fonts = messages.map(({ text }) => `<font color="red">${markup(text)}</font>`);
  return `<!DOCTYPE html>
<html>
<head><title>Development Application Installer</title></head>
<body>
<div id="root"></div>
<div style="display:none">${fonts.join("")}</div>
${image === undefined ? "" : `<img src="${image}" />\n`}<script type="text/javascript">
  var node = document.getElementById('root');
  var sizes = JSON.parse('[1,2]');
  var params = JSON.parse('${scriptText(JSON.stringify(params))}');
${shell.join("\n")}
</script>
</body>
</html>
`;
}

function packageEntry(sideloaded: NonNullable<Model["sideloaded"]>): Record<string, string> {
  const { fileName, fileType, md5, bytes } = sideloaded;
  return {
    appType: "channel",
    archiveFileName: fileName,
    fileType,
    id: "0",
    location: "nvram",
    md5,
    pkgPath: "",
    size: String(bytes),
  };
}

/** For inside single quotes in a script. */
function scriptText(text: string): string {
  return text
    .replace(/[\\']/g, (character) => `\\${character}`)
    .replaceAll("</", "<\\/")
    .replaceAll("\n", "\\n");
}

function markup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

const USER = "rokudev";
const USUAL_REALM = "rokudev";
const KEPT_NONCES = 256;

interface Gate {
  /** The header of a 401: no algorithm, no opaque, no stale, a decimal nonce (2.1). */
  challenge(): readonly [string, string];
  admits(request: Request): boolean;
}

function createGate(password: string, realm = USUAL_REALM): Gate {
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
