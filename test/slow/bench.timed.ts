/** A small run of the benchmark: it builds the programs that it measures, which other tests must not be running then. */
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

test("one measure of the benchmark, from end to end", () => {
  const folder = mkdtempSync(join(tmpdir(), "zapd-bench-test-"));
  try {
    const json = join(folder, "figures.json");
    const words = [join(import.meta.dir, "bench/bench.ts"), "--only", "8", "--rounds", "1", "--json", json];
    const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining("round 1 of 1") });
    const made = words.slice(1).join(" ");
    expect(stdout).toContain(`Made by \`npm run bench -- ${made}\`: the median of 1 round after`);
    expect(stdout).toMatch(/^\| 8 \| reads of the set per client read, 20 at once \|.*\| 0\.0500 \| \*\*0\.\d+\*\*/m);
    expect(JSON.parse(readFileSync(json, "utf8"))).toMatchObject({
      rows: [{ measure: 8, must: { value: 0.1 } }],
      broken: [],
    });
    const nowhere = spawnSync(process.execPath, [...words.slice(0, -1), folder], { encoding: "utf8" });
    expect([nowhere.status, nowhere.stdout]).toEqual([2, ""]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 30_000);
