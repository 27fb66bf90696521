/** The programs that are measured: zapd's binary and the smallest server that the same runtime makes, both compiled alike. */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dir, "..", "..", "..");
/** What the benchmark keeps between runs: the compiled hello-world and the peers. */
export const cache = join(root, "dist", "bench");

export type Programs = ReturnType<typeof buildPrograms>;

/**
 * Builds both anew: how much of a program is resident depends on how its file lies in the page cache, and that on how long
 * ago it was written, by 6 of 24 MB.
 */
export function buildPrograms() {
  mkdirSync(cache, { recursive: true });
  const zapd = join(root, "dist", process.platform === "win32" ? "zapd.exe" : "zapd");
  execFileSync(process.execPath, [join(root, ".ci", "build.ts")], { stdio: "ignore" });
  /** `hello PORT`: answers every request with five bytes. */
  const hello = join(cache, process.platform === "win32" ? "hello.exe" : "hello");
  // As .ci/build.ts compiles zapd, but for holding the JIT back, from which it gains nothing.
  const flags = ["--minify", "--bytecode", "--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig"];
  const words = ["build", "--compile", ...flags, join(import.meta.dir, "hello.ts"), "--outfile", hello];
  execFileSync(process.execPath, words, { stdio: "ignore" });
  return { zapd, hello };
}
