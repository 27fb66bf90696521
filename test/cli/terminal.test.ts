/** What is different on a terminal: its width, its colours, progress, and values typed unseen. */
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { columnsOf } from "../../src/cli/print.ts";
import { add } from "../blackbox/checked.ts";
import { WiredRoku } from "../support/wired-roku.ts";
import { password, stageForFile } from "./stage.ts";
import { InTerminal, noJobs } from "./terminal.ts";

const stage = await stageForFile();
const folder = stage.folder({
  "my-app/manifest": "title=Hello\nmajor_version=1\nminor_version=0\nbuild_version=7\n",
  "my-app/source/main.brs": "sub main()\nend sub\n",
  "my-app/images/icon.png": "0123456789".repeat(120),
  "broken.toml": "[daemon",
  "editor.sh": "trap 'echo caught; exit 0' INT; echo editing; while :; do sleep 0.05; done",
});

interface Options {
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
}

const run = (words: readonly string[], { env, ...options }: Options = {}) =>
  new InTerminal(["zapd", ...words], { ...options, cwd: folder, env: { ...stage.environment(folder), ...env } });

async function shown(words: readonly string[], options?: Options): Promise<string[]> {
  const screen = run(words, options);
  await screen.ended;
  return screen.lines();
}

describe("width", () => {
  test("a table fits: the model is shortened, then the address goes, and the rest where that is not enough", async () => {
    const rows: string[] = [];
    for (const columns of [70, 58, 44, 34]) {
      const lines = await shown(["devices"], { columns });
      expect(lines).toHaveLength(5);
      for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(columns);
      rows.push(lines[2] ?? "");
    }
    const power = String.raw`(on|unknown)\s+`;
    expect(rows[0]).toMatch(new RegExp(`^Bedroom +roku +Roku …?\\S* .*${power}127\\.0\\.0\\.1 +limited$`));
    expect(rows[1]).toMatch(new RegExp(`^Bedroom +roku +Roku .*…? +${power}limited$`));
    expect(rows[2]).toMatch(new RegExp(`^Bedroom +roku +${power}limited$`));
    expect(rows[3]).toMatch(new RegExp(`^Bedroom +${power}limited$`));
    expect((await shown(["devices"], { columns: 120 }))[2]).toContain("Roku Streaming Stick 4K");
  });

  test("at 40 columns a name of 24 characters is whole, and a longer one is cut there", async () => {
    const [whole, long] = ["Grandmother's Television", "Grandmother's Televisions"];
    await stage.daemon.api("PATCH", "/devices/Living%20Room", { name: whole });
    await stage.daemon.api("PATCH", "/devices/Workbench", { name: `${long} upstairs` });
    const lines = await shown(["devices"], { columns: 40 });
    expect(lines[1]).toStartWith(`${whole}* `);
    expect(lines[3]).toStartWith("Grandmother's Televisio");
    expect(lines[3]).toContain("… ");
    for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(40);
    expect(lines.join("\n")).not.toContain("127.0.0.1");
    await stage.reset();
  });

  test("at 40 columns the id of an app is whole: its version is left out, and its name is shortened", async () => {
    const lines = await shown(["apps"], { columns: 40 });
    expect(lines[0]).toMatch(/^APP +ID +TYPE$/);
    expect(lines.join("\n")).toMatch(/^The Roku \w+… +the-roku-channel +app$/m);
    for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(40);
  });

  test.each(["inputs", "channels", "lease list"])("%s fits: what is long is shortened", async (words) => {
    const entry = {
      id: "4_107_7_7_28_10301_2".repeat(2),
      number: "107",
      name: "Das Erste HD (Westdeutscher Rundfunk)",
    };
    const lease = { owner: "ada@workstation.lab", until: new Date().toISOString(), note: "the run of the night" };
    const answer = ({ url }: Request) =>
      Response.json({
        ok: true,
        data: url.endsWith("/devices") ? [{ ...entry, lease }] : { inputs: [entry], channels: [entry] },
      });
    const socket = join(folder, "long.sock");
    const server = Bun.serve({ unix: socket, fetch: answer });
    try {
      const lines = await shown(words.split(" "), { columns: 50, env: { ZAPD_SOCKET: socket } });
      expect(lines).toHaveLength(2);
      for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(50);
      expect(lines[1]).toContain("Das Erste");
    } finally {
      await server.stop(true);
    }
  });

  test("a long hint is broken between words", async () => {
    const lines = await shown(["key", "qqqqqq"], { columns: 60 });
    expect(lines.length).toBeGreaterThan(4);
    expect(lines[0]).toBe('zapd: "qqqqqq" is not a key.');
    for (const line of lines.slice(1)) {
      expect(columnsOf(line)).toBeLessThanOrEqual(60);
      expect(line).toStartWith("      ");
    }
  });
});

