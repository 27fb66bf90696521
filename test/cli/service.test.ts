import { beforeEach, describe, expect, test } from "bun:test";
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { createContext } from "../../src/cli/context.ts";
import { CommandError } from "../../src/cli/failure.ts";
import { isInNpmCache, type PlatformHost, serve } from "../../src/cli/service.ts";
import { rotating, serviceLog } from "../../src/cli/service-log.ts";
import { plistText, programOf, type Ran, systemd, unitText, unitWord } from "../../src/cli/service-managers.ts";
import { sleep } from "../../src/system/sleep.ts";
import { zapdWords } from "../support/daemon.ts";
import { folderForEach, testFolder } from "../support/folder.ts";
import { runZapd } from "./program.ts";

test("the log of the agent is rotated at 10 MiB, five files in all; another file is not", () => {
  const home = testFolder();
  const log = serviceLog(home);
  mkdirSync(dirname(log), { recursive: true });
  const sizesAfter = (path: string) => {
    const fd = openSync(path, "a");
    const write = rotating(
      (line) => void writeSync(fd, line),
      () => home,
      fd,
    );
    const line = `${"x".repeat(1024 * 1024 - 1)}\n`;
    for (let lines = 0; lines < 60; lines++) write(line);
    closeSync(fd);
    return readdirSync(dirname(log))
      .toSorted()
      .map((name) => statSync(join(dirname(log), name)).size / line.length);
  };
  sizesAfter(join(home, "other"));
  expect(statSync(join(home, "other")).size).toBe(60 * 1024 * 1024);
  expect(sizesAfter(log)).toEqual([10, 10, 10, 10, 10]);
});

