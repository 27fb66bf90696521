/** The README's first ten minutes, typed word for word by somebody who has Node and knows nothing. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { type Home, makeHome, type Running } from "../cli/program.ts";
import { consoleBlocks, shows } from "../cli/script.ts";
import { type Demo, startDemo } from "../support/demo.ts";
import { saidBy } from "../support/said.ts";
import { root } from "../support/sources.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");
const section = readme.slice(readme.indexOf("## The first ten minutes"), readme.indexOf("## A tour with curl"));
const blocks = consoleBlocks(section);
const set = createRokuSimulator({ name: "Den", kind: "tv", ssdp: false });
let home: Home;
let demo: Demo;

beforeAll(async () => {
  home = await makeHome();
  await set.start();
  // It prints commands as they are typed in the clone.
  demo = await startDemo(environment(), { fromSource: true });
}, 90_000);
afterAll(async () => {
  await demo.stop();
  await set.stop();
  await home.leave();
});

const environment = () => ({ HOME: home.folder, TMPDIR: home.folder, XDG_RUNTIME_DIR: join(home.folder, "run") });

/** One line typed into a shell in the folder of the README: what is seen in the terminal. */
function type(line: string): Promise<string> {
  return new Promise((resolve) => {
    const env = { PATH: process.env["PATH"] ?? "", LANG: "C.UTF-8", npm_config_loglevel: "error", ...environment() };
    const child = spawn("sh", ["-c", `exec 2>&1; ${line}`], { cwd: root, env, stdio: ["ignore", "pipe", "ignore"] });
    const said = saidBy(child);
    child.on("close", () => resolve(said.stdout.trimEnd()));
  });
}

async function follow(steps: (typeof blocks)[number], put: (line: string) => string = (line) => line): Promise<void> {
  for (const { command, answer } of steps) {
    const text = await type(put(command));
    expect([command, shows(answer, text) ? "as the README shows" : text]).toEqual([command, "as the README shows"]);
  }
}

test("its blocks are: what starts the demo, a second terminal, what starts the daemon, the second terminal again", () => {
  const commands = blocks.map((steps) => steps.map(({ command }) => command));
  expect(commands[0]).toEqual(["npm install", "npm run demo"]);
  expect(commands[2]).toEqual(["npm start"]);
  expect([commands.length, commands[1]?.length, commands[3]?.length]).toEqual([4, 10, 6]);
});

test("what the demo prints can be typed as it stands", async () => {
  const printed = demo.printed().split("\n");
  const lines = printed.flatMap((line) => /^ {2}((?:npx zapd|curl) .*)$/.exec(line)?.[1] ?? []);
  expect(lines.length).toBeGreaterThan(6);
  for (const line of lines) {
    if (line.startsWith("curl") && Bun.which("curl") === null) continue;
    const text = await type(`${line}; echo "ended with $?"`);
    expect([line, /ended with (\d+)$/.exec(text)?.[1]]).toEqual([line, line.includes("Bedroom") ? "5" : "0"]);
  }
}, 60_000);

test("the demo, in a second terminal", () => follow(blocks[1] ?? []), 60_000);

test("one's own sets", async () => {
  await demo.stop();
  const daemon: Running = home.start("sh", ["-c", blocks[2]?.[0]?.command ?? ""]);
  await daemon.says(" · socket ");
  await follow(blocks[3] ?? [], (line) => line.replace("192.168.1.40", `127.0.0.1:${set.port}`));
  expect(set.keys).toEqual(expect.arrayContaining(["PowerOn"]));
  // Ctrl-C, as a terminal sends it.
  process.kill(-(daemon.child.pid ?? 0), "SIGINT");
  await daemon.ended;
  expect(daemon.said()).toContain("stopped");
}, 60_000);