describe("colour", () => {
  const green = "\x1b[32mon\x1b[0m";
  const textOf = async (words: readonly string[], env: Record<string, string> = {}) => {
    const screen = run(words, { env });
    await screen.ended;
    return screen.text;
  };

  test("is for the power, and what is not as it should be", async () => {
    await stage.run("zapd state", folder);
    const text = await textOf(["devices"]);
    expect(text).toContain(green);
    expect(text).toContain("\x1b[33mlimited\x1b[0m");
    expect(text.replace(/\x1b\[[0-9;]+m/g, "")).toMatch(/on +127\.0\.0\.1 {2}full/);
  });

  test("is left out when it is not wanted", async () => {
    expect(await textOf(["devices", "--no-color"])).not.toContain("\x1b");
    expect(await textOf(["devices"], { NO_COLOR: "1" })).not.toContain("\x1b");
    expect(await textOf(["devices"], { TERM: "dumb" })).not.toContain("\x1b");
    const serve = ["serve", "--config", "broken.toml"];
    expect(await textOf(serve)).toContain("\x1b[31m");
    expect(await textOf([...serve, "--no-color"])).not.toContain("\x1b");
    expect((await stage.run("zapd devices", folder)).stdout).not.toContain("\x1b");
    expect((await stage.run("zapd devices", folder, { FORCE_COLOR: "1" })).stdout).toContain(green);
  });
});

test("T12 a document has what cannot be seen as escapes, on a terminal and through a pipe, and parses to the same", async () => {
  const name = "a\u202eb\u2066c\u200bd\u200fe\ufefff\u2028g\u{e0041}h\u00adi\u061cj\u2029k 📺 é";
  const { id } = (await stage.daemon.api("PATCH", "/devices/Bedroom", { name })).body.data;
  const check = (document: string) => {
    expect(document).not.toMatch(/[\u0080-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\u{e0041}/u);
    expect(document).toContain(
      "a\\u202eb\\u2066c\\u200bd\\u200fe\\ufefff\\u2028g\\udb40\\udc41h\\u00adi\\u061cj\\u2029k 📺 é",
    );
    expect(JSON.stringify(JSON.parse(document))).toContain(JSON.stringify(name).slice(1, -1));
  };
  for (const [words, status] of [
    ["devices", 0],
    [`device -d ${id}`, 0],
    [`key home -d ${id}`, 5],
  ] as const) {
    check((await stage.run(`zapd ${words} --json`, folder)).stdout);
    const screen = run([...words.split(" "), "--json"], { columns: 1_000 });
    expect(await screen.ended).toBe(status);
    check(screen.lines()[0] ?? "");
  }
  await stage.daemon.api("PATCH", `/devices/${id}`, { name: "Bedroom" });
});

describe("progress", () => {
  test("a folder is zipped and sent before one's eyes", async () => {
    expect(await shown(["install", "my-app", "-d", "Workbench"])).toEqual([
      expect.stringMatching(/^zipping my-app {2}3 files, 1\.\d kB$/),
      expect.stringMatching(/^sending to Workbench {2}█{18} 1\.\d kB$/),
      "Hello 1.0.7 is running on Workbench. Log: zapd logs --follow -d Workbench",
    ]);
  });

  test("a narrow terminal is not overrun, and a dumb one is left alone", async () => {
    const narrow = await shown(["install", "my-app", "-d", "Workbench"], { columns: 30 });
    expect(narrow.slice(0, 2)).toEqual([expect.stringMatching(/^zipping my-app/), expect.stringMatching(/█…$/)]);
    for (const line of narrow.slice(0, 2)) expect(columnsOf(line)).toBeLessThanOrEqual(30);
    expect(await shown(["install", "my-app", "-d", "Workbench"], { env: { TERM: "dumb" } })).toHaveLength(1);
  });

  test("a refusal leaves no half of a line behind", async () => {
    await stage.daemon.api("PATCH", "/config", { "dev.vendor_password": "wrong" });
    const lines = await shown(["install", "my-app", "-d", "Workbench"]);
    await stage.daemon.api("PATCH", "/config", { "dev.vendor_password": password });
    expect(lines[1]).toBe("zapd: Workbench refused the developer password.");
  });

  test("a search says that it looks", async () => {
    expect((await shown(["discover"]))[0]).toBe("looking …");
  });
});

describe("a value that is typed unseen", () => {
  const words = ["config", "set", "dev.vendor_password", "-"];
  const refusal = async () => (await stage.run("zapd install my-app -d Workbench", folder)).stderr;

  test("is taken, and not shown", async () => {
    const screen = run(words);
    await screen.shows("dev.vendor_password: ");
    screen.type("wrongg\x7f\r");
    expect(await screen.ended).toBe(0);
    expect(screen.text.trim()).toBe("dev.vendor_password:");
    expect(await refusal()).toContain("refused the developer password");
    const again = run(words);
    await again.shows("dev.vendor_password: ");
    again.type(`nonsense\x15${password}\r`);
    expect(await again.ended).toBe(0);
    expect(await refusal()).toContain("is running on Workbench");
  });

  test("goes to the set that it was asked for, whatever the default has become", async () => {
    await stage.daemon.api("PATCH", "/config", { "daemon.default_device": "Workbench" });
    const screen = run(["install", "my-app", "--password", "-"]);
    await screen.shows("developer password of Workbench: ");
    await stage.daemon.api("PATCH", "/config", { "daemon.default_device": "Living Room" });
    screen.type(`${password}\r`);
    expect(await screen.ended).toBe(0);
    expect(screen.text).toContain("Hello 1.0.7 is running on Workbench");
  });

  test("can be given up", async () => {
    const screen = run(words);
    await screen.shows("dev.vendor_password: ");
    screen.type("half\x03");
    expect(await screen.ended).toBe("SIGINT");
    expect(await refusal()).toContain("is running on Workbench");
  });
});

test.skipIf(noJobs !== null)(
  `Ctrl-C in an editor is for that alone${noJobs ? ` (skipped: ${noJobs})` : ""}`,
  async () => {
    const env = { ...stage.environment(folder), VISUAL: "sh editor.sh" };
    const screen = InTerminal.withJobs(["zapd", "config", "edit", "--json"], { columns: 1_000, cwd: folder, env });
    await screen.shows("editing");
    screen.type("\x03");
    expect(await screen.end()).toBe("0 cooked");
    expect(screen.text).toMatch(/caught\s+\{"ok":true/);
  },
);

describe("a wait of more than a second", () => {
  const fakes: WiredRoku[] = [];
  afterAll(() => Promise.all(fakes.map((fake) => fake.stop())));

  /** A set that said that it goes off, and is silent since; a magic packet wakes it after so long. */
  async function sleeping(name: string, wakeMs: number): Promise<void> {
    const set = await WiredRoku.start();
    fakes.push(set);
    const { id } = await add(stage.daemon, set);
    await stage.daemon.api("PATCH", `/devices/${id}`, { name });
    set.wakeMs = wakeMs;
    await set.simulator.sleep("standby");
    await stage.daemon.api("GET", `/devices/${id}/state`);
    await set.sleep();
    await stage.daemon.api("GET", `/devices/${id}/state`);
  }

  test("says that the set is being woken, and keeps how long it took", async () => {
    await sleeping("Attic", 2_500);
    const screen = run(["on", "-d", "Attic"]);
    await screen.shows(/waking Attic … [12] s/);
    expect(await screen.ended).toBe(0);
    expect(screen.lines()).toEqual([expect.stringMatching(/^waking Attic … on after \d+ s$/)]);
  }, 60_000);

  test("is silent where nobody watches, and leaves nothing when it was in vain", async () => {
    await sleeping("Cellar", 3_600_000);
    const began = performance.now();
    const piped = await stage.run("zapd on -d Cellar --timeout 2s", folder);
    expect(performance.now() - began).toBeLessThan(6_000);
    expect([piped.status, piped.stdout]).toEqual([4, ""]);
    expect(piped.stderr).toStartWith("zapd: no answer within 2 s");
    const screen = run(["on", "-d", "Cellar", "--timeout", "2500ms"]);
    await screen.shows(/waking Cellar … [12] s/);
    expect(await screen.ended).toBe(4);
    expect(screen.lines()[0]).toStartWith("zapd: no answer within 2.5 s");
    await stage.daemon.api("PATCH", "/devices/Cellar", { labels: ["dark"] });
    const group = run(["on", "-d", "label:dark", "--timeout", "2500ms"]);
    await group.shows(/waiting for label:dark … [12] s/);
    expect(await group.ended).toBe(4);
  }, 60_000);

  test("of a scene says that it runs, or has not begun behind another run; in the end its steps stand alone", async () => {
    await sleeping("Porch", 4_000);
    const scene = stage.folder({ "slow.toml": 'device = "Porch"\nsteps = [{ power = "on" }]' });
    const play = () => run(["run", join(scene, "slow.toml")]);
    const first = play();
    await first.shows(/running … [1-3] s/);
    const second = play();
    await second.shows(/waiting to start … [1-3] s/);
    expect([await first.ended, await second.ended]).toEqual([0, 0]);
    expect(first.lines()).toEqual([expect.stringMatching(/^1 {2}turn on · Porch: done, seen, .* s$/)]);
    expect(second.lines()).toEqual(["1  turn on · Porch: skipped, already in that state"]);
  }, 60_000);
});

test("dates are the same in every locale, and local", async () => {
  const shown = /^added {6}\d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}, \d\d:\d\d$/m;
  for (const LANG of ["C", "de_DE.UTF-8", "ja_JP.UTF-8"]) {
    const { stdout } = await stage.run("zapd device Bedroom", folder, { LANG, LC_ALL: LANG });
    expect(stdout).toMatch(shown);
  }
  const hour = async (TZ: string) =>
    /added.* (\d\d):\d\d$/m.exec((await stage.run("zapd device Bedroom", folder, { TZ })).stdout)?.[1];
  expect((Number(await hour("Asia/Tokyo")) - Number(await hour("UTC")) + 24) % 24).toBe(9);
});
