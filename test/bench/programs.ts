/** The programs that are measured: zapd's binary and the smallest server that the same runtime makes, both compiled alike. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dir, "..", "..");
/** What the benchmark keeps between runs: the compiled hello-world and the peers. */
export const cache = join(root, "dist", "bench");

export interface Programs {
  readonly zapd: string;
  /** `hello PORT`: answers every request with five bytes. */
  readonly hello: string;
}

/** Builds what is missing or older than its source. */
export function buildPrograms(): Programs {
  mkdirSync(cache, { recursive: true });
  const zapd = join(root, "dist", process.platform === "win32" ? "zapd.exe" : "zapd");
  const ofZapd = [join(root, "package.json"), join(root, ".ci", "build.ts"), ...filesIn(join(root, "src"))];
  if (isStale(zapd, ofZapd)) execFileSync(process.execPath, [join(root, ".ci", "build.ts")], { stdio: "ignore" });
  const hello = join(cache, process.platform === "win32" ? "hello.exe" : "hello");
  const source = join(import.meta.dir, "hello.ts");
  // As .ci/build.ts compiles zapd, but for holding the JIT back at the start, from which it gains nothing.
  const flags = ["--minify", "--bytecode", "--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig"];
  if (isStale(hello, [source]))
    execFileSync(process.execPath, ["build", "--compile", ...flags, source, "--outfile", hello], { stdio: "ignore" });
  return { zapd, hello };
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

function isStale(made: string, sources: readonly string[]): boolean {
  return !existsSync(made) || sources.some((path) => statSync(path).mtimeMs > statSync(made).mtimeMs);
}
