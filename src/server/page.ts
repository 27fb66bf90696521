/**
 * The web page: `/` and its few files, served from memory and loaded at their first request. Their addresses are relative, so
 * that the page also works below a path.
 */
import { gunzipSync } from "node:zlib";
import type { Context, Hono } from "hono";
import { ZapdError } from "../api/errors.ts";
import type { AppDependencies } from "./app.ts";
import { answerMethod, answerUnknown, type Env, isCached } from "./route.ts";

/** A built file: gzip in base64, and the tag of its content. */
interface BuiltFile {
  readonly type: string;
  readonly etag: string;
  readonly gzip: string;
}

interface Asset extends Omit<BuiltFile, "gzip"> {
  readonly gzip: Uint8Array<ArrayBuffer>;
}

/** Own files and the own daemon only; no text may become code or markup, but by the `trusted` policies. */
const policyWith = (pictures: string, trusted: string, ...more: readonly string[]) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' ${pictures}`,
    "connect-src 'self'",
    ...more,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types ${trusted}`,
  ].join("; ");

/** `blob:`: pictures from the daemon, and those that a person drops or saves. */
const pagePolicy = policyWith("blob:", "'none'", "manifest-src 'self'");

/**
 * The viewer of the API documentation needs more: Swagger UI has arrows as `data:` pictures, and renders the document's texts
 * as markup, which DOMPurify cleans (`trusted-types`: its policy, and ours, which lets that markup through, src/web/docs.ts).
 * No text becomes a script there either.
 */
const docsPolicy = policyWith("data:", "dompurify default");

const files = ["app.js", "app.css", "favicon.svg", "manifest.webmanifest"];

const docsFiles = ["docs.js", "docs.css", "swagger-ui.css", "swagger-ui-bundle.js"];

type Served = Pick<AppDependencies, "prefix" | "page">;

export function pageRoutes(app: Hono<Env>, deps: Served): void {
  const page = { policy: pagePolicy, load: async () => (await import("../web/assets.ts")).assets };
  const docs = { policy: docsPolicy, load: async () => (await import("../web/docs-assets.ts")).assets };
  serve(app, deps, ["/", ...files.map((file) => `/${file}`)], page);
  serve(app, deps, ["/docs", ...docsFiles.map((file) => `/docs/${file}`)], docs);
}

function serve(
  app: Hono<Env>,
  { prefix, page: isOn }: Served,
  paths: readonly string[],
  { policy, load }: { readonly policy: string; load(): Promise<Readonly<Record<string, BuiltFile>>> },
): void {
  let loading: Promise<ReadonlyMap<string, Asset>> | undefined;
  for (const path of paths) {
    app.get(path, async (c) => {
      const { callerPath = prefix + path } = c.env;
      if (!isOn())
        throw new ZapdError("not_found", "The page is off", {
          hint: "Turn it on with: zapd config set daemon.page true; if zapd was started with --no-page, start it without",
        });
      // The relative addresses of the page need the final slash.
      if (callerPath === prefix) return c.redirect(`${prefix.slice(prefix.lastIndexOf("/") + 1)}/`, 308);
      if (callerPath !== prefix + path) return answerUnknown(c, prefix);
      loading ??= load().then(unpack);
      const assets = await loading.catch(() => null);
      const asset = assets?.get(path === "/" ? "index.html" : path.slice(path.lastIndexOf("/") + 1));
      if (asset) return answer(c, asset, policy);
      loading = undefined;
      return c.text("The page is not built yet. In the folder of zapd, run: npm install\n", 503);
    });
    app.all(path, (c) => answerMethod(c, path, ["GET", "HEAD"]));
  }
}

function unpack(built: Readonly<Record<string, BuiltFile>>): ReadonlyMap<string, Asset> {
  return new Map(
    Object.entries(built).map(([name, file]) => [
      name,
      { ...file, gzip: new Uint8Array(Buffer.from(file.gzip, "base64")) },
    ]),
  );
}

function answer(c: Context<Env>, { type, etag, gzip }: Asset, policy: string): Response {
  const isZipped = /(?:^|,)\s*gzip\s*(?:;\s*q=(?:1|0?\.\d*[1-9])[.\d]*\s*)?(?:,|$)/i.test(
    c.req.header("accept-encoding") ?? "",
  );
  // Each encoding is a representation with its own tag (RFC 9110, 8.8.3.3).
  const tag = isZipped ? `"${etag}-gzip"` : `"${etag}"`;
  const headers = {
    etag: tag,
    "cache-control": "private, no-cache",
    "content-security-policy": policy,
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
  };
  c.header("vary", "Accept-Encoding", { append: true });
  if (isCached(c.req.raw, tag)) return c.body(null, 304, headers);
  const body = isZipped ? gzip : new Uint8Array(gunzipSync(gzip));
  return c.body(body, 200, { ...headers, "content-type": type, ...(isZipped && { "content-encoding": "gzip" }) });
}
