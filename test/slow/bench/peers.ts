/** What a user would pick instead, from npm: found in node_modules, or installed into the benchmark's own cache. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ratios } from "./figures.ts";
import { cache, root } from "./programs.ts";
import type { Peer } from "./report.ts";

const run = promisify(execFile);
/** The newest that runs on Node 20, which is all that zapd asks for. */
const nodeRedVersion = "4.1.8";
const installMs = 180_000;
const driverMs = 60_000;

/** The version of a package of ours, as the table names it. */
export function nameOf(packageName: string): string {
  const file = join(root, "node_modules", packageName, "package.json");
  if (!existsSync(file)) throw new Error(`${packageName} is not in node_modules: run npm install`);
  const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
  return `${packageName} ${version}`;
}

let installing: Promise<string> | undefined;

/** Node-RED's own program, installed once per version; fails with npm's last words. */
export function nodeRed(): Promise<string> {
  installing ??= installNodeRed();
  return installing;
}

async function installNodeRed(): Promise<string> {
  const folder = join(cache, `node-red-${nodeRedVersion}`);
  const program = join(folder, "node_modules", "node-red", "red.js");
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  const words = ["install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", "--omit=optional"];
  await run("npm", [...words, `node-red@${nodeRedVersion}`], { timeout: installMs }).catch(
    (error: { stderr?: string }) => {
      throw new Error(`npm install failed: ${lastLine(error.stderr ?? String(error))}`);
    },
  );
  return program;
}

/** Runs a driver of `peers/` under Node, as its users do, and reads the JSON that it prints. */
export async function drive(driver: string, ...words: readonly (string | number)[]): Promise<Record<string, number>> {
  const script = join(import.meta.dir, "peers", driver);
  const { stdout } = await run("node", [script, ...words.map(String)], { timeout: driverMs }).catch(
    (error: { stderr?: string }) => {
      throw new Error(lastLine(error.stderr ?? String(error)));
    },
  );
  return JSON.parse(stdout) as Record<string, number>;
}

/** The figures of one peer, a round after the other. The first failure ends it, and is what the table says. */
export class PeerRounds {
  readonly #label: string;
  #values: number[] = [];
  #failure: string | undefined;

  constructor(label: string) {
    this.#label = label;
  }

  /** Measures once, in the unit of the row. */
  async measure(work: () => Promise<number>): Promise<void> {
    if (this.#failure !== undefined) return;
    try {
      this.#values.push(await work());
    } catch (error) {
      this.#failure = lastLine(error instanceof Error ? error.message : String(error));
    }
  }

  /** As a ratio to the limits of the same rounds; the warm-up, measured first, is left out. */
  against(limits: readonly number[], note?: string): Peer {
    if (this.#failure !== undefined) return { name: this.#label, figure: null, note: this.#failure };
    const values = this.#values.slice(-limits.length);
    return { name: this.#label, figure: ratios(values, limits).median, ...(note !== undefined && { note }) };
  }
}

function lastLine(text: string): string {
  const lines = text.trim().split("\n");
  return (lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1) ?? "").trim().slice(0, 160);
}
