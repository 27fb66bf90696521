/** Completion in real shells: what the Tab key leaves in the line. */
import { describe, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { until } from "../support/http-device.ts";
import { stageForFile } from "./stage.ts";
import { InTerminal, plain } from "./terminal.ts";

const odd = String.raw`Kodi: (den) Bob's "x" $y\z`;
const stage = await stageForFile();
await stage.daemon.api("PATCH", "/devices/Workbench", { name: odd, labels: ["bench", "bar"] });
await stage.daemon.api("PATCH", "/devices/Bedroom", { labels: ["bar"] });
const folder = stage.folder({ "my app.zip": "", "some dir/a": "" });
const environment = stage.environment(folder);
symlinkSync(Bun.which("zapd", environment) ?? "", join(environment["HOME"] ?? "", "zapd"));

describe("bash", () => {
  /** What the function offers for each list of words, the last of which is being typed, as they stand in the line. */
  async function offered(lines: readonly (readonly string[])[], env = ""): Promise<string[][]> {
    const asked = lines.map((words) => {
      const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
      return `COMPREPLY=(); COMP_WORDS=(zapd ${quoted}); COMP_CWORD=${words.length}; _zapd zapd; printf '%s\\n' "\${COMPREPLY[@]}" --`;
    });
    const script = ["source <(zapd completion bash)", ...asked].join("\n");
    const { stdout, stderr } = await stage.run(`${env} bash -c '${script.replaceAll("'", "'\\''")}'`, folder);
    expect(stderr).toBe("");
    return stdout
      .split("--\n")
      .slice(0, -1)
      .map((answer) => answer.split("\n").filter((line) => line !== ""));
  }

  const table: readonly [words: string[], offered: string[]][] = [
    [["dev"], ["devices", "device"]],
    [["conf"], ["config"]],
    [
      ["key", "volume-"],
      ["volume-up", "volume-down"],
    ],
    [["keys", "home", "sel"], ["select"]],
    [["state", "liv"], ["Living\\ Room"]],
    [["rename", "Liv"], ["Living\\ Room"]],
    [["rename", "Bedroom", ""], []],
    [["join", "Bedroom", "liv"], ["Living\\ Room"]],
    [["join", "Bedroom", "Living\\ Room", ""], []],
    [["watch", "Bedroom", "x", "liv"], ["Living\\ Room"]],
    [["split", "Bed"], ["Bedroom"]],
    [["split", "Bedroom", ""], ["roku"]],
    [["split", "Bedroom", "roku", ""], []],
    [["key", "home", "-d", "Bed"], ["Bedroom"]],
    [["key", "home", "--device", "=", "Bed"], ["Bedroom"]],
    [
      ["key", "home", "--device", "="],
      [
        "Living\\ Room",
        "Bedroom",
        'Kodi\\:\\ \\(den\\)\\ Bob\\\'s\\ \\"x\\"\\ \\$y\\\\z',
        "label\\:bar",
        "label\\:bench",
        "all",
      ],
    ],
    // Groups, where a command takes them; a colon ends a word in bash.
    [["home", "-d", "al"], ["all"]],
    [
      ["volume", "5", "-d", "lab"],
      ["label\\:bar", "label\\:bench"],
    ],
    [
      ["home", "-d", "label", ":"],
      ["bar", "bench"],
    ],
    [["home", "-d", "label", ":", "be"], ["bench"]],
    [["home", "--device", "=", "label", ":", "be"], ["bench"]],
    [["state", "-d", "al"], []],
    [["label", "Bed"], ["Bedroom"]],
    [
      ["label", "Bedroom", ""],
      ["add", "remove"],
    ],
    [["label", "Bedroom", "add", ""], ["bench"]],
    [["label", "Bedroom", "remove", "b"], ["bar"]],
    [["label", " BEDROOM", "remove", "b"], ["bar"]],
    [["label", "Bedroom", "remove", "bar", ""], []],
    [
      ["input", "hd"],
      ["HDMI\\ 2", "HDMI\\ 3\\ \\(ARC\\)"],
    ],
    [["input", "hdmi1"], ["hdmi1"]],
    [["input", "-d", "Bedroom", ""], []],
    // A name as it stands in the line after its own completion, in either kind of quotes.
    [["launch", "-d", `"Kodi: (den) Bob's \\"x\\" \\$y\\\\z"`, "netf"], ["Netflix"]],
    [["launch", "-d", `'Kodi: (den) Bob'\\''s "x" $y\\z'`, "netf"], ["Netflix"]],
    [["channel", "kdem+"], ["KDEM+"]],
    [["channel", "5.2"], ["5.2"]],
    [["icon", "net"], ["Netflix"]],
    [["icon", "prime-"], ["prime-video"]],
    [["icon", "netflix", "-o", "my"], ["my app.zip"]],
    [["play", "my"], ["my app.zip"]],
    [["install", "--pass"], ["--password"]],
    [["forget", "Kodi\\:\\ \\(d"], ['Kodi\\:\\ \\(den\\)\\ Bob\\\'s\\ \\"x\\"\\ \\$y\\\\z']],
    // A quote that is closed is replaced with the word, and an escaped one closes nothing.
    [["state", "'Living Room'"], ["Living\\ Room"]],
    [["state", '"Living Room"'], ["Living\\ Room"]],
    [["forget", `"Kodi: (den) Bob's \\"`], [`Kodi: (den) Bob's \\"x\\" \\$y\\\\z`]],
    [["forget", `'Kodi: (den) Bob'\\''`], [`Kodi: (den) Bob'\\''s "x" $y\\z`]],
    [["forget", '"Kod'], [`Kodi: (den) Bob's \\"x\\" \\$y\\\\z`]],
    [["forget", "'Kod"], [`Kodi: (den) Bob'\\''s "x" $y\\z`]],
    [["launch", "-d", "Living\\ Room", "Prim"], ["Prime\\ Video"]],
    [["launch", "-d", '"Living Room"', "prime-"], ["prime-video"]],
    [["launch", "youtube", "con"], []],
    [["config", "set", "daemon.default_device", "Bed"], ["Bedroom"]],
    [["config", "set", "discovery.on_start", "f"], ["false"]],
    [["config", "get", "dev."], ["dev.vendor_password"]],
    [
      ["mcp", ""],
      ["add", "token"],
    ],
    [
      ["mcp", "add", ""],
      ["claude", "cursor", "vscode"],
    ],
    [["mcp", "add", "cursor", ""], []],
    [["mcp", "token", ""], []],
    [["logs", "--fol"], ["--follow"]],
    [["install", "my"], ["my app.zip"]],
    [["devices", ""], []],
    [["nonsense", ""], []],
  ];

  test("each of the words offers what goes on", async () => {
    const answers = await offered(table.map(([words]) => words));
    for (const [at, [words, expected]] of table.entries()) expect([words, answers[at]]).toEqual([words, expected]);
  }, 180_000);

  test("an id is offered in its own letters, typed in any", async () => {
    const input = (id: string, label: string, app: string) => ({
      id,
      label,
      appId: `com.webos.app.externalinput.${app}`,
      connected: true,
    });
    const set = createWebosSimulator({
      name: "Kitchen",
      securePort: 0,
      plainPort: null,
      ssdp: false,
      promptMs: 50,
      inputs: [input("AV_1", "Old player", "av1"), input("COMP_1", "Older player", "component")],
    });
    await using _stopped = { [Symbol.asyncDispose]: () => set.stop() };
    await set.start();
    const [host, port] = ["127.0.0.1", set.ports.secure];
    expect((await stage.daemon.api("POST", "/devices", { host, port, name: "Kitchen" })).status).toBe(200);
    expect((await stage.daemon.api("POST", "/devices/Kitchen/pair", {})).status).toBe(200);
    const lines = ["COMP", "comp"].map((typed) => ["input", "-d", "Kitchen", typed]);
    expect(await offered(lines)).toEqual([["COMP_1"], ["COMP_1"]]);
    await stage.daemon.api("DELETE", "/devices/Kitchen");
  });

  test("without a daemon there are no names, and no noise", async () => {
    const lines = [
      ["state", ""],
      ["key", "hom"],
    ];
    expect(await offered(lines, "ZAPD_SOCKET=/nowhere")).toEqual([[], ["home"]]);
  });
});

interface Shell {
  readonly command: readonly string[];
  readonly load: string;
  readonly env?: Readonly<Record<string, string>>;
}

const shells: Readonly<Record<string, Shell>> = {
  bash: { command: ["bash", "--norc", "-i"], load: "source <(zapd completion bash)", env: { PS1: "> " } },
  zsh: {
    command: ["zsh", "-f", "-i"],
    load: "autoload -Uz compinit; compinit -u -D; source <(zapd completion zsh)",
    env: { PS1: "> " },
  },
};

describe.each(Object.entries(shells))("the Tab key in %s", (name, { command, load, env = {} }) => {
  const there = Bun.which(name);
  test.skipIf(!there)(
    `completes, and quotes as the line is quoted${there ? "" : ` (skipped: no ${name})`}`,
    async () => {
      const screen = new InTerminal(command, {
        columns: 200,
        cwd: folder,
        env: { ...environment, ...env },
      });
      screen.type(`${load}\nprintf 'rea%s\\n' dy\n`);
      await screen.shows("ready\r\n");
      for (const [start, line] of [
        ["zapd state Liv", "Living\\ Room "],
        ['zapd state "Liv', 'Living Room" '],
        ["zapd state 'Liv", "Living Room' "],
        ["~/zapd state Liv", "Living\\ Room "],
        ["zapd state Kod", String.raw`Kodi${name === "zsh" ? ":" : "\\:"}\ \(den\)\ Bob\'s\ \"x\"\ \$y\\z `],
        ["zapd install my", "my\\ app.zip "],
        ["zapd install some", "some\\ dir/"],
        ["zapd icon netflix --output=my", "my\\ app.zip "],
        ["zapd key volume-u", "volume-up "],
        ["zapd home -d label:be", name === "bash" ? "nch " : "label:bench "],
        ["zapd input hdmi1", "hdmi1 "],
      ] as const) {
        const before = screen.text.length;
        screen.type(`${start}\t`);
        await until(`${start} becomes ${line}`, () => plain(screen.text.slice(before)).includes(line));
        screen.type("\x15");
        await Bun.sleep(50);
      }
      screen.type("exit\n");
      await screen.ended;
    },
    60_000,
  );
});

const fish = Bun.which("fish");
test.skipIf(!fish)(`fish is offered the same${fish ? "" : " (skipped: no fish)"}`, async () => {
  const offered = async (line: string) => {
    const script = `zapd completion fish | source; complete -C '${line}'`;
    return (await stage.run(`fish --no-config -c "${script}"`, folder)).stdout
      .split("\n")
      .map((one) => one.split("\t")[0]);
  };
  expect(await offered("zapd state liv")).toEqual(["Living Room", ""]);
  expect(await offered("zapd state Living\\\\ R")).toEqual(["Living Room", ""]);
  expect(await offered("zapd key --device=Bed")).toEqual(["--device=Bedroom", ""]);
  expect(await offered('zapd key --device=\\"Bed')).toEqual(["--device=Bedroom", ""]);
  expect(await offered("zapd home -d label:be")).toEqual(["label:bench", ""]);
  expect(await offered("zapd home -d al")).toEqual(["all", ""]);
  expect(await offered("zapd input hdmi1")).toEqual(["hdmi1", ""]);
  expect(await offered("zapd icon netflix --output=my")).toEqual(["--output=my app.zip", ""]);
  expect(await offered("~/zapd state liv")).toEqual(["Living Room", ""]);
  expect(await offered("zapd nonsense ")).toEqual([""]);
});
