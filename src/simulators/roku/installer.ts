/** The development application installer: authentication, forms and page. */
import { createHash, randomInt } from "node:crypto";
import { element, picture } from "../bench/documents.ts";
import type { HttpOptions, HttpResponse, Reply, Request } from "../bench/http.ts";
import { pushCapped } from "../bench/set.ts";
import { deletePackage, installPackage, type Package, readPackage } from "./install.ts";
import type { Model, Sideloaded } from "./model.ts";
import type { DeveloperOptions } from "./options.ts";

export interface Message {
  readonly type: "success" | "error" | "info";
  readonly text: string;
}

const UPLOAD_LIMIT = 512 * 1024 * 1024;

/** The development application installer (2.1). */
export function installer(model: Model, developer: DeveloperOptions): HttpOptions {
  const auth = new DigestAuth(developer);
  return {
    record: model.requests,
    limit: UPLOAD_LIMIT,
    // Sent without reading the body; the socket is closed while the client may still be sending.
    refuse: (request) => (auth.isAuthorized(request) ? null : challenge(model, auth, request)),
    async answer(request, body) {
      const [path = ""] = request.target.split("?");
      if (request.method !== "POST") return get(model, path);
      const reply = FORMS[path]?.(model, await readForm(request, body)) ?? { status: 404 };
      // The set closes the socket after every form without announcing it, so a pooled connection is dead (2.1).
      return typeof reply === "string" ? reply : { ...reply, hangUp: true };
    },
  };
}

function challenge(model: Model, auth: DigestAuth, request: Request): HttpResponse {
  if (request.headers["authorization"] !== undefined) model.emit("refused", "refused the developer password");
  return { status: 401, headers: [auth.challenge()] };
}

function get(model: Model, path: string): HttpResponse {
  if (path === "/" || path === "/plugin_install" || path === "/plugin_inspect") return page(model, []);
  if (path !== "/pkgs/dev.png" || model.active !== "dev") return { status: 404 };
  return { status: 200, headers: [["Content-Type", "image/png"]], body: picture("screenshot", 1280, 720) };
}

/** A submitted form. */
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

type Submit = (model: Model, form: Form) => Reply;

const FORMS: Readonly<Record<string, Submit>> = {
  "/plugin_install": (model, form) => {
    const { mysubmit = "" } = form.fields;
    if (/^(install|replace)$/i.test(mysubmit)) return (FAULTS[model.installFault ?? ""] ?? install)(model, form);
    if (!/^delete(all)?$/i.test(mysubmit)) return page(model, []);
    const mayLack = model.options.developer?.archiveOptional ?? true;
    return page(model, form.hasArchiveField || mayLack ? deletePackage(model) : MISSING_ARCHIVE);
  },
  "/plugin_inspect": (model, form) => {
    const taken = form.fields["mysubmit"] === "Screenshot" && model.active === "dev";
    if (!taken) return page(model, [{ type: "error", text: "Screenshot failed" }]);
    return page(model, [{ type: "success", text: "Screenshot ok" }], `pkgs/dev.png?time=${Date.now()}`);
  },
};

const MISSING_ARCHIVE: readonly Message[] = [{ type: "error", text: 'Failure: Form Error: "archive" Field Not Found' }];

const install: Submit = (model, { archive, fields }) =>
  page(model, archive === null ? MISSING_ARCHIVE : installPackage(model, archive, fields));

/** Faults of the set: it wants a software update, or resets the connection (2.1). Other faults concern the package. */
const FAULTS: Readonly<Record<string, Submit>> = {
  reset: () => "reset",
  "update-required": () => ({ status: 577 }),
  "update-page": (model) => {
    const text = "Failed to check for software update";
    return { ...page(model, []), body: `<html><body><h1>${text}</h1><p>"${text}"</p></body></html>` };
  },
};

function page(model: Model, messages: readonly Message[], image?: string): HttpResponse {
  const headers = [["Content-Type", 'text/html; charset="utf-8"']] as const;
  return { status: 200, headers, body: installerPage(model, messages, image) };
}

/** The page that every form returns, after success and failure (2.1). */
function installerPage(model: Model, messages: readonly Message[], image?: string): string {
  const { options, sideloaded } = model;
  const params = {
    messages: messages.length === 0 ? null : messages.map(({ text, type }) => ({ text, text_type: "text", type })),
    metadata: { dev_id: options.seed.slice(0, 40), dev_key: true, voice_sdk: false },
    packages: sideloaded === null ? [] : [packageEntry(sideloaded)],
  };
  const shell = messages.map(
    ({ type, text }) =>
      `  Shell.create('Roku.Message').trigger('Set message type', '${type}')` +
      `.trigger('Set message content', '${scriptText(text)}').trigger('Render', node);`,
  );
  const fonts = messages.map(({ text }) => element("font", { color: "red" }, text));
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

function packageEntry({ fileName, md5, bytes }: Sideloaded): Record<string, string> {
  const where = { id: "0", location: "nvram", pkgPath: "" };
  return { appType: "channel", archiveFileName: fileName, fileType: "zip", md5, size: String(bytes), ...where };
}

/** Escapes a text for a single-quoted string in a script. */
function scriptText(text: string): string {
  return text
    .replace(/[\\']/g, (character) => `\\${character}`)
    .replaceAll("</", "<\\/")
    .replaceAll("\n", "\\n");
}

/** The user and the realm. */
const USER = "rokudev";
const KEPT_NONCES = 256;

/** The digest authentication of the installer: no algorithm, opaque or stale, and a decimal nonce (2.1). */
class DigestAuth {
  readonly #nonces: string[] = [];
  readonly #password: string;

  constructor({ password }: DeveloperOptions) {
    this.#password = password;
  }

  /** The header of a 401. */
  challenge(): readonly [string, string] {
    const nonce = pushCapped(this.#nonces, String(randomInt(1_000_000_000, 2 ** 32)), KEPT_NONCES);
    return ["WWW-Authenticate", `Digest qop="auth", realm="${USER}", nonce="${nonce}"`];
  }

  isAuthorized({ method, target, headers }: Request): boolean {
    const {
      username,
      realm,
      nonce = "",
      uri,
      qop,
      nc = "",
      cnonce,
      response,
    } = parseDigest(headers["authorization"] ?? "");
    // The uri must equal that of the request line, with the query (2.1).
    if (username !== USER || realm !== USER || !this.#nonces.includes(nonce) || uri !== target) return false;
    if (qop !== undefined && (qop !== "auth" || cnonce === undefined || !/^[0-9a-f]{8}$/i.test(nc))) return false;
    const secret = md5(`${USER}:${realm}:${this.#password}`);
    const count = qop === undefined ? [] : [nc, cnonce, qop];
    return response?.toLowerCase() === md5([secret, nonce, ...count, md5(`${method}:${uri}`)].join(":"));
  }
}

/** The parameters of a `Digest` header; none for another scheme. */
function parseDigest(header: string): Readonly<Record<string, string | undefined>> {
  const [, body = ""] = /^Digest\s+(.*)$/is.exec(header) ?? [];
  const words: Record<string, string> = Object.create(null);
  for (const [, name = "", quoted, bare] of body.matchAll(/([a-z]+)\s*=\s*(?:"([^"]*)"|([^\s,]+))/gi))
    words[name.toLowerCase()] = quoted ?? bare ?? "";
  return words;
}

function md5(text: string): string {
  return createHash("md5").update(text).digest("hex");
}
