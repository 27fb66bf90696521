/** One half of the scripts, and that no command is in none of them. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { exits } from "../../src/api/errors.ts";
import { commands } from "../../src/cli/commands.ts";
import { testFolder } from "../support/folder.ts";
import { runZapd } from "./program.ts";
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
  const except = (all: readonly string[], others: readonly string[]) => all.filter((name) => !others.includes(name));
  const missing = (wanted: readonly string[], status: number) => wanted.filter((name) => !played(name, status));

  test("each is used right, and each whose words are not counted is used wrong", () => {
    const free = names.filter((name) => commands[name]?.maxWords === Number.POSITIVE_INFINITY);
    expect(missing(except(names, ["serve", "demo"]), exits.ok)).toEqual([]);
    expect(missing(free, exits.usage)).toEqual([]);
  });

  test("each that needs a device is used with one that is off", () => {
    expect(missing(toDevices, exits.unreachable)).toEqual([]);
  });

  test("each that prints a response prints it as a document", () => {
    const silent = ["serve", "demo", "completion"];
    const asked = all.filter((step) => asksForDocument(step.command)).map((step) => step.command);
    const isAsked = (name: string) => asked.some((command) => command.startsWith(`zapd ${name}`));
    expect(except(names, silent).filter((name) => !isAsked(name))).toEqual([]);
  });

  const home = testFolder();
  writeFileSync(join(home, "manifest"), "title=Hello\n");
  const zapd = (...words: readonly string[]) =>
    runZapd(words, { cwd: home, env: { PATH: process.env["PATH"], HOME: home } });

  test("each with a limit to its words says which one is too much, and its use", async () => {
    for (const [name, { hidden, maxWords = 0, use }] of Object.entries(commands)) {
      if (hidden || maxWords === Number.POSITIVE_INFINITY) continue;
      const words = Array.from({ length: maxWords + 1 }, (_, at) => `word${at}`);
      const advice =
        maxWords === 0
          ? "the command takes none; if it is for a device, -d names it"
          : "put a name with spaces in quotes";
      expect([name, await zapd(name, ...words)]).toEqual([
        name,
        {
          stdout: "",
          stderr: `zapd: "word${maxWords}" is an extra word: ${advice}.\nuse:  zapd ${`${name} ${use}`.trim()}\n`,
          status: exits.usage,
        },
      ]);
    }
  });

  test("each that needs the daemon says that it does not run, and how to start it", async () => {
    const lines = [
      "key home, keys home up, text hello, hold down, launch netflix, stop, state, wait power:on, volume 20, mute on",
      "play http://192.168.1.5/film.mp4, seek 12:30, inputs, input hdmi1, channels, channel 5, notify hello, apps, refresh",
      "icon netflix -o a.png, screenshot -o a.png, devices, discover, device, add 192.168.1.40, pair A, trust A, join A B",
      "split A B, label A add bar, rename A B, forget A, default, install ., reload, logs, logs --follow, open, openapi",
      "status, config get, config set daemon.log_level debug, config unset daemon.log_level, config reload, lease list",
      "with-lease -- true, run movie-night, scenes",
    ].flatMap((line) => line.split(", "));
    const asked = new Set(lines.map((line) => line.replace(/ .*/, "")));
    expect(except(names, alone).filter((name) => !asked.has(name))).toEqual([]);
    const stderr = expect.stringMatching(
      /^zapd: the daemon is not running: nothing answers at none\.sock\. Start it with `zapd serve`, or [^\n]+\n$/,
    );
    for (const line of lines)
      expect([line, await zapd("--socket", "none.sock", ...line.split(" "))]).toEqual([
        line,
        { stdout: "", stderr, status: exits.notRunning },
      ]);
  });
});
