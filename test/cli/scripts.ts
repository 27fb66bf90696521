/** The command line as people meet it: scripts of scripts/ are played, in one house with one daemon. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Ended } from "./program.ts";
import { readScript, type Step, shows } from "./script.ts";
import { act, type Stage, setStage } from "./stage.ts";

const folder = join(import.meta.dir, "scripts");
export const scripts = readdirSync(folder)
  .sort()
  .map((name) => ({ name, ...readScript(readFileSync(join(folder, name), "utf8")) }));

/** Plays one half of them: they take long, one after the other. */
export function playHalf(half: 0 | 1): void {
  describe("scripts", () => {
    let stage: Stage;
    beforeAll(async () => {
      stage = await setStage();
    });
    afterAll(() => stage?.dispose());

    test.each(scripts.filter((_, at) => at % 2 === half))(
      "$name",
      async ({ steps, files }) => {
        await stage.reset();
        const place = stage.folder(files);
        for (const step of steps) {
          if ("cue" in step) await act(stage, step.cue);
          else check(step, await stage.run(step.command, place));
        }
      },
      60_000,
    );
  });
}

function check(step: Step, ended: Ended): void {
  const { stdout, stderr, status } = ended;
  const found = { stdout: stdout.replace(/\n$/, ""), stderr: stderr.replace(/\n$/, ""), status };
  const as = (name: "stdout" | "stderr") => (shows(step[name], found[name]) ? found[name] : step[name]);
  expect({ line: step.line, command: step.command, ...found }).toEqual({
    line: step.line,
    command: step.command,
    stdout: as("stdout"),
    stderr: as("stderr"),
    status: step.status,
  });
  if (asksForDocument(step.command)) expect([step.command, documentsIn(stdout)]).toEqual([step.command, 1]);
}

/** A command that is alone in its line, and wants the one document. */
export function asksForDocument(command: string): boolean {
  return / --json\b(?!=)/.test(command) && !command.includes("|") && !command.includes(" help ");
}

function documentsIn(stdout: string): number {
  JSON.parse(stdout);
  return stdout.endsWith("\n") ? 1 : 0;
}
