/** A clone, Node, and nothing else: `npm start`, `npx zapd`, and the daemon that a command finds. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { programWords, zapdWords } from "../support/daemon.ts";
import { inOwnNetwork } from "../support/own-network.ts";
import { root } from "../support/sources.ts";
import { slowTest } from "../support/whole.ts";
import { type Home, makeHome, type Running } from "./program.ts";

let home: Home;
beforeEach(async () => {
  home = await makeHome();
});
afterEach(() => home.leave());

const bin = join(root, "src/cli/zapd.mjs");
const [program = "", ...first] = zapdWords();
const zapd = (...words: string[]) => home.run(program, [...first, ...words]);
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
const patch = (body: unknown) =>
  fetch(`http://127.0.0.1:${home.port}/v1/config`, { method: "PATCH", body: JSON.stringify(body) });

/** What stands in the checkout where a change of the config could land. */
const checkout = () => ["config.toml", "package.json"].map((name) => readFileSync(join(root, name), "utf8"));

/** What lies in the checkout, but for what other tests build there, and the file that is there while they do. */
const names = () => readdirSync(root).filter((name) => name !== "dist" && !name.endsWith(".bun-build"));

for (const [name, command, words] of [
  ["npm start", "npm", ["start"]],
  ["deno task start", join(root, "node_modules/.bin/deno"), ["task", "start"]],
] as const)
  slowTest(
    `${name}, from the clone, serves the user's own place, and writes nothing in the checkout`,
    async () => {
      const before = [checkout(), names()];
      const daemon = home.start(command, words);
      await daemon.says(" · socket ");
      chmodSync(home.configFile, 0o644);
      expect((await patch({ "dev.vendor_password": "c4nary" })).status).toBe(200);
      expect(readFileSync(home.configFile, "utf8")).toContain('vendor_password = "c4nary"');
      expect(modeOf(home.configFile)).toBe("600");
      const path = await zapd("config", "path");
      expect([path.stdout, path.stderr]).toEqual([`${home.configFile}\n`, ""]);
      const doctor = JSON.parse((await zapd("doctor", "--json")).stdout) as { checks: { id: string; text: string }[] };
      expect(doctor.checks[0]?.text).toEndWith("config ~/.config/zapd/config.toml");
      expect([checkout(), names()]).toEqual(before);
      process.kill(-(daemon.child.pid ?? 0), "SIGTERM");
      await daemon.ended;
    },
    60_000,
  );

describe("zapd in the clone", () => {
  slowTest(
    "npx zapd runs, there and from another folder, with its words and its exit status",
    async () => {
      expect(await home.run("npx", ["zapd", "version"])).toMatchObject({ stdout: expect.stringMatching(/^zapd \d/) });
      const missing = await home.run("npx", ["zapd", "devices", "--json"]);
      expect([missing.status, JSON.parse(missing.stdout).error.code]).toEqual([7, "daemon_not_running"]);
      expect((await home.run("npx", [root, "key", "two words", "more"], home.folder)).status).toBe(2);
    },
    60_000,
  );

  test("it works by a link, as npm link makes one, and runs nothing that stands in the folder where it is called", async () => {
    symlinkSync(bin, join(home.folder, "zapd"));
    writeFileSync(join(home.folder, "bunfig.toml"), 'preload = ["./planted.ts"]\n');
    writeFileSync(join(home.folder, "planted.ts"), "process.exit(99);\n");
    writeFileSync(join(home.folder, ".env"), "ZAPD_SOCKET=/planted\n");
    const { stderr } = await home.run(join(home.folder, "zapd"), ["devices"], home.folder);
    expect(stderr).toContain("the daemon is not running");
    expect(stderr).not.toContain("planted");
    expect(await home.run(join(home.folder, "zapd"), ["help", "key"], home.folder)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("press a key"),
    });
  });

  test("a signal ends the daemon in good order; Ctrl-C, which reaches the whole group and is passed on as well, is one signal", async () => {
    const ends = [
      ["SIGINT", "child"],
      ["SIGTERM", "child"],
      ["SIGHUP", "child"],
      ["SIGINT", "group"],
    ] as const;
    await Promise.all(
      ends.map(async ([signal, to]) => {
        const own = await makeHome();
        try {
          const daemon = own.start("node", [bin, "serve"]);
          await daemon.says(" · socket ");
          const pid = daemon.child.pid ?? 0;
          process.kill(to === "group" ? -pid : pid, signal);
          expect([signal, to, await daemon.ended]).toEqual([signal, to, 0]);
          expect(daemon.said()).toContain("stopped");
        } finally {
          await own.leave();
        }
      }),
    );
  }, 60_000);

  test("a command that a signal ends is seen to end by it", async () => {
    const daemon = home.start("node", [bin, "serve"]);
    await daemon.says(" · socket ");
    process.kill(JSON.parse((await zapd("status", "--json")).stdout).data.pid, "SIGKILL");
    expect(await daemon.ended).toBe("SIGKILL");
  });
});

