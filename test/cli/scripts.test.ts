/** The command line as people meet it: each script of scripts/ is played, in one house with one daemon. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { exits } from "../../src/api/errors.ts";
import { commands } from "../../src/cli/commands.ts";
import type { Ended } from "./program.ts";
import { readScript, type Step, shows } from "./script.ts";
import { act, type Stage, setStage } from "./stage.ts";

const folder = join(import.meta.dir, "scripts");
const scripts = readdirSync(folder)
  .sort()
  .map((name) => ({ name, ...readScript(readFileSync(join(folder, name), "utf8")) }));
const all = scripts.flatMap(({ steps }) => steps.filter((step): step is Step => "command" in step));
let stage: Stage;

beforeAll(async () => {
  stage = await setStage();
}, 60_000);

afterAll(() => stage.dispose());

describe("scripts", () => {
  test.each(scripts)(
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
function asksForDocument(command: string): boolean {
  return / --json\b(?!=)/.test(command) && !command.includes("|") && !command.includes(" help ");
}

function documentsIn(stdout: string): number {
  JSON.parse(stdout);
  return stdout.endsWith("\n") ? 1 : 0;
}

describe("no command is forgotten", () => {
  /** Played elsewhere: they need a terminal, do not end, or say of the daemon's absence what is theirs to say. */
  const elsewhere = ["remote", "doctor", "service", "watch", "mcp"];
  const alone = ["serve", "demo", "version", "completion"];
  const toDevices = ["key", "keys", "text", "launch", "stop", "state", "apps", "refresh", "install", "reload", "add"];
  const names = Object.entries(commands).flatMap(([name, { hidden }]) =>
    hidden || elsewhere.includes(name) ? [] : [name],
  );
  const played = (name: string, status: number) =>
    all.some((step) => step.status === status && new RegExp(`(^|&& )zapd (-\\S+ \\S+ )?${name}\\b`).test(step.command));
  const missing = (wanted: readonly string[], status: number) => wanted.filter((name) => !played(name, status));

  test("each is used right and wrong", () => {
    expect(
      missing(
        names.filter((name) => !["serve", "demo"].includes(name)),
        exits.ok,
      ),
    ).toEqual([]);
    expect(missing(names, exits.usage)).toEqual([]);
  });

  test("each that needs the daemon is used without one", () => {
    expect(
      missing(
        names.filter((name) => !alone.includes(name)),
        exits.notRunning,
      ),
    ).toEqual([]);
  });

  test("each that needs a device is used with one that is off", () => {
    expect(missing(toDevices, exits.unreachable)).toEqual([]);
  });

  test("each that prints a response prints it as a document", () => {
    const silent = ["serve", "demo", "completion"];
    const asked = all.filter((step) => asksForDocument(step.command)).map((step) => step.command);
    expect(
      names.filter((name) => !silent.includes(name) && !asked.some((command) => command.startsWith(`zapd ${name}`))),
    ).toEqual([]);
  });
});
