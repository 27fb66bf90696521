/** Every command that the program, its config, its API document or a page tells a person to type exists. */
import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pages } from "../readme/sections.ts";
import { zapdWords } from "../support/daemon.ts";
import { testFolder } from "../support/folder.ts";
import { root, sourcesIn } from "../support/sources.ts";

const folder = testFolder();

/** The end of a command in a sentence. */
const end = /[`;|]|&&|\s#\s|\s{2,}|[.,:](?=\s|$)|\s[("·…]|(?<!^)\)|$/m;

/** The words after each `zapd ` of a text, up to the end of the command. */
function commandsIn(text: string): string[] {
  return [...text.matchAll(/(?<![\w/.@-])zapd (?=[a-z])/g)].map(({ index }) => {
    const rest = text.slice(index + "zapd ".length).split("\n", 1)[0] ?? "";
    // A quoted text is one word.
    const hidden = rest.replace(/"[^"]*"/g, (word) => "q".repeat(word.length));
    return rest.slice(0, hidden.search(end)).trim();
  });
}

/** The strings of a source, with `X` in the place of each interpolation. */
function stringsOf(code: string): string {
  const strings = code.match(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g) ?? [];
  return strings
    .map((one) =>
      one
        .slice(1, -1)
        .replace(/\$\{[^}]*\}/g, "X")
        .replace(/\$\{.*$/gm, "")
        .replace(/\\n/g, "\n")
        .replace(/\\(["'`])/g, "$1"),
    )
    .join("\n");
}

/** Words after `zapd` in prose about the program, which nobody types. */
const prose = new Set(
  `itself is to at in and cannot may has does do did failed found remembers drives learns lies presents writes goes
  installs was must or first stops asked sees by again read without sends could derives asks uses serves attached closed
  searched the`.split(/\s+/),
);

function hints(): string[] {
  // The generated table of commands has placeholders: LEVEL, TIME.
  const madeTable = /<!-- commands -->.*<!-- \/commands -->/s;
  const documents = ["config.toml", ...pages].map((name) =>
    readFileSync(join(root, name), "utf8").replace(madeTable, ""),
  );
  const sources = sourcesIn("src").map(({ code }) => stringsOf(code));
  const found = [...sources, ...documents.map(typed)].flatMap(commandsIn);
  return [...new Set(found)].filter(
    (one) => one !== "" && !prose.has(one.split(" ")[0] ?? "") && !/^completion for/.test(one),
  );
}

/** The code of a document: everything else is prose about zapd. */
function typed(text: string): string {
  const blocks = [...text.matchAll(/```(?:console|text|sh)\n(.*?)```/gs)].map(([, block = ""]) =>
    block
      .split("\n")
      .flatMap((line) => /^\$ (.*)/.exec(line)?.[1] ?? [])
      .join("\n"),
  );
  const inline = [...text.replace(/```.*?```/gs, "").matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
  return [...blocks, ...inline].join("\n");
}

/** Commands that do more than ask the daemon: only their help is run. */
const atHome = /^(help|serve|demo|doctor|remote|service|config edit)\b/;

async function statusOf(words: readonly string[]): Promise<number> {
  const help = words[0] === "help" ? [] : ["--help"];
  const more = atHome.test(words.join(" ")) ? help : ["--socket", "/nowhere/zapd.sock"];
  // Neither the broker nor the daemon exists.
  const broker = words[0] === "fleet" ? ["--broker", "mqtt://127.0.0.1:9"] : [];
  const ended = Bun.spawn([...zapdWords(), ...more, ...words, ...broker], {
    cwd: folder,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
    timeout: 20_000,
    env: environment,
  });
  return ended.exited;
}

const environment = { PATH: process.env["PATH"] ?? "", HOME: folder, VISUAL: "true" };

/** Whether it is only the name of a command, or a command with its verb. */
async function isName([command = "", verb, ...more]: readonly string[]): Promise<boolean> {
  if (more.length > 0) return false;
  if (verb === undefined) return (await statusOf(["help", command])) === 0;
  const offered = Bun.spawn([...zapdWords(), "__complete", command, ""], {
    cwd: folder,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
    env: environment,
  });
  return (await new Response(offered.stdout).text()).split("\n").includes(verb);
}

/** Whether a word is a verb ("zapd remembers"), and no mistyped command. */
async function isVerb(word: string): Promise<boolean> {
  if (!/^[a-z]{4,}s$/.test(word)) return false;
  const asked = Bun.spawn([...zapdWords(), word], {
    cwd: folder,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    env: environment,
  });
  return (await new Response(asked.stderr).text()).includes("See: zapd help");
}

/** Whether the words begin with an existing command that takes every option among them. */
async function isCommand(hint: string): Promise<boolean> {
  const words = hint.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  const least = Math.max(1, words.findLastIndex((word) => /^--?[a-z]/.test(word)) + 1);
  for (let count = words.length; count >= least; count--) {
    const line = words.slice(0, count).map((word) => word.replace(/^(["'])(.*)\1$/, "$2"));
    if ((await statusOf(line)) !== 2) return true;
  }
  return (await isName(words)) || (await isVerb(words[0] ?? ""));
}

let all: string[] = [];
beforeAll(() => {
  all = hints();
});

test("the reader of hints sees what it must", async () => {
  const text =
    'Look for some with zapd discover, or add one: zapd add 192.168.1.40 --name "Living Room". Else `zapd serve` (zapd).';
  expect(commandsIn(text)).toEqual(["discover", 'add 192.168.1.40 --name "Living Room"', "serve"]);
  expect(all.length).toBeGreaterThan(30);
  for (const one of ["default NAME", "config reload", "service install", "discover"]) expect(all).toContain(one);
  expect([await isCommand("remembers what it was told"), await isCommand("devicess")]).toEqual([true, false]);
  const wrong = await Promise.all(
    ["frobnicate", "key home --nosuch", "config gte", "devices --clear now"].map(isCommand),
  );
  expect(wrong).toEqual([false, false, false, false]);
});

test("each is a command that there is, with words and options that it takes", async () => {
  const bad: string[] = [];
  const todo = all.values();
  const work = async () => {
    for (const hint of todo) if (!(await isCommand(hint))) bad.push(hint);
  };
  await Promise.all([work(), work(), work()]);
  expect(bad).toEqual([]);
}, 600_000);