test.skipIf(!existsSync("/dev/full"))(
  "what cannot be written for want of room is a failure, told in words",
  async () => {
    for (const words of ["help", "version", "completion bash"])
      expect([
        words,
        await home.run("sh", ["-c", `"$@" >/dev/full`, "sh", program, ...first, ...words.split(" ")]),
      ]).toEqual([words, { status: 1, stdout: "", stderr: "zapd: the output could not be written (ENOSPC).\n" }]);
    // A failure is one whoever reads of it, as far as they read.
    const status = '(exec 4>&1; { "$@" 2>&1; echo $? >&4; } | true)';
    expect(await home.run("sh", ["-c", status, "sh", program, ...first, "nonsense", "--json"])).toMatchObject({
      stdout: "2\n",
    });
    expect(await home.run("sh", ["-c", `"$@" 2>/dev/full`, "sh", program, ...first, "devices"])).toMatchObject({
      stdout: "",
    });
  },
);

test.skipIf(inOwnNetwork === null)("a demo whose port is taken says how it gets another", async () => {
  const taken = `Bun.listen({ hostname: "127.0.0.1", port: 7272, socket: { data() {} } });
const { exitCode, stderr } = Bun.spawnSync([...process.argv.slice(1), "demo"]);
process.stderr.write(stderr);
process.exit(exitCode);`;
  const [unshare = "", ...words] = inOwnNetwork ?? [];
  const demo = await home.run(unshare, [...words, process.execPath, "-e", taken, ...programWords()]);
  expect([demo.status, demo.stderr]).toEqual([
    1,
    "error: Port 7272 on 127.0.0.1 cannot be used: another program uses it. Choose a free one, such as zapd demo --port 7273, or end the program that uses this one\n",
  ]);
});

test.skipIf(inOwnNetwork === null)(
  "a second demo, which would spoil the first, is not sent to another port",
  async () => {
    const twice = `"$@" demo >said & until grep -q Ctrl-C said; do sleep 0.05; done; "$@" demo; kill $!; wait`;
    const [unshare = "", ...words] = inOwnNetwork ?? [];
    const { stderr } = await home.run(unshare, [...words, "sh", "-c", twice, "sh", ...programWords()], home.folder);
    expect(stderr).toContain("Use the demo that runs already, or end the program that uses this one\n");
  },
);

test("a demo that lacks a folder for its files, or files that it may open, says what gives it them", async () => {
  const demo = async (prepare: string) => {
    const { status, stderr } = await home.run("sh", ["-c", `${prepare}; exec "$@" demo`, "sh", ...programWords()]);
    return `${status} ${stderr}`;
  };
  const started = "1 zapd: the demo could not start \\(";
  expect(await demo("export TMPDIR=/nowhere")).toMatch(new RegExp(`^${started}ENOENT.*\\)\\.\n +.* \\$TMPDIR chooses`));
  expect(await demo("ulimit -n 32")).toMatch(new RegExp(`^${started}.*EMFILE.*\\)\\.\n +.* \\(ulimit -n\\)`));
});

