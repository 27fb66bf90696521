/**
 * Makes the single-file programs: `dist/zapd` for this machine, or with `--all` one for each system, from the runtimes
 * that npm has, with their SHA-256 sums, and `dist/sbom.cdx.json`, the list of what is in them. Two builds of the same
 * source are the same to the byte. It ends with the line that puts the program on the path.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { type Lockfile, sbomOf } from "./sbom.ts";

const root = join(import.meta.dir, "..");
/** What stands behind a word of the command line. */
const given = (word: string) => process.argv.slice(2)[process.argv.indexOf(word) - 1];
const dist = resolve(given("--into") ?? join(root, "dist"));
const main = given("--main") ?? "src/main.ts";
const version = Bun.version;

/** What each program is called, and the npm package that holds its runtime. */
const systems = [
  { name: "zapd-linux-x64", target: "bun-linux-x64", runtime: "bun-linux-x64" },
  { name: "zapd-linux-arm64", target: "bun-linux-arm64", runtime: "bun-linux-aarch64" },
  { name: "zapd-macos-x64", target: "bun-darwin-x64", runtime: "bun-darwin-x64" },
  { name: "zapd-macos-arm64", target: "bun-darwin-arm64", runtime: "bun-darwin-aarch64" },
  { name: "zapd-windows-x64.exe", target: "bun-windows-x64", runtime: "bun-windows-x64" },
  { name: "zapd-windows-arm64.exe", target: "bun-windows-arm64", runtime: "bun-windows-aarch64" },
] as const;

/**
 * What runs in no program of ours is left out of npm `mqtt`, 0.5 MB of it: timers in a browser's workers, traces by `$DEBUG`
 * (which would print what is typed), and a copy of the streams that the runtime has; and of MCP's SDK, as much: a validator
 * of schemas, in whose place zapd gives its own.
 */
const leftOut: Readonly<Record<string, string>> = {
  "worker-timers": "export const { setInterval, clearInterval } = globalThis;",
  debug: "module.exports = () => Object.assign(() => {}, { enabled: false });",
  "readable-stream": 'module.exports = require("node:stream");',
  "@modelcontextprotocol/server/_shims": 'export { default as process } from "node:process"; export class DefaultJsonSchemaValidator {}',
};
const lean: Bun.BunPlugin = {
  name: "lean",
  setup(build) {
    build.onResolve({ filter: /^(worker-timers|debug|readable-stream|@modelcontextprotocol\/server\/_shims)$/ }, ({ path }) => ({ path, namespace: "lean" }));
    // XML has five entities; those of HTML are never asked for (src/transport/xml.ts reads in the mode of XML).
    build.onLoad({ filter: /entities\/dist\/generated\/decode-data-html\.js$/ }, () => ({
      contents: "export const htmlDecodeTree = new Uint16Array(0);",
      loader: "js",
    }));
    // The files of the page lie beside the program as they are: as texts of it, each would be there twice.
    build.onLoad({ filter: /src\/web\/(docs-)?assets\.ts$/ }, ({ path }) => ({
      contents: `import { readFileSync } from "node:fs"; import file from "${path}.json" with { type: "file" }; export const assets = JSON.parse(readFileSync(file, "utf8"));`,
      loader: "js",
    }));
    build.onLoad({ filter: /src\/web\/(docs-)?assets\.ts\.json$/ }, async ({ path }) => ({
      contents: JSON.stringify((await import(path.replace(/\.json$/, ""))).assets),
      loader: "file",
    }));
    build.onResolve({ filter: /src\/web\/(docs-)?assets\.ts\.json$/ }, ({ path }) => ({ path }));
    build.onLoad({ filter: /.*/, namespace: "lean" }, ({ path }) => ({ contents: leftOut[path] ?? "", loader: "js" }));
  },
};

/**
 * In chunks, so that a command loads no more than it needs: one chunk of everything takes half as long again to start.
 * What runs only once is not worth compiling: the JIT is held back until the daemon is busy (src/runtime/bun.ts).
 * Inner functions are compiled when they are first called: a start calls few, and each kilobyte compiled here adds 3 kB.
 * No `.env` and no `bunfig.toml` of the folder that the program is started in may change what it does.
 */
async function build(outfile: string, other: Pick<Bun.CompileBuildOptions, "target" | "executablePath"> = {}): Promise<string> {
  await Bun.build({
    entrypoints: [resolve(root, main)],
    root,
    target: "bun", format: "esm", minify: true, bytecode: true, bytecodeDepth: 2, splitting: true, plugins: [lean],
    compile: { outfile, jitPolicy: 100, autoloadDotenv: false, autoloadBunfig: false, ...other },
  });
  return outfile;
}

/** The runtime for another system, from npm, in the version that runs this build. */
function runtimeOf(name: string): string {
  const folder = join(dist, ".runtimes", `${name}-${version}`);
  const bin = join(folder, "package", "bin");
  if (!existsSync(bin)) {
    mkdirSync(folder, { recursive: true });
    const packed = execFileSync("npm", ["pack", "--silent", `@oven/${name}@${version}`, "--pack-destination", folder], { encoding: "utf8" });
    execFileSync("tar", ["-xzf", join(folder, basename(packed.trim())), "-C", folder]);
    rmSync(join(folder, basename(packed.trim())));
  }
  return join(bin, readdirSync(bin).find((file) => /^bun(\.exe)?$/.test(file)) ?? "bun");
}

mkdirSync(dist, { recursive: true });
// Paths are in the program: they are the same from wherever it is built.
process.chdir(root);
const made: string[] = [];
if (process.argv.includes("--all"))
  for (const { name, target, runtime } of systems) made.push(await build(join(dist, name), { target, executablePath: runtimeOf(runtime) }));
else made.push(await build(join(dist, process.platform === "win32" ? "zapd.exe" : "zapd")));
const sums = made.map((path) => `${createHash("sha256").update(readFileSync(path)).digest("hex")}  ${basename(path)}`);
if (made.length > 1) writeFileSync(join(dist, "SHA256SUMS"), `${sums.join("\n")}\n`);
const readJson = (name: string): unknown => JSON.parse(readFileSync(join(root, name), "utf8"));
const own = readJson("package.json") as { name: string; version: string };
writeFileSync(join(dist, "sbom.cdx.json"), sbomOf(own.name, own.version, readJson("package-lock.json") as Lockfile, version));
process.stdout.write(`${sums.join("\n")}\n`);
if (made.length === 1) process.stdout.write(`\nOn the path of this terminal, and in ~/.profile for good:\n${onThePath()}\n`);

/** The line that puts the program on the path, as a shell of this system takes it. */
function onThePath(): string {
  if (process.platform === "win32") return `set "PATH=${dist};%PATH%"`;
  return `export PATH='${dist.replaceAll("'", "'\\''")}':"$PATH"`;
}
