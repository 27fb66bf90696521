/**
 * Makes what the daemon serves to browsers: `src/web/assets.ts`, the page, and `src/web/docs-assets.ts`, the viewer of the
 * OpenAPI document. Both hold each file as gzip in base64 with its tag, are ignored by git, and are made by `npm install`.
 * The same source makes the same bytes: `bun .ci/web.ts`, and with `--check` it only says whether they are fresh.
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const root = join(import.meta.dir, "..");
const web = join(root, "src/web");

interface Asset {
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

const text = (name: string, type: string, content: string): Asset => ({ name, type, bytes: new TextEncoder().encode(content) });
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** A script with all that it imports, and the style sheet that comes of that; what ends with `end`. */
async function bundle(entry: string): Promise<(end: string) => string> {
  const built = await Bun.build({
    entrypoints: [join(web, entry)],
    target: "browser",
    minify: true,
    define: { "process.env.NODE_ENV": '"production"' },
    throw: true,
  });
  const outputs = await Promise.all(built.outputs.map(async (one) => ({ path: one.path, content: await one.text() })));
  return (end) => outputs.find(({ path }) => path.endsWith(end))?.content ?? "";
}

/** The page's own files. */
async function page(): Promise<Asset[]> {
  const of = await bundle("main.tsx");
  return [
    text("index.html", "text/html; charset=utf-8", read("src/web/index.html")),
    text("app.js", "text/javascript; charset=utf-8", of(".js")),
    text("app.css", "text/css; charset=utf-8", of(".css")),
    text("favicon.svg", "image/svg+xml", read("src/web/favicon.svg")),
    text("manifest.webmanifest", "application/manifest+json", read("src/web/manifest.webmanifest")),
  ];
}

/** Swagger UI, and the little that starts it. */
async function docs(): Promise<Asset[]> {
  const of = await bundle("docs.ts");
  const kept = "node_modules/swagger-ui-dist";
  return [
    text("docs", "text/html; charset=utf-8", read("src/web/docs.html")),
    text("docs.js", "text/javascript; charset=utf-8", of(".js")),
    text("docs.css", "text/css; charset=utf-8", read("src/web/docs.css")),
    text("swagger-ui.css", "text/css; charset=utf-8", read(`${kept}/swagger-ui.css`).replace(/\/\*# sourceMappingURL.*/, "")),
    text("swagger-ui-bundle.js", "text/javascript; charset=utf-8", read(`${kept}/swagger-ui-bundle.js`).replace(/\/\/# sourceMappingURL.*/, "")),
  ];
}

function moduleOf(about: string, assets: readonly Asset[]): string {
  const rows = assets.map(({ name, type, bytes }) => {
    const etag = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
    const gzip = Buffer.from(gzipSync(bytes, { level: 9 })).toString("base64");
    return `  ${JSON.stringify(name)}: { type: ${JSON.stringify(type)}, etag: ${JSON.stringify(etag)}, gzip: ${JSON.stringify(gzip)} },\n`;
  });
  return `/** Made by .ci/web.ts: ${about}. */\nexport const assets = {\n${rows.join("")}};\n`;
}

const made = [
  { file: "assets.ts", content: moduleOf("the page", await page()) },
  { file: "docs-assets.ts", content: moduleOf("the viewer of the OpenAPI document, Swagger UI (Apache-2.0)", await docs()) },
];
const stale = made.filter(({ file, content }) => {
  try {
    return readFileSync(join(web, file), "utf8") !== content;
  } catch {
    return true;
  }
});
if (process.argv.includes("--check")) {
  if (stale.length > 0) process.stderr.write(`stale: ${stale.map(({ file }) => file).join(", ")}\n`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else for (const { file, content } of stale) writeFileSync(join(web, file), content);