describe("the command", () => {
  const homes = folderForEach();
  let home: string;
  /** What was run, and what each answers; a program that does not exist ends with null. */
  let ran: string[];
  let answers: (line: string) => Partial<Ran> | undefined;
  let daemon: boolean;
  let told: string;
  let program: string;

  beforeEach(() => {
    home = homes();
    ran = [];
    answers = () => ({});
    daemon = true;
    told = "";
    program = "/usr/bin/zapd";
  });

  const platformHost = (platform: string): PlatformHost => ({
    platform,
    owner: { home, uid: 501, env: {} },
    program: { words: [program, "serve"], env: {} },
    async run(program, words) {
      const line = [program, ...words].join(" ");
      ran.push(line);
      return { status: 0, out: "", err: "", ...answers(line) };
    },
    answers: async () => daemon,
    socket: join(home, "zapd.sock"),
    answerTimeoutMs: 0,
  });

  async function service(platform: string, ...words: string[]): Promise<number> {
    told = "";
    ran = [];
    const take = (line: string) => {
      told += `${line}\n`;
    };
    const context = await createContext(words, { print: { type: "boolean" } });
    return serve(Object.assign(context, { print: take, say: take }), platformHost(platform));
  }

  const unit = () => join(home, ".config/systemd/user/zapd.service");
  const active = (line: string) => (line.includes("is-active") ? { out: "active\n" } : undefined);

  test("installs a unit, starts it, and reminds of lingering; once more changes nothing, another program renews it", async () => {
    // Not running before; as soon as it is started, it answers.
    daemon = false;
    answers = (line) => {
      if (line.includes("--now")) daemon = true;
      return undefined;
    };
    expect(await service("linux", "install")).toBe(0);
    const text = readFileSync(unit(), "utf8");
    expect(text).toContain('ExecStart="/usr/bin/zapd" "serve"');
    expect(ran.filter((line) => /-reload|enable |start/.test(line))).toEqual([
      "systemctl --user daemon-reload",
      `systemctl --user enable --now ${unit()}`,
    ]);
    expect(told).toContain("zapd.service is installed and running");
    expect(told).toContain("loginctl enable-linger");
    expect(told).not.toContain("npm's cache");

    answers = (line) => active(line) ?? (line.startsWith("loginctl show-user 501 ") ? { out: "yes\n" } : undefined);
    const before = statSync(unit()).mtimeMs;
    expect(await service("linux", "install")).toBe(0);
    expect([statSync(unit()).mtimeMs, told.includes("was installed already"), told.includes("linger")]).toEqual([
      before,
      true,
      false,
    ]);
    writeFileSync(unit(), text.replace("/usr/bin", "/old"));
    await service("linux", "install");
    expect(ran).toContain("systemctl --user restart zapd.service");
    expect(readFileSync(unit(), "utf8")).toBe(text);
  });

  test("a program that was replaced since the daemon started runs after the service is installed again", async () => {
    program = join(home, "zapd");
    answers = (line) => active(line) ?? (line.includes("FragmentPath") ? { out: unit() } : undefined);
    writeFileSync(program, "old");
    await sleep(20);
    writeFileSync(join(home, "zapd.sock"), "");
    const restarted = async () => {
      await service("linux", "install");
      return ran.includes("systemctl --user restart zapd.service");
    };
    await restarted();
    expect(await restarted()).toBe(false);
    await sleep(20);
    writeFileSync(`${program}.new`, "new");
    // As installers do, which keep the time that the file has in the archive.
    utimesSync(`${program}.new`, 0, 0);
    renameSync(`${program}.new`, program);
    await service("linux", "status");
    expect(told).toContain("It runs another zapd");
    expect(await restarted()).toBe(true);
    expect(told).toContain("was restarted with its new program and running");
  });

  test("a clone that was upgraded is a new program, though its first file is the old one", async () => {
    const module = join(home, "src/devices/device.ts");
    mkdirSync(dirname(module), { recursive: true });
    program = join(home, "src/main.ts");
    for (const path of [program, module]) writeFileSync(path, "old");
    answers = (line) => active(line) ?? (line.includes("FragmentPath") ? { out: unit() } : undefined);
    await sleep(20);
    writeFileSync(join(home, "zapd.sock"), "");
    await service("linux", "install");
    await service("linux", "status");
    expect(told).not.toContain("It runs another zapd");
    await sleep(20);
    writeFileSync(module, "new");
    await service("linux", "status");
    expect(told).toContain("It runs another zapd");
    await service("linux", "install");
    expect(ran).toContain("systemctl --user restart zapd.service");
  });

  test("refuses while a daemon runs by hand, and over a unit that somebody else wrote; nothing is changed", async () => {
    await expect(service("linux", "install")).rejects.toThrow("started by hand is running already");
    daemon = false;
    mkdirSync(dirname(unit()), { recursive: true });
    writeFileSync(unit(), "[Service]\nExecStart=/mine\n");
    for (const word of ["install", "uninstall"])
      await expect(service("linux", word)).rejects.toThrow("zapd did not write it");
    expect(readFileSync(unit(), "utf8")).toBe("[Service]\nExecStart=/mine\n");
    expect(ran.some((line) => /enable|disable/.test(line))).toBe(false);
    answers = (line) => (line.includes("FragmentPath") ? { out: unit() } : undefined);
    await service("linux", "status");
    expect([told.includes("zapd did not write it"), told.includes("zapd service install")]).toEqual([true, false]);
  });

  test("without systemd, or without a session of it, says so before anything is written", async () => {
    answers = () => ({ status: null });
    await expect(service("linux", "install")).rejects.toThrow("this system has no systemctl");
    answers = () => ({ status: 1, err: "Failed to connect to bus: No medium found\nmore\n" });
    await expect(service("linux", "install")).rejects.toThrow("(Failed to connect to bus: No medium found)");
    expect(() => statSync(unit())).toThrow();
  });

  test("a daemon that does not come up is a failure that names its log", async () => {
    daemon = false;
    expect(await service("linux", "install")).toBe(1);
    expect(told).toContain("does not answer yet: its log says why");
    expect(told).toContain("journalctl --user -u zapd -f");
    answers = (line) => (line.includes("enable --now") ? { status: 1, err: "Job for zapd.service failed" } : {});
    const hint = expect.stringContaining("journalctl --user -u zapd -f");
    await expect(service("linux", "install")).rejects.toMatchObject({ message: expect.stringMatching(/: Job /), hint });
  });

  test("uninstalls, leaves config and state alone, and twice is fine", async () => {
    daemon = false;
    await service("linux", "install");
    expect(await service("linux", "uninstall")).toBe(0);
    expect(ran.filter((line) => /disable|reload/.test(line))).toEqual([
      "systemctl --user disable --now zapd.service",
      "systemctl --user daemon-reload",
    ]);
    expect(told).toMatch(/stopped and removed\nThe config \(.*config\.toml\) and the state \(.*\) were kept/);
    expect(() => statSync(unit())).toThrow();
    expect(await service("linux", "uninstall")).toBe(0);
    expect(told).toContain("no service is installed");
    expect(ran).toEqual([]);
  });

  test("status tells by its exit whether it runs; --json is one document", async () => {
    answers = (line) =>
      active(line) ??
      (line.includes("FragmentPath") ? { out: unit() } : line.includes("is-enabled") ? { out: "enabled" } : {});
    expect(await service("linux", "status", "--json")).toBe(0);
    expect(JSON.parse(told)).toEqual({
      name: "zapd.service",
      file: unit(),
      installed: true,
      enabled: true,
      running: true,
    });
    const isEnabled = answers;
    await service("linux", "install");
    await service("linux", "status");
    expect(told).toStartWith("zapd.service is running, and started at each login\nfile ");
    expect(told).not.toContain("It runs another zapd");
    writeFileSync(unit(), readFileSync(unit(), "utf8").replace("/usr/bin", "/old"));
    answers = (line) => (line.includes("is-enabled") ? { out: "disabled" } : isEnabled(line));
    await service("linux", "status");
    expect(told).toContain("zapd.service is running, and not started at login\n");
    expect(told).toContain("It runs another zapd");
    // What systemd restarts again and again does not run: a daemon that answers was started by hand.
    answers = (line) => (line.includes("is-active") ? { out: "activating\n", status: 3 } : isEnabled(line));
    expect(await service("linux", "status")).toBe(7);
    expect(told).toContain("zapd.service is not running, and started at each login\n");
    await expect(service("linux", "install")).rejects.toThrow("started by hand is running already");
    answers = () => ({});
    expect(await service("linux", "status")).toBe(7);
    expect(told).toContain("no service is installed");
  });

  test("on a Mac bootstraps an agent, and takes it out before it puts a changed one in", async () => {
    let loaded = false;
    daemon = false;
    answers = (line) => {
      if (line.includes("bootstrap")) daemon = loaded = true;
      if (line.includes("bootout")) loaded = false;
      return line === "launchctl print gui/501/local.zapd" && !loaded ? { status: 113 } : { out: "\tpid = 9\n" };
    };
    const file = join(home, "Library/LaunchAgents/local.zapd.plist");
    const deeds = () => ran.filter((line) => !line.includes(" print "));
    expect(await service("darwin", "install")).toBe(0);
    expect(deeds()).toEqual(["launchctl enable gui/501/local.zapd", `launchctl bootstrap gui/501 ${file}`]);
    expect(told).toContain("Local Network");
    const isRunning = async () => {
      const status = await service("darwin", "status", "--json");
      const { installed, enabled, running } = JSON.parse(told);
      return [status, installed, enabled, running];
    };
    expect(await isRunning()).toEqual([0, true, true, true]);
    await service("darwin", "install");
    expect(deeds()).toEqual(["launchctl kickstart gui/501/local.zapd"]);
    writeFileSync(file, readFileSync(file, "utf8").replace("/usr/bin", "/old"));
    await service("darwin", "install");
    expect(deeds()[0]).toBe("launchctl bootout gui/501/local.zapd");
    // Its daemon is still ending when this returns.
    const inProgress = { status: 36, err: "Boot-out failed: 36: Operation now in progress\n" };
    const usual = answers;
    answers = (line) => (line.includes("bootout") && usual(line) ? inProgress : usual(line));
    expect(await service("darwin", "uninstall")).toBe(0);
    expect(deeds()).toEqual(["launchctl bootout gui/501/local.zapd"]);
    expect(() => statSync(file)).toThrow();
    expect(await isRunning()).toEqual([7, false, false, false]);
    daemon = false;
    await service("darwin", "install");
    loaded = false;
    await service("darwin", "uninstall");
    expect(deeds()).toEqual([]);
    answers = () => ({ status: 113 });
    await expect(service("darwin", "install")).rejects.toThrow("launchd has no session of your user");
  });

  test("on Windows says that there is none, and how the Task Scheduler does it", async () => {
    const failure = await service("win32", "install").catch((error: unknown) => error);
    expect(failure).toMatchObject({ exit: 6, hint: expect.stringContaining("schtasks /create /tn zapd /sc onlogon") });
  });

  test("without a word, or with a wrong one, is a wrong use", async () => {
    await expect(service("linux")).rejects.toThrow("install, uninstall or status?");
    await expect(service("linux", "toString")).rejects.toThrow(`"toString" is not a word of this command`);
  });

  test.skipIf(process.platform !== "linux")(
    "asks the daemon of the service, whichever $ZAPD_SOCKET names",
    async () => {
      const config = join(home, "config.toml");
      writeFileSync(config, "[daemon]\nhttp_enabled = false\n[discovery]\non_start = false\n", { mode: 0o600 });
      const serves = `"${zapdWords().join('" "')}" serve > "${home}/log" 2>&1 & echo $! > "${home}/pid"`;
      writeFileSync(join(home, "systemctl"), `#!/bin/sh\ncase "$*" in *enable*) ${serves};; esac\n`, { mode: 0o700 });
      const env = { PATH: `${home}:${process.env["PATH"]}`, HOME: home, ZAPD_STATE_DIR: home, ZAPD_CONFIG: config };
      const other = { ...env, ZAPD_SOCKET: join(home, "other.sock") };
      try {
        const { status, stderr } = await runZapd(["service", "install"], { env: other });
        expect([status, stderr]).toEqual([0, expect.stringContaining("is installed and running")]);
      } finally {
        process.kill(Number(readFileSync(join(home, "pid"), "utf8")));
      }
    },
  );

  test("--print shows what runs now and installs nothing", async () => {
    const [program, ...script] = zapdWords();
    const words = [program, ...(script.length > 0 ? ["--config=/dev/null", "--no-env-file", ...script] : [])];
    const own = { XDG_CONFIG_HOME: "", XDG_STATE_HOME: "", ZAPD_CONFIG: "", ZAPD_STATE_DIR: "" };
    const env = { ...process.env, HOME: home, ...own };
    const { stdout, status } = await runZapd(["service", "install", "--print"], { env });
    const expected =
      process.platform === "darwin"
        ? `<string>${words.at(-1)}</string>`
        : `ExecStart=${[...words, "serve"].map((word) => `"${word}"`).join(" ")}\n`;
    expect([status, stdout]).toEqual([0, expect.stringContaining(expected)]);
    const document = await runZapd(["service", "install", "--print", "--json"], { env });
    expect(`${JSON.parse(document.stdout).text.trimEnd()}\n`).toBe(stdout);
    expect(() => statSync(unit())).toThrow();
  });
});

