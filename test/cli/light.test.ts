/** A key press must not wait for modules that it does not need: nothing but our own small files and the runtime's is loaded. */
import { expect, test } from "bun:test";
import { type Source, sourcesIn } from "../support/sources.ts";

const sources = new Map(sourcesIn("src").map((source) => [source.path, source]));

/** What is loaded with a file: its imports, and theirs, but for types and what is asked for later. */
function loadedWith(path: string, seen = new Set<string>()): Set<string> {
  const source: Source | undefined = sources.get(path);
  if (seen.has(path)) return seen;
  seen.add(path);
  for (const { from, typeOnly, late } of source?.imports ?? []) if (!typeOnly && !late) loadedWith(from, seen);
  return seen;
}

function loadedForCommand(name: string): Set<string> {
  const seen = new Set<string>();
  for (const path of ["main", `cli/${name}`, "runtime/bun"]) loadedWith(`src/${path}.ts`, seen);
  return seen;
}

const small = /^(src\/|node:(fs|os|path|util)$|package\.json$)/;
const ours =
  /^src\/(cli\/|main\.ts|api\/(errors|routes|client|client-words)\.ts|system\/(nearest|printable|overlap|sleep|text|version)\.ts|config\/paths\.ts|runtime\/)/;

test.each(["keys", "apps", "devices", "daemon", "logs", "config", "help"])("zapd loads little for %s", (name) => {
  const loaded = [...loadedForCommand(name)];
  expect(sources.has(`src/cli/${name}.ts`)).toBe(true);
  expect(loaded.filter((path) => !small.test(path))).toEqual([]);
  // Who asks for help is told the keys.
  const keys = name === "help" ? ["src/platforms/platform.ts"] : [];
  expect(loaded.filter((path) => path.startsWith("src/") && !ours.test(path))).toEqual(keys);
});

test("a key press reads no more than this many bytes of ours", () => {
  const loaded = loadedForCommand("keys");
  const bytes = [...loaded].reduce((sum, path) => sum + (sources.get(path)?.code.length ?? 0), 0);
  expect(loaded.has("src/cli/client.ts")).toBe(true);
  // The table of commands is a quarter of it: a word for each thing that a set can do.
  expect(bytes).toBeLessThan(82_000);
});

test("neither the tools for agents nor the OpenAPI document is loaded before it is asked for", () => {
  const seen = new Set<string>();
  for (const name of ["main", "daemon", "fetch", "cli/serve", "cli/mcp"]) loadedWith(`src/${name}.ts`, seen);
  expect(seen.has("src/server/mcp.ts")).toBe(true);
  expect([...seen].filter((path) => /^src\/(mcp\/|api\/openapi)|modelcontextprotocol/.test(path))).toEqual([]);
  // Who would load it early is found.
  const early = [...loadedWith("src/mcp/http.ts")];
  expect(early.some((path) => path.startsWith("@modelcontextprotocol/server"))).toBe(true);
});