test.skipIf(inOwnNetwork === null)("the sets of the demo request the media that they are told to play", async () => {
  const script = `
const served = [];
const all = Promise.withResolvers();
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch(request, server) {
    if (served.push(server.requestIP(request).address) === 4) all.resolve();
    return new Response("a film");
  },
});
const [program, ...words] = process.argv.slice(1);
const demo = Bun.spawn([program, ...words, "demo", "--no-page"], { stdout: "pipe", stderr: "inherit" });
const printed = new TextDecoder();
let text = "";
// A demo whose reader has gone ends, so the reader is kept.
const reader = demo.stdout.getReader();
while (!text.includes("Ctrl-C ends")) text += printed.decode((await reader.read()).value, { stream: true });
// The page is off.
console.log(text.match(/^(Page|API) /gm).join(""));
const api = "http://127.0.0.1:7272/v1/devices/";
const post = (path, body) => fetch(api + path, { method: "POST", body: JSON.stringify(body) });
await post("Cinema/pair", { user: "kodi", password: "popcorn" });
await post("Kitchen/pair", {});
const url = server.url.href + "film.mp4";
for (const name of ["Cinema", "Kitchen", "Attic", "Terrace"])
  console.log(name, (await post(name + "/media", { url, mime: "video/mp4" })).status);
await Promise.race([all.promise, Bun.sleep(10_000)]);
console.log(served.sort().join(" "));
demo.kill("SIGINT");
await demo.exited;
process.exit();`;
  const [unshare = "", ...words] = inOwnNetwork ?? [];
  const { stdout, stderr } = await home.run(unshare, [...words, process.execPath, "-e", script, ...programWords()]);
  expect([stderr, stdout.split("\n")]).toEqual([
    "",
    [
      "API ",
      ...["Cinema", "Kitchen", "Attic", "Terrace"].map((name) => `${name} 200`),
      "127.0.0.5 127.0.0.6 127.0.0.8 127.0.0.9",
      "",
    ],
  ]);
});