const awkward = `/opt/my "tv"/100%/a\\b & <c>'s/zapd`;

describe("the text", () => {
  test("of a unit", () => {
    const env = { ZAPD_CONFIG: "/home/ann/my config.toml", ZAPD_STATE_DIR: "/srv/50%" };
    expect(unitText({ words: [awkward, "serve"], env })).toBe(
      String.raw`# Written by ${"`"}zapd service install${"`"}; ${"`"}zapd service uninstall${"`"} removes it.
[Unit]
Description=zapd, one daemon for every TV and media player in the house

[Service]
Type=exec
ExecStart="/opt/my \"tv\"/100%%/a\\b & <c>'s/zapd" "serve"
Environment="ZAPD_CONFIG=/home/ann/my config.toml"
Environment="ZAPD_STATE_DIR=/srv/50%%"
Restart=on-failure
RestartSec=2
RestartSteps=4
RestartMaxDelaySec=30
RestartPreventExitStatus=78
NoNewPrivileges=yes
LockPersonality=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
UMask=0077

[Install]
WantedBy=default.target
`,
    );
    expect(unitText({ words: ["/srv/$HOME/zapd", "serve"], env: {} })).toContain(
      '\nExecStart=:"/srv/$HOME/zapd" "serve"\n',
    );
    expect(unitWord("")).toBe('""');
  });

  test("of a unit whose program systemd does not start by itself, for a quote in its path", () => {
    const program = { words: ["/home/o'brien/zapd", "serve"], env: {} };
    const ran = { status: 0, out: "", err: "" };
    const { text } = systemd(program, { home: "/", uid: 1, env: {} }, async () => ran);
    expect(text).toContain(
      String.raw`ExecStart=:"/bin/sh" "-c" "exec \"$0\" \"$@\"" "/home/o'brien/zapd" "serve"${"\n"}`,
    );
  });

  test("of an agent", () => {
    const program = { words: [awkward, "serve"], env: { ZAPD_CONFIG: "/a b.toml" } };
    expect(plistText({ ...program, env: {} }, "/log")).not.toContain("EnvironmentVariables");
    expect(plistText(program, serviceLog("/Users/ann"))).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by zapd service install; zapd service uninstall removes it. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>local.zapd</string>
	<key>ProgramArguments</key>
	<array>
		<string>/opt/my &quot;tv&quot;/100%/a\\b &amp; &lt;c&gt;&apos;s/zapd</string>
		<string>serve</string>
	</array>
	<key>EnvironmentVariables</key>
	<dict>
		<key>ZAPD_CONFIG</key>
		<string>/a b.toml</string>
	</dict>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ThrottleInterval</key>
	<integer>30</integer>
	<key>Umask</key>
	<integer>63</integer>
	<key>StandardOutPath</key>
	<string>/Users/ann/Library/Logs/zapd/zapd.log</string>
	<key>StandardErrorPath</key>
	<string>/Users/ann/Library/Logs/zapd/zapd.log</string>
</dict>
</plist>
`);
  });
});

describe("what runs now", () => {
  const at = (execPath: string, script: string, deno = false) => ({ execPath, script, deno });

  test("is the binary by itself, or a runtime and its script, with what a shell has set", () => {
    expect(programOf(at("/usr/bin/zapd", "/$bunfs/root/zapd"), {}).words).toEqual(["/usr/bin/zapd", "serve"]);
    expect(programOf(at("C:\\zapd.exe", "B:\\~BUN\\root\\zapd.exe"), {}).words).toEqual(["C:\\zapd.exe", "serve"]);
    const env = { ZAPD_CONFIG: "own.toml", XDG_STATE_HOME: "/s", XDG_CONFIG_HOME: "relative", PATH: "/bin" };
    expect(programOf(at("/bin/bun", "/src/main.ts"), env, "given.toml")).toEqual({
      words: [
        "/bin/bun",
        "--config=/dev/null",
        "--no-env-file",
        "/src/main.ts",
        "serve",
        "--config",
        join(process.cwd(), "given.toml"),
      ],
      env: { ZAPD_CONFIG: join(process.cwd(), "own.toml"), XDG_STATE_HOME: "/s" },
    });
  });

  test("is refused where no service can say it, and known to pass where npm keeps it for a while", () => {
    expect(() => programOf(at("/bin/deno", "/src/main.ts", true), {})).toThrow(CommandError);
    expect(() => programOf(at("/bin/zapd", "/$bunfs/root/zapd"), { ZAPD_CONFIG: "/a\nb" })).toThrow(
      "control character",
    );
    expect(isInNpmCache(programOf(at("/bin/bun", "/home/ann/.npm/_npx/1/main.ts"), {}))).toBe(true);
  });
});
