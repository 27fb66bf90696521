import { beforeAll, describe, expect, spyOn, test } from "bun:test";
import { chmodSync, mkdirSync, renameSync, rmdirSync, symlinkSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { findingLine, summary } from "../../src/cli/doctor.ts";
import { configOf } from "../../src/config/schema.ts";
import { brokerAnswers } from "../../src/doctor/broker.ts";
import { daemonRuns, inodeOf, portBound } from "../../src/doctor/daemon.ts";
import { developerPassword, devicesReachable } from "../../src/doctor/devices.ts";
import { type DaemonFound, examine, type Finding, ok, runChecks } from "../../src/doctor/examination.ts";
import {
  clockSane,
  container,
  firewall,
  hostsKnown,
  interfacesAsked,
  multicastReceived,
  whyWithoutDevices,
} from "../../src/doctor/network.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { createZapd } from "../../src/zapd.ts";
import { daemonForFile } from "../blackbox/daemon-for-file.ts";
import { freePort, startTestDaemon } from "../support/daemon.ts";
import { testFolder } from "../support/folder.ts";
import { fullSocket } from "../support/full-socket.ts";
import { device, examined, status } from "./examined.ts";
import { runZapd } from "./program.ts";

const { daemon, startSimulator } = await daemonForFile({ speed: 1 });
const plain = { colour: false, width: Number.POSITIVE_INFINITY };
const lines = async (findings: Promise<readonly Finding[]>) => (await findings).map((one) => findingLine(one, plain));

const loopback = {
  name: "lo",
  address: "127.0.0.1",
  netmask: "255.0.0.0",
  broadcast: "127.255.255.255",
  loopback: true,
};

describe("the network", () => {
  test("several interfaces of which one answered are told apart", async () => {
    const found = await lines(interfacesAsked(examined({ interfaces: ["wlan0", "!tailscale0"] })));
    expect(found).toEqual([
      "warn  two interfaces, wlan0 and tailscale0: discovery asks both, only wlan0 answered. tailscale0 is a VPN (Tailscale), without devices behind it. To leave it out: zapd config set discovery.interfaces wlan0",
    ]);
    expect(await lines(multicastReceived(examined({ interfaces: ["wlan0", "!tailscale0"], answered: 3 })))).toEqual([
      "ok    multicast received on wlan0, 3 devices answered a search",
    ]);
  });

  test("one interface is fine, a wished one that is gone is not, and none says what always works", async () => {
    expect(await lines(interfacesAsked(examined()))).toEqual(["ok    one interface, wlan0: discovery asks it"]);
    expect(await lines(interfacesAsked(examined({ wished: ["eth9"] })))).toContain(
      "FAIL  discovery.interfaces names eth9, which has no IPv4 address now. Connect it, or correct it in the config",
    );
    expect((await lines(interfacesAsked(examined({ interfaces: [] }))))[0]).toMatch(
      /^FAIL {2}no interface.*IPv4.*zapd add/,
    );
  });

  test("hosts of the config that nobody knows, or that are none, are told of", async () => {
    expect(await lines(hostsKnown(examined({ hosts: ["127.0.0.5:8060", "tv.invalid", "tv.lan:99999"] })))).toEqual([
      'warn  discovery.hosts: "tv.invalid" cannot be a device\'s host: no such host is known. Correct it in the config, or turn the device on',
      expect.stringMatching(/^warn {2}discovery\.hosts: "tv\.lan:99999" .*neither an address nor a host name/),
    ]);
  });

  test("names that lead nowhere a set stands are known, and those of real cards are not among them", () => {
    const odd = "tailscale0 wg0 tun0 utun4 ppp0 zt3jn docker0 br-0123456789ab veth1a2 virbr0".split(" ");
    expect(odd.filter((name) => whyWithoutDevices(name) === null)).toEqual([]);
    const real = "eth0 wlan0 wlp3s0 enp0s31f6 en0 br0 bond0 lo Ethernet bridge0".split(" ");
    expect(real.filter((name) => whyWithoutDevices(name) !== null)).toEqual([]);
  });

  test("multicast that does not come through is a problem alone, a remark beside one that does; the hint is the system's", async () => {
    const deaf = async (platform: string, trouble?: string) =>
      (await multicastReceived(examined({ platform, interfaces: ["!en0"], ...(trouble && { trouble }) })))[0];
    expect(await deaf("darwin", "EHOSTUNREACH")).toMatchObject({
      id: "multicast:en0",
      status: "fail",
      text: "no multicast arrives on en0 (EHOSTUNREACH)",
      hint: expect.stringContaining("Privacy & Security > Local Network"),
    });
    expect((await deaf("win32"))?.hint).toContain("Windows Security");
    expect((await deaf("linux", "EPERM"))?.hint).toContain("firewall on this machine blocks");
    const both = await multicastReceived(examined({ interfaces: ["eth0", "!wlan0"] }));
    expect(both.map((one) => one.status)).toEqual(["ok", "warn"]);
  });

  test("a firewall is a remark only while nothing answers, with the rule that opens it", async () => {
    const ufw = { files: { "/etc/ufw/ufw.conf": "# x\nENABLED=yes\n" } };
    expect(await lines(firewall(examined(ufw)))).toEqual([
      "warn  ufw is active, and no device has answered a search. If devices are not found, allow their answers: sudo ufw allow proto udp from any port 1900,5353",
    ]);
    expect(await lines(firewall(examined({ ...ufw, answered: 1 })))).toEqual([
      "ok    ufw is active, and lets answers of devices through",
    ]);
    const firewalld = {
      programs: { "systemctl is-active firewalld": "active", "systemctl is-active nftables": "inactive" },
    };
    expect((await lines(firewall(examined(firewalld))))[0]).toContain("firewall-cmd");
    expect(await firewall(examined({ files: { "/etc/ufw/ufw.conf": "ENABLED=no" } }))).toEqual([]);
    expect(await firewall(examined({ ...ufw, platform: "darwin" }))).toEqual([]);
  });

  test("a container with a network of its own is told from one with its host's", async () => {
    const at = "/sys/class/net/eth0";
    const own = { "/.dockerenv": "", [`${at}/ifindex`]: "2\n", [`${at}/iflink`]: "11\n" };
    expect(await container(examined({ interfaces: ["eth0"] }))).toEqual([]);
    expect((await lines(container(examined({ interfaces: ["eth0"], files: own }))))[0]).toMatch(
      /^warn {2}runs in a container with a network of its own \(eth0 192\.168\.0\.2\), and no device has answered a search over SSDP\. If devices are not found, .*--network host/,
    );
    const host = { ...own, [`${at}/iflink`]: "2\n" };
    expect((await container(examined({ interfaces: ["eth0"], files: host })))[0]?.status).toBe("ok");
    expect((await container(examined({ interfaces: ["eth0"], files: own, answered: 1 })))[0]?.status).toBe("ok");
  });

  test("a clock in another age is a problem", async () => {
    expect((await clockSane(examined()))[0]).toEqual(ok("clock sane, 2026-07-30"));
    expect((await lines(clockSane(examined({ now: "1970-01-01T00:00:09" }))))[0]).toBe(
      "FAIL  the clock says 1970. Set it: sudo timedatectl set-ntp true",
    );
  });

  test("who listens on a port is found in the kernel's table", () => {
    const table =
      "  sl  local_address rem_address   st\n   0: 0100007F:1C68 00000000:0000 01 0 0 0 0 0 99\n   1: 0100007F:1C68 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 1\n";
    expect([inodeOf(table, 7272), inodeOf(table, 7273)]).toEqual(["12345", null]);
  });
});

describe("devices", () => {
  const unreachable = {
    ok: false,
    code: "device_unreachable",
    message: "Den did not answer at 192.168.1.40:8060",
    hint: "H",
  } as const;
  const seen = { last_seen: new Date(2026, 6, 30, 9, 12).toISOString() };

  test("one that a magic packet wakes is asleep, one that nothing wakes is a problem", async () => {
    const kodi = device("Kodi (den)", { ...seen, mac: "aa:bb:cc:dd:ee:ff", capabilities: ["state", "power_on"] });
    const answers = { "getState id-Kodi-(den)": unreachable, "getState id-Den": unreachable };
    const devices = [kodi, device("Den", seen)];
    expect(await lines(devicesReachable(examined({ devices, answers })))).toEqual([
      "warn  Kodi (den): asleep, wakes by magic packet (last seen 09:12)",
      "FAIL  Den: did not answer at 192.168.1.40:8060 (last seen 09:12). H",
    ]);
    // Where another device answers, none is asleep.
    expect((await devicesReachable(examined({ devices, answers, listens: true }))).map((one) => one.status)).toEqual([
      "fail",
      "fail",
    ]);
  });

  test("one that does not answer as long as a person waits is not taken for a daemon that hangs", async () => {
    let now = 0;
    const clock = spyOn(performance, "now").mockImplementation(() => now);
    const ask = async (_: string, __: object, timeoutMs: number) => {
      now += timeoutMs;
      return { ok: false, code: "daemon_not_running", message: "no answer within 8 s" } as never;
    };
    try {
      expect(await lines(devicesReachable({ ...examined({ devices: [device("Den", seen)] }), ask }))).toEqual([
        "FAIL  Den: did not answer within 8 s (last seen 09:12). It may be asleep or busy",
      ]);
    } finally {
      clock.mockRestore();
    }
  });

  test("one whose keys wait for its pairing says how it is paired, and is not asked for its apps", async () => {
    const hint = "Run zapd pair Den";
    const den = device("Den", { access: "unpaired", withheld: [{ capability: "keys", hint }] });
    const data = { device: den, state: { power: "on" } };
    const refused = {
      ok: false,
      code: "device_refused",
      message: "Den refused to list its apps",
      hint: "asked",
    } as const;
    // It has keys over another protocol, which withholds something else.
    const withheld = [{ capability: "screenshot", hint: "Set a folder for them" }] as const;
    const box = device("Box", { access: "unpaired", capabilities: ["keys"], withheld: [...withheld] });
    const answers = {
      "getState id-Den": { ok: true, data } as const,
      "getState id-Box": { ok: true, data: { ...data, device: box } } as const,
      "refreshApps id-Den": refused,
    };
    expect(await lines(devicesReachable(examined({ devices: [den, box], answers })))).toEqual([
      `FAIL  Den: keys refused (not paired). ${hint}`,
      "FAIL  Box: keys refused (not paired). Run zapd pair Box",
    ]);
  });

  test("none is a remark, and a missing developer password is one", async () => {
    expect((await devicesReachable(examined()))[0]?.status).toBe("warn");
    const devices = [device("Work\u001b[31mbench", { capabilities: ["dev"] }), device("Den")];
    const answers = { readConfig: { ok: true, data: { dev: { vendor_password: "" } } } } as const;
    expect(await lines(developerPassword(examined({ devices, answers })))).toEqual([
      "warn  Work[31mbench has developer mode, and dev.vendor_password is not set. Unless it has its own (zapd install PACKAGE --password -), give the one chosen on the set: zapd config set dev.vendor_password -",
    ]);
  });
});

describe("the table of checks", () => {
  test("a daemon that does not list its devices is not said to know none", async () => {
    const ask = async (name: string) =>
      (name === "status"
        ? { ok: true, data: status }
        : { ok: false, code: "internal_error", message: "busy" }) as never;
    const exam = examine({ ...examined(), ask }, true);
    const checks = { devices: { about: "the devices", timeoutMs: 1_000, run: devicesReachable } };
    expect((await Array.fromAsync(runChecks(checks, exam))).flat()).toMatchObject([
      { status: "warn", text: "the devices could not be checked: busy" },
    ]);
  });

  test("a broken config is judged by the settings that the daemon keeps", async () => {
    const path = join(testFolder(), "broken.toml");
    writeFileSync(path, "[", { mode: 0o600 });
    const kept = configOf({ discovery: { interfaces: ["eth9"] } });
    const ask = async () => ({ ok: true, data: kept }) as never;
    const exam = examine({ ...examined(), configFile: path, ask }, true);
    expect((await exam.config()).broken?.code).toBe("config_invalid");
    expect((await lines(interfacesAsked(exam)))[0]).toContain("discovery.interfaces names eth9");
  });

  test("a broker that is down is said once", async () => {
    const config = configOf({ mqtt: { url: `mqtt://127.0.0.1:${await freePort()}` } });
    const problem = "The broker cannot be reached";
    const mqtt = { url: config.mqtt.url, site: "home", state: "waiting", commands: "control", since: "", hint: null };
    const met = { state: "running", status: { ...status, mqtt: { ...mqtt, problem } } } as const;
    const answers = { health: { ok: true, data: { warnings: [`MQTT: ${problem}`, "another"] } } } as const;
    const found = { config, warnings: [], modeWarnings: [], broken: null };
    const exam = { ...examined({ met: met as DaemonFound, answers }), config: async () => found };
    expect((await lines(daemonRuns(exam))).slice(1)).toEqual(["warn  another"]);
    expect(await lines(brokerAnswers(exam))).toEqual([expect.stringContaining("nothing listens there")]);
  });

  test("a broker that the daemon does not use yet is not said to be all right", async () => {
    const config = configOf({ mqtt: { url: "mqtt://127.0.0.1:1" } });
    const exam = {
      ...examined({ met: { state: "running", status } as DaemonFound }),
      config: async () => ({ config, warnings: [], modeWarnings: [], broken: null }),
    };
    expect(await lines(brokerAnswers(exam))).toEqual([
      "warn  the daemon does not use mqtt://127.0.0.1:1 yet. If it still does not in a few seconds: zapd config reload",
    ]);
  });

  test("a check that hangs or throws is a remark, and holds nobody up", async () => {
    const checks = {
      hung: { about: "the moon", timeoutMs: 50, run: () => new Promise<never>(() => {}) },
      broken: { about: "the sun", timeoutMs: 50, run: () => Promise.reject(new Error("too bright")) },
      fine: { about: "the sea", timeoutMs: 50, run: async () => [ok("wet")] },
    };
    const found = await Array.fromAsync(runChecks(checks, examined()));
    expect(found.flat().map((one) => [one.id, one.status, one.text])).toEqual([
      ["hung", "warn", "the moon could not be checked within 0.05 s"],
      ["broken", "warn", "the sun could not be checked: too bright"],
      ["fine", "ok", "wet"],
    ]);
  });

  test("lines are coloured on a terminal and broken at its width; the summary counts", () => {
    const finding = { id: "x", status: "fail", text: "one two three", hint: "four five" } as const;
    expect(findingLine(finding, { colour: false, width: 20 })).toBe("FAIL  one two three.\n      four five");
    expect(findingLine(finding, { colour: true, width: 99 })).toBe("\x1b[31;1mFAIL\x1b[0m  one two three. four five");
    const asks = { ...finding, text: "Did you mean that?" };
    expect(findingLine(asks, { colour: false, width: 99 })).toBe("FAIL  Did you mean that? four five");
    expect([summary(1, 2), summary(0, 1), summary(2, 0), summary(0, 0)]).toEqual([
      "1 problem, 2 remarks",
      "1 remark",
      "2 problems",
      "all is well",
    ]);
  });
});

describe("as a program", () => {
  const limited = createRokuSimulator({ name: "Bedroom", kind: "stick", access: "limited", ssdp: false });
  const full = createRokuSimulator({ name: "Living Room", ssdp: false });
  const folder = testFolder();
  beforeAll(async () => {
    for (const set of [full, limited]) {
      await startSimulator(set);
      await daemon.api("POST", "/devices", { host: set.host, port: set.port });
    }
  });

  /** Without an interface nobody listens for multicast, which takes a second. */
  const settings = (port: number | string, more = "") =>
    `[daemon]\nhttp_port = ${port}\n${more}[discovery]\ninterfaces = ["nowhere"]\n`;

  /** Its status and its findings. */
  async function doctor(config: string, state: string): Promise<{ exit: number | null; by(id: string): Finding[] }> {
    // Not by a fast clock: a busy machine would need longer than a check may take.
    const env = { ...process.env, ZAPD_STATE_DIR: state, ZAPD_SOCKET: "", ZAPD_CONFIG: "" };
    const { stdout, status: exit } = await runZapd(["doctor", "--json", "--config", config], { env });
    const { checks, problems, remarks } = JSON.parse(stdout) as {
      checks: Finding[];
      problems: number;
      remarks: number;
    };
    const count = (status: string) => checks.filter((one) => one.status === status).length;
    expect(checks.filter(({ hint }) => hint === undefined)).toEqual([]);
    expect([problems, remarks]).toEqual([count("fail"), count("warn")]);
    expect(exit).toBe(problems > 0 ? 1 : 0);
    return { exit, by: (id) => checks.filter((one) => one.id?.startsWith(id) === true) };
  }

  test("a state folder on which no daemon starts says what opens it", async () => {
    const place = (name: string) => join(folder, name);
    const [config, open, file] = [place("state.toml"), place("open"), place("file")];
    writeFileSync(config, settings(await freePort()), { mode: 0o600 });
    mkdirSync(open);
    chmodSync(open, 0o777);
    writeFileSync(file, "");
    const [everyone, below, none] = await Promise.all([
      doctor(config, open),
      doctor(config, join(open, "state")),
      doctor(config, file),
    ]);
    // What a start refuses, the doctor refuses in the same words, also for a folder above.
    const refused = {
      text: `${open} can be written by everyone (mode 0777): no daemon starts with it`,
      hint: `Change its mode: chmod o-w ${open}`,
    };
    expect(everyone.by("state")).toMatchObject([refused]);
    expect(below.by("state")).toMatchObject([refused]);
    expect(none.by("state")).toMatchObject([{ text: `${file} is not a folder` }]);
    // No socket can be left where there is no folder.
    expect(none.by("daemon")[0]?.text).not.toContain("stale");
    const devices = join(open, "devices.json");
    writeFileSync(devices, "");
    chmodSync(open, 0o700);
    chmodSync(devices, 0o666);
    expect((await doctor(config, open)).by("state")[0]?.text).toStartWith(`${devices} can be written by everyone`);
    if (process.getuid?.() === 0) return;
    chmodSync(devices, 0o600);
    chmodSync(open, 0o500);
    expect((await doctor(config, open)).by("state")[0]?.hint).toStartWith(`chmod 700 ${open}, or`);
  });

  test("a machine whose loopback interface is down is not told to start or restart the daemon", async () => {
    const off: DaemonFound = { state: "absent" };
    const on: DaemonFound = { state: "running", status: { ...status, http_port: 1 } as never };
    for (const found of [await daemonRuns(examined({ met: off })), await portBound(examined({ met: on }))])
      expect(found).toEqual([
        expect.objectContaining({
          text: expect.stringContaining("this machine has no 127.0.0.1 now"),
          hint: expect.stringContaining("sudo ip link set lo up"),
        }),
      ]);
  });

  test("a port that only root may use is not said to be free", async () => {
    const files = { "/proc/sys/net/ipv4/ip_unprivileged_port_start": "1024\n" };
    const text = async (http_port: number) => {
      const exam = examined({ met: { state: "absent" }, files });
      const found = { config: configOf({ daemon: { http_port } }), warnings: [], modeWarnings: [], broken: null };
      const machine = { ...exam.machine, interfaces: () => [loopback] };
      return (await daemonRuns({ ...exam, machine, config: async () => found }))[0]?.text;
    };
    expect(await text(80)).toContain("your user may not listen on so low a port as its 80");
    expect(await text(1024)).toContain("its port 1024 is free");
  });

  test("a port that another user's daemon holds is not to be reached by that one's socket", async () => {
    const machine = { ...examined({ listens: true }).machine, uid: (process.getuid?.() ?? 0) + 1 };
    const config = configOf({ daemon: { http_port: daemon.port } });
    const found = { config, warnings: [], modeWarnings: [], broken: null };
    const exam = { ...examined({ met: { state: "absent" } }), machine, config: async () => found };
    expect((await daemonRuns(exam))[0]?.hint).toStartWith("That zapd is another user's. To run your own beside it");
  });

  test("what stands in the place of the socket is no stale one, nor is that of a stopped daemon with a full backlog", async () => {
    const [config, state] = [join(folder, "place.toml"), join(folder, "place")];
    const socket = join(state, "zapd.sock");
    writeFileSync(config, settings(await freePort()), { mode: 0o600 });
    mkdirSync(socket, { recursive: true, mode: 0o700 });
    const text = async () => (await doctor(config, state)).by("daemon")[0]?.text;
    expect(await text()).toMatch(/^the daemon is not running; its port \d+ is free$/);
    rmdirSync(socket);
    if (process.platform !== "linux") return;
    using _full = await fullSocket(socket);
    expect(await text()).toStartWith("the daemon listens on");
  });

  test("a zapd inside another server has no socket to be named", async () => {
    const [config, state] = [join(folder, "embedded.toml"), join(folder, "embedded")];
    const port = await freePort();
    writeFileSync(config, settings(port), { mode: 0o600 });
    const zapd = await createZapd({ config, state });
    const server = Bun.serve({ hostname: "127.0.0.1", port, fetch: (request) => zapd.fetch(request) });
    const { by } = await doctor(config, state);
    await Promise.all([server.stop(true), zapd.stop()]);
    expect(by("daemon")[0]).toMatchObject({
      text: `the daemon is not running; its port ${port} is held by another zapd (0.1.0)`,
      hint: "That zapd has no control socket, so no command reaches it: only HTTP calls do. End it, and run `zapd serve` in its place",
    });
  });

  test("a daemon whose socket was removed is not said to have another one", async () => {
    const socket = join(daemon.stateFolder, "zapd.sock");
    renameSync(socket, `${socket}.away`);
    // The daemon would make it again.
    mkdirSync(socket);
    const { by } = await doctor(daemon.configFile, daemon.stateFolder);
    rmdirSync(socket);
    renameSync(`${socket}.away`, socket);
    expect(by("daemon")[0]?.hint).toEndWith("zapd.sock, again within seconds; if it does not, restart it");
  });

  test("a daemon that runs: its doors, and each device with the set's own word for the setting", async () => {
    const { exit, by } = await doctor(daemon.configFile, daemon.stateFolder);
    expect(exit).toBe(1);
    expect(by("daemon")[0]).toMatchObject({ status: "ok", text: expect.stringContaining(`pid ${daemon.process.pid}`) });
    expect([by("port")[0]?.text, by("socket")[0]?.status]).toEqual([`port ${daemon.port} on 127.0.0.1`, "ok"]);
    expect([by("config")[0]?.status, by("state")[0]?.status, by("password").length]).toEqual(["ok", "ok", 0]);
    expect(by("device:").map((one) => `${one.status} ${one.text}`)).toEqual([
      "ok Living Room: on, full access",
      "fail Bedroom: keys refused (Limited)",
    ]);
    expect(by("device:")[1]?.hint).toContain("Control by mobile apps > Network access: Enabled");
    expect(limited.keys).toEqual([]);
    // The mode that counts is that of the folder, not that of a link to it.
    const link = join(folder, "link");
    symlinkSync(daemon.stateFolder, link);
    expect((await doctor(daemon.configFile, link)).by("socket")[0]?.status).toBe("ok");
  });

  test("the daemon says the same of itself (GET /doctor), and one examination is enough for all who ask at once", async () => {
    const before = limited.requests.length;
    const asked = await Promise.all([1, 2, 3].map(() => daemon.api("GET", "/doctor")));
    const [first] = asked.map(({ body }) => body.data as { checks: Finding[]; problems: number });
    const once = limited.requests.length - before;
    const { by } = await doctor(daemon.configFile, daemon.stateFolder);
    const texts = (all: readonly Finding[] = []) =>
      all.map(({ id, status, text, hint }) => [id, status, text, hint ?? null]);
    for (const id of ["daemon", "port", "socket", "config", "state", "device:"])
      expect(texts(first?.checks.filter((one) => one.id?.startsWith(id)))).toEqual(texts(by(id)));
    expect(first?.problems).toBe(1);
    // The command asks it again: what three callers cost is not three times that.
    expect(once).toBeLessThan(2 * (limited.requests.length - before - once));
    expect(limited.keys).toEqual([]);
  });

  test("another config than the daemon's, and a socket that is open to others, are told", async () => {
    const other = join(folder, "other.toml");
    writeFileSync(other, settings(daemon.port), { mode: 0o600 });
    chmodSync(join(daemon.stateFolder, "zapd.sock"), 0o666);
    const { by } = await doctor(other, daemon.stateFolder);
    chmodSync(join(daemon.stateFolder, "zapd.sock"), 0o600);
    expect(by("daemon")[0]?.text).toEndWith(`config ${daemon.configFile}`);
    expect(by("config")).toMatchObject([
      { status: "warn", text: `the running daemon uses ${daemon.configFile}, not ${other}` },
    ]);
    expect(by("socket")[0]).toMatchObject({ status: "fail", hint: expect.stringContaining("chmod 600") });
  });

  test("no daemon: a config that others may read, with the password in it, or write", async () => {
    const config = join(folder, "open.toml");
    const port = await freePort();
    writeFileSync(config, settings(port, '[dev]\nvendor_password = "secret"\n'), { mode: 0o644 });
    const { by } = await doctor(config, folder);
    expect(by("config")).toMatchObject([{ status: "warn", hint: `chmod 600 ${config}` }]);
    expect(JSON.stringify(by("config"))).not.toContain("secret");
    writeFileSync(config, settings(port, "http_prot = 1\n"));
    chmodSync(config, 0o664);
    expect((await doctor(config, folder)).by("config")).toMatchObject([
      { status: "warn", hint: "Correct or remove that line" },
      {
        status: "warn",
        text: expect.stringContaining(`(mode 0664). Change its mode: chmod g-w ${config}`),
        hint: null,
      },
    ]);
    chmodSync(config, 0o666);
    expect((await doctor(config, folder)).by("config")).toMatchObject([
      { status: "fail", hint: `Change its mode: chmod o-w ${config}` },
    ]);
  });

  test("no daemon: a broken config with line and column, a port that is held, a stale socket", async () => {
    const port = await freePort();
    const held = net.createServer((socket) => socket.end("220 ready\r\n")).listen(port, "127.0.0.1");
    const config = join(folder, "config.toml");
    writeFileSync(config, settings(port), { mode: 0o600 });
    const first = await doctor(config, folder);
    expect(first.by("daemon")[0]?.text).toContain(`not running; its port ${port} is held by`);
    held.close();
    const stale = await startTestDaemon();
    await stale.stop("SIGKILL");
    writeFileSync(config, settings('"x"'), { mode: 0o666 });
    const second = await doctor(config, stale.stateFolder);
    expect(second.by("daemon")[0]?.text).toContain("a stale socket is left at");
    expect(second.by("config")[0]?.text).toContain(`${config}, line 2, column 13: daemon.http_port`);
    expect(second.by("device")).toEqual([]);
    await stale.dispose();
  });
});
