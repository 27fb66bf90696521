import type { Answer, HttpOptions, Plan, RecordedRequest, Request } from "../http.ts";
import { picture } from "../images.ts";
import { createGate, type Gate } from "./digest.ts";
import { convertPackage, deletePackage, installPackage } from "./install.ts";
import { installerPage, type Message } from "./installer-page.ts";
import type { Model } from "./model.ts";
import { createFormReader } from "./multipart.ts";
import { createPackageReader, type Package } from "./package-reader.ts";

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
