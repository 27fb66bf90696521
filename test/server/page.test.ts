/** How the page is served: its policy and its tags, behind the guard, and below a path. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createZapd, type Zapd } from "../../src/zapd.ts";
import { root } from "../support/sources.ts";

const folder = mkdtempSync(join(tmpdir(), "zapd-page-"));
const isMade = existsSync(join(root, "src/web/assets.ts"));
const made = test.skipIf(!isMade);
const files = ["", "app.js", "app.css", "favicon.svg", "manifest.webmanifest"];
let own: Zapd;
let below: Zapd;

beforeAll(async () => {
  const config = join(folder, "config.toml");
  own = await createZapd({ config, state: join(folder, "own") });
  below = await createZapd({ config, state: join(folder, "below"), prefix: "/a/tv" });
});
afterAll(async () => {
  await Promise.all([own.stop(), below.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

async function ask(zapd: Zapd, path: string, headers: Record<string, string> = {}, method = "GET") {
  const request = new Request(`http://127.0.0.1:7272${path}`, {
    method,
    headers: { host: "127.0.0.1:7272", ...headers },
  });
  const answer = await zapd.fetch(request);
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

made("each file has its ETag and the page's policy, and is readable for no other origin", async () => {
  for (const file of files) {
    const { status, headers, text } = await ask(own, `/${file}`);
    expect([file, status, text.length > 0]).toEqual([file, 200, true]);
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
    expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    const etag = headers.get("etag") ?? "";
    expect((await ask(own, `/${file}`, { "if-none-match": `"x", ${etag}` })).status).toBe(304);
    for (const tag of [`W/${etag}`, "*"])
      expect((await ask(own, `/${file}`, { "if-none-match": tag })).status).toBe(304);
    expect((await ask(own, `/${file}`, { "if-none-match": '"x"' })).status).toBe(200);
  }
});

made("a file is compressed for clients that accept gzip, with an ETag of its own", async () => {
  const plain = await ask(own, "/app.js");
  const zipped = await ask(own, "/app.js", { "accept-encoding": "br, gzip;q=0.8" });
  expect(zipped.headers.get("content-encoding")).toBe("gzip");
  expect(zipped.headers.get("vary")).toContain("Accept-Encoding");
  expect(zipped.headers.get("etag")).not.toBe(plain.headers.get("etag"));
  const preferred = await ask(own, "/app.js", { "accept-encoding": "gzip;q=1.0,deflate;q=0.6,identity;q=0.3" });
  expect(preferred.headers.get("content-encoding")).toBe("gzip");
  for (const none of ["gzip;q=0", "gzip;q=0.000"]) {
    const unwanted = await ask(own, "/app.js", { "accept-encoding": none });
    expect([unwanted.headers.get("content-encoding"), unwanted.text]).toEqual([null, plain.text]);
  }
});

made("POST is refused with 405", async () => {
  const { status, headers } = await ask(own, "/", {}, "POST");
  expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test("the guard applies: another host gets nothing, a page of another origin may not write", async () => {
  expect((await ask(own, "/", { host: "evil.test" })).status).toBe(403);
  expect((await ask(own, "/", { origin: "http://evil.test" }, "POST")).status).toBe(403);
});

made("below a prefix its links are relative, and the prefix without its slash redirects to it", async () => {
  const { status, text } = await ask(below, "/a/tv/");
  expect(status).toBe(200);
  expect(text).not.toMatch(/(?:src|href)="\//);
  expect((await ask(below, "/a/tv/app.js")).status).toBe(200);
  const docs = await ask(below, "/a/tv/docs");
  expect(docs.status).toBe(200);
  for (const [, address = ""] of docs.text.matchAll(/(?:src|href)="([^"]+)"/g)) {
    const { pathname } = new URL(address, "http://x/a/tv/docs");
    expect([pathname, (await ask(below, pathname)).status]).toEqual([pathname, 200]);
  }
  const { status: moved, headers } = await ask(below, "/a/tv");
  expect([moved, new URL(headers.get("location") ?? "", "http://x/a/tv").pathname]).toEqual([308, "/a/tv/"]);
  for (const elsewhere of ["/", "/app.js", "/b/", "/a/tvv1/health"])
    expect([elsewhere, (await ask(below, elsewhere)).status]).toEqual([elsewhere, 404]);
});

test.skipIf(isMade)("a page that was not built is answered with the command that builds it", async () => {
  const { status, text } = await ask(own, "/");
  expect([status, text]).toEqual([503, expect.stringContaining("npm install")]);
});
