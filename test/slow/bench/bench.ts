/** `npm run bench`: zapd beside its limits and its peers, in one run on one machine. What it prints is the table. */
import { execFileSync } from "node:child_process";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join, resolve } from "node:path";
import { pluralize } from "../../../src/system/text.ts";
import { measures } from "./measures/index.ts";
import { readOptions } from "./options.ts";
import { buildPrograms, root } from "./programs.ts";
import { type Row, shortfalls, tableOf, withBenchmark } from "./report.ts";
import { Stage } from "./stage.ts";

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function main(words: readonly string[]): Promise<number> {
  const options = readOptions(
    words,
    measures.map((one) => one.number),
  );
  say("building what is missing or stale");
  const programs = buildPrograms();
  const figures = resolve(root, options.json);
  // A file that cannot be written is found now, not after minutes of measuring.
  closeSync(openSync(figures, "a"));
  const began = performance.now();
  const rows: Row[] = [];
  const broken: string[] = [];
  for (const { number, title, run } of measures.filter((one) => options.only?.includes(one.number) ?? true)) {
    const prefix = `${number} ${title}`;
    say(prefix);
    const stage = new Stage(programs, options.rounds, (text) => say(`  ${text}`));
    try {
      rows.push(...(await run(stage)));
    } catch (error) {
      // One that cannot be measured here must not hide the others, nor itself.
      broken.push(`${prefix} could not be measured: ${error instanceof Error ? error.message : String(error)}`);
      say(`  ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    } finally {
      await stage.close();
    }
  }
  const text = [headOf(words, options.rounds), tableOf(rows), ...broken.map((one) => `- ${one}`)].join("\n");
  const seconds = Math.round((performance.now() - began) / 1_000);
  process.stdout.write(`${text}\n`);
  writeFileSync(figures, `${JSON.stringify({ ...facts(), options, seconds, rows, broken }, null, 1)}\n`);
  say(`done in ${seconds} s; the figures are in ${options.json}`);
  if (options.write) {
    const page = join(import.meta.dir, "README.md");
    writeFileSync(page, withBenchmark(readFileSync(page, "utf8"), text));
  }
  if (!options.check) return broken.length > 0 ? 1 : 0;
  const short = [...shortfalls(rows), ...broken];
  for (const one of short) say(`falls short: ${one}`);
  if (short.length === 0) say("all that was measured reaches what it must");
  return short.length > 0 ? 1 : 0;
}

/** What the figures hold for. */
function facts() {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const [cpu] = cpus();
  return {
    date: new Date().toISOString().slice(0, 10),
    zapd: version,
    commit: said("git", "rev-parse", "--short", "HEAD"),
    bun: Bun.version,
    node: said("node", "--version").replace(/^v/, ""),
    system: `${process.platform} ${process.arch}, ${cpus().length} cores, ${cpu?.model ?? "unknown"}`,
  };
}

function said(program: string, ...words: readonly string[]): string {
  try {
    return execFileSync(program, words, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return "none";
  }
}

function headOf(words: readonly string[], rounds: number): string {
  const { date, zapd, commit, bun, node, system } = facts();
  const command = ["npm run bench", ...(words.length > 0 ? ["--", ...words] : [])].join(" ");
  return [
    `${date}, zapd ${zapd} (${commit}), Bun ${bun}, Node ${node} for the peers; ${system}.`,
    `Made by \`${command}\`: the median of ${pluralize(rounds, "round")} after one warm-up round, with the lowest and the highest in brackets.`,
    "A ratio compares the two measurements of one round; 1 is what the machine can do.\n",
  ].join("\n");
}

if (import.meta.main) {
  process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
    say(error instanceof Error ? error.message : String(error));
    return 2;
  });
}
