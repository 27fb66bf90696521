/** One half of the scripts, and that no command is in none of them. */
import { describe, expect, test } from "bun:test";
import { exits } from "../../src/api/errors.ts";
import { commands } from "../../src/cli/commands.ts";
import type { Step } from "./script.ts";
import { asksForDocument, playHalf, scripts } from "./scripts.ts";

playHalf(0);
const all = scripts.flatMap(({ steps }) => steps.filter((step): step is Step => "command" in step));

describe("no command is forgotten", () => {
  /** Played elsewhere: they need a terminal or a broker, do not end, or say of the daemon's absence what is theirs to say. */
  const elsewhere = ["remote", "doctor", "service", "watch", "mcp", "fleet"];
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
