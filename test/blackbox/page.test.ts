/** The files of the page and of the documentation, as a browser asks for them. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { startTestDaemon } from "../support/daemon.ts";
import { root } from "../support/sources.ts";
import { daemonForFile } from "./daemon-for-file.ts";

// The binary has the page in it; the others read what `npm run web` made.
const isMade = process.env["ZAPD_TEST_RUNTIME"] === "binary" || existsSync(join(root, "src/web/assets.ts"));
const made = test.skipIf(!isMade);

const { daemon } = await daemonForFile();
const base = `http://127.0.0.1:${daemon.port}`;

async function ask(path: string, headers: Record<string, string> = {}, method = "GET", at = base) {
  const answer = await fetch(at + path, { method, headers, keepalive: false, redirect: "manual" });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

const types: Readonly<Record<string, RegExp>> = {
  "/": /^text\/html/,
  "/app.js": /^text\/javascript/,
  "/app.css": /^text\/css/,
  "/favicon.svg": /^image\/svg\+xml/,
  "/manifest.webmanifest": /^application\/manifest\+json/,
  "/docs": /^text\/html/,
  "/docs/docs.js": /^text\/javascript/,
  "/docs/docs.css": /^text\/css/,
  "/docs/swagger-ui.css": /^text\/css/,
  "/docs/swagger-ui-bundle.js": /^text\/javascript/,
};

made("each file has its type, its policy and an ETag", async () => {
  for (const [path, type] of Object.entries(types)) {
    const { status, headers, text } = await ask(path);
    expect([path, status, text.length > 100]).toEqual([path, 200, true]);
    expect(headers.get("content-type")).toMatch(type);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    const policy = headers.get("content-security-policy") ?? "";
    for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"])
      expect(policy).toContain(part);
    for (const part of ["frame-ancestors 'none'", "require-trusted-types-for 'script'"]) expect(policy).toContain(part);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    const same = await ask(path, { "if-none-match": headers.get("etag") ?? "" });
    expect([path, same.status, same.text]).toEqual([path, 304, ""]);
    expect(same.headers.get("content-security-policy")).toBe(policy);
    const head = await ask(path, {}, "HEAD");
    expect([path, head.status, head.text, head.headers.get("content-type")]).toEqual([
      path,
      200,
      "",
      headers.get("content-type"),
    ]);
  }
});

made("all that a document links to is there, on the same origin", async () => {
  for (const path of ["/", "/docs"]) {
    const { text } = await ask(path);
    expect(text).not.toMatch(/<style|<script(?![^>]*\ssrc=)|\son\w+=|style=/);
    const named = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(
      ([, address = ""]) => new URL(address, base + path),
    );
    expect(named.length).toBeGreaterThan(1);
    for (const url of named) {
      expect(url.origin).toBe(base);
      expect([url.pathname, (await ask(url.pathname)).status]).toEqual([url.pathname, 200]);
    }
  }
});

test("daemon.page turns it off and on at once; the API stays", async () => {
  const set = (page: boolean | null) => daemon.api("PATCH", "/config", { "daemon.page": page });
  expect((await set(false)).status).toBe(200);
  for (const path of Object.keys(types)) {
    const { status, text } = await ask(path);
    expect([path, status]).toEqual([path, 404]);
    for (const way of ["zapd config set daemon.page true", "--no-page"])
      expect(JSON.parse(text).error.hint).toContain(way);
  }
  expect((await daemon.api("GET", "/devices")).status).toBe(200);
  await set(null);
  if (isMade) expect((await ask("/")).status).toBe(200);
});

test("--no-page: it is off whatever the config says", async () => {
  await using own = await startTestDaemon({ words: ["--no-page"], config: { daemon: { page: true } } });
  const at = `http://127.0.0.1:${own.port}`;
  for (const path of ["/", "/app.js", "/docs"])
    expect([path, (await ask(path, {}, "GET", at)).status]).toEqual([path, 404]);
  expect((await own.api("GET", "/devices")).status).toBe(200);
}, 60_000);