describe("a command finds the daemon that runs", () => {
  /** A daemon with a config and a state of its own, which nothing in the environment names. */
  async function serveElsewhere(name: string): Promise<Running & { socket: string }> {
    const folder = join(home.folder, name);
    mkdirSync(folder, { mode: 0o700 });
    const socket = join(folder, "zapd.sock");
    const config = join(folder, "config.toml");
    const text = `[daemon]\nhttp_enabled = false\nsocket = "${socket}"\n[discovery]\non_start = false\n`;
    writeFileSync(config, text, { mode: 0o600 });
    const daemon = home.start("env", [
      `ZAPD_STATE_DIR=${folder}/state`,
      program,
      ...first,
      "serve",
      "--config",
      config,
    ]);
    await daemon.says(" · socket ");
    return { ...daemon, socket };
  }
  const notes = () => readdirSync(join(home.folder, "run", "zapd"));
  const socketOf = async (...words: string[]) =>
    JSON.parse((await zapd("status", "--json", ...words)).stdout).data?.socket;

  test("the only one, wherever it is; and none when it has ended", async () => {
    const one = await serveElsewhere("one");
    expect(await socketOf()).toBe(one.socket);
    expect((await zapd("config", "path")).stdout).toBe(`${join(home.folder, "one", "config.toml")}\n`);
    expect([modeOf(join(home.folder, "run", "zapd")), notes().length]).toEqual(["700", 1]);
    one.child.kill("SIGTERM");
    await one.ended;
    expect(notes()).toEqual([]);
    expect((await zapd("devices")).status).toBe(7);
  }, 60_000);

  test("the user's own goes first, and who says which is heard", async () => {
    const one = await serveElsewhere("one");
    const own = home.start(program, [...first, "serve"]);
    await own.says(" · socket ");
    expect(await socketOf()).toBe(join(home.folder, ".local/state/zapd/zapd.sock"));
    expect(await socketOf("--socket", one.socket)).toBe(one.socket);
    // A command that has begun with it waits while it restarts, and does not go on with the other one.
    const watching = home.start(program, [...first, "watch", "--json"]);
    await watching.says("snapshot");
    own.child.kill("SIGTERM");
    await watching.says("the daemon does not answer");
    await own.ended;
    await home.start(program, [...first, "serve"]).says(" · socket ");
    await watching.says("the daemon answers again");
  }, 60_000);

  test("of several, none is guessed: they are listed, with how to choose", async () => {
    const [one, two] = [await serveElsewhere("one"), await serveElsewhere("two")];
    const { status, stderr } = await zapd("devices");
    expect(status).toBe(7);
    for (const part of ["one/zapd.sock (serve, pid ", "two/zapd.sock (serve, pid ", "--socket", "ZAPD_SOCKET"])
      expect(stderr).toContain(part);
    const found = /^warn +(no daemon runs at the usual place, but 2 run .*)$/m.exec((await zapd("doctor")).stdout)?.[1];
    for (const part of ["~/one/zapd.sock", "~/two/zapd.sock", "export ZAPD_SOCKET="]) expect(found).toContain(part);
    // The line that it gives is one that can be typed.
    const [, line = ""] = /(export ZAPD_SOCKET=.*)$/m.exec(stderr) ?? [];
    const chosen = await home.run("sh", ["-c", `${line}; "$@" status --json`, "sh", program, ...first]);
    expect([one.socket, two.socket]).toContain(JSON.parse(chosen.stdout).data.socket);
  }, 60_000);

  test("what a killed daemon left is passed over, and taken away by the next", async () => {
    const one = await serveElsewhere("one");
    process.kill(JSON.parse((await zapd("status", "--json")).stdout).data.pid, "SIGKILL");
    await one.ended;
    expect(notes().length).toBe(1);
    expect((await zapd("devices")).status).toBe(7);
    const two = await serveElsewhere("two");
    expect([notes().length, await socketOf()]).toEqual([1, two.socket]);
  }, 60_000);

  test("nothing is believed of a folder that others can write to", async () => {
    const one = await serveElsewhere("one");
    chmodSync(join(home.folder, "run", "zapd"), 0o777);
    expect((await zapd("devices")).status).toBe(7);
    chmodSync(join(home.folder, "run", "zapd"), 0o700);
    expect(await socketOf()).toBe(one.socket);
    // Nor of a link to a folder, a note that is none, and a socket that leads nowhere.
    const planted = join(home.folder, "run", "zapd", "1.json");
    for (const text of ["", "{", "[]", '{"pid":1,"socket":"relative"}', `{"pid":1,"socket":"${home.folder}/no"}`]) {
      writeFileSync(planted, text, { mode: 0o600 });
      expect(await socketOf()).toBe(one.socket);
    }
    rmSync(planted);
    symlinkSync("/etc/passwd", planted);
    expect(await socketOf()).toBe(one.socket);
  }, 60_000);
});

test.skipIf(process.platform === "win32")(
  "a demo that commands do not find by themselves says how they do",
  async () => {
    for (const folder of ["run/zapd", `zapd-run-${process.getuid?.()}`]) {
      mkdirSync(join(home.folder, folder));
      chmodSync(join(home.folder, folder), 0o777);
    }
    const demo = home.start(program, [...first, "demo", "--port", `${home.port}`]);
    await demo.says(/export ZAPD_SOCKET=.*zapd\.sock\n/);
  },
);

test.skipIf(process.platform === "win32")("a demo with too few files for all its sets ends by itself", async () => {
  for (const files of [44, 45, 47]) {
    const limited = `ulimit -n ${files}; exec timeout -k 1 30 "$@"`;
    const demo = await home.run("sh", ["-c", limited, "sh", program, ...first, "demo", "--port", `${home.port}`]);
    expect([files, demo.status]).toEqual([files, 1]);
  }
});
