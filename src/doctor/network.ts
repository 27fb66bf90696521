/** Checks of the network: the searched interfaces, multicast, firewalls, containers; and the clock. */
import { isIP } from "node:net";
import { textOf } from "../api/errors.ts";
import { resolveHost, splitHost } from "../discovery/hosts.ts";
import { sleep } from "../system/sleep.ts";
import { joinWithAnd, pluralize } from "../system/text.ts";
import { type Examination, type Finding, fail, type Machine, ok, warn } from "./examination.ts";
import type { Probe } from "./probe.ts";

/** Names of interfaces that have no devices behind them. */
const interfacesWithoutDevices: readonly { readonly name: RegExp; readonly is: string }[] = [
  { name: /^(tailscale|ts)\d+$/, is: "a VPN (Tailscale)" },
  { name: /^(wg|wt)[\w-]*$/, is: "a VPN (WireGuard)" },
  { name: /^zt\w+$/, is: "a VPN (ZeroTier)" },
  { name: /^(tun|tap|utun|ppp|ipsec|nordlynx|proton)[\w-]*$/, is: "a VPN" },
  {
    name: /^(docker\d+|br-[0-9a-f]{12}|docker_gwbridge|veth\w+|podman\d+|cni[\w.-]*|flannel[\w.-]*|cali\w+)$/,
    is: "a network of containers",
  },
  {
    name: /^(virbr\d+|vmnet\d+|vboxnet\d+|lxcbr\d+|lxdbr\d+|incusbr\d+|bridge1\d\d)$/,
    is: "a network of virtual machines",
  },
];

/** What an interface is, where no device can be behind it; `null` for any other. */
export function whyWithoutDevices(name: string): string | null {
  return interfacesWithoutDevices.find((one) => one.name.test(name))?.is ?? null;
}

export async function interfacesAsked(exam: Examination): Promise<Finding[]> {
  const searched = await exam.searchedInterfaces();
  const { interfaces: configured } = (await exam.config()).config.discovery;
  const isThere = (wish: string) => searched.some(({ name, address }) => name === wish || address === wish);
  const missing = configured.filter((wish) => !wish.startsWith("127.") && !isThere(wish));
  const findings = missing.map((name) =>
    fail(
      `discovery.interfaces names ${name}, which ${isIP(name) ? "this machine does not have" : "has no IPv4 address"} now`,
      "Connect it, or correct it in the config",
    ),
  );
  const names = namesOf(searched);
  if (names.length > 0) return [...findings, interfacesLine(names, await exam.probes(), configured.length > 0)];
  const hint =
    "Connect this machine to the network of the devices, or add a device by its address: zapd add 192.168.1.40";
  return findings.length > 0 ? findings : [fail("no interface but loopback has an IPv4 address", hint)];
}

/** Warns of hosts in the config that are no addresses, or whose names do not resolve. */
export async function hostsKnown(exam: Examination): Promise<Finding[]> {
  const { hosts } = (await exam.config()).config.discovery;
  const found = hosts.map(async (host) => {
    try {
      await resolveHost(splitHost(host).host);
      return [];
    } catch (error) {
      return warn(`discovery.hosts: ${textOf(error)}`, "Correct it in the config, or turn the device on");
    }
  });
  return (await Promise.all(found)).flat();
}

function namesOf(all: readonly { readonly name: string }[]): string[] {
  return [...new Set(all.map((one) => one.name))];
}

function interfacesLine(names: readonly string[], probes: readonly Probe[], wished: boolean): Finding {
  const live = namesOf(probes.filter(hasMulticast));
  const useless = wished ? [] : names.filter((name) => whyWithoutDevices(name) !== null);
  const hint = useless.length > 0 ? howToLeaveOut(useless, names) : undefined;
  const single = names.length === 1;
  const count = ["no", "one", "two", "three", "four"][names.length] ?? String(names.length);
  const asks = single ? "it" : names.length === 2 ? "both" : "all";
  const text = `${count} interface${single ? "" : "s"}, ${joinWithAnd(names)}: discovery asks ${asks}`;
  if (single || live.length === names.length) return hint === undefined ? ok(text) : warn(text, hint);
  return warn(`${text}, ${live.length === 0 ? "none" : `only ${joinWithAnd(live)}`} answered`, hint);
}

/** What interfaces without devices are, and how to leave them out of searches. */
function howToLeaveOut(odd: readonly string[], names: readonly string[]): string {
  const are = odd.map((name) => `${name} is ${whyWithoutDevices(name)}`).join(", ");
  const rest = names.filter((name) => !odd.includes(name));
  if (rest.length === 0) return `${are}: no search reaches the devices at home through it`;
  const them = odd.length === 1 ? "it" : "them";
  return `${are}, without devices behind ${them}. To leave ${them} out: zapd config set discovery.interfaces ${rest.join(",")}`;
}

function hasMulticast(probe: Probe): boolean {
  return probe.received || probe.answered.length > 0;
}

export async function multicastReceived(exam: Examination): Promise<Finding[]> {
  const probes = await exam.probes();
  const anywhere = probes.some((one) => hasMulticast(one) && whyWithoutDevices(one.name) === null);
  return probes.flatMap((probe) => {
    const { name, problem } = probe;
    const id = `multicast:${name}`;
    if (hasMulticast(probe)) return [{ ...ok(`multicast received on ${name}${answers(probe)}`), id }];
    // A VPN carries no multicast; the check of the interfaces has said so.
    if (whyWithoutDevices(name) !== null && anywhere) return [];
    const text = `no multicast arrives on ${name}${problem === null ? "" : ` (${problem})`}`;
    return [{ ...(anywhere ? warn : fail)(text, multicastHint(exam.machine.platform, probe)), id }];
  });
}

function answers({ answered }: Probe): string {
  if (answered.length === 0) return "";
  return `, ${pluralize(answered.length, "device")} answered a search`;
}

const byAddress = "Until then, add devices by their address: zapd add 192.168.1.40";

function multicastHint(platform: string, { problem }: Probe): string {
  if (platform === "darwin" && (problem === null || /EHOSTUNREACH|no route/i.test(problem)))
    return `macOS blocks programs from the local network until you allow them: System Settings > Privacy & Security > Local Network, for the terminal and for zapd. ${byAddress}`;
  if (platform === "win32")
    return `Usually the firewall blocks it: Windows Security > Firewall & network protection > Allow an app, for private networks. ${byAddress}`;
  if (problem !== null && /EPERM|EACCES/.test(problem)) return `A firewall on this machine blocks it. ${byAddress}`;
  return `A firewall on this machine, or a Wi-Fi that isolates its clients, blocks it. ${byAddress}`;
}

/** Which firewalls are active, which Linux tells without root, and whether the probes came through. */
export async function firewall(exam: Examination): Promise<Finding[]> {
  if (exam.machine.platform !== "linux") return [];
  const active = await activeFirewalls(exam);
  if (active.length === 0) return [];
  const probes = await exam.probes();
  const names = active.map((one) => one.name);
  const through = probes.some((one) => one.answered.length > 0);
  const text = `${joinWithAnd(names)} ${names.length === 1 ? "is" : "are"} active`;
  if (through) return [ok(`${text}, and lets answers of devices through`)];
  const rules = active.flatMap(({ rule }) => rule ?? []);
  const hint = `If devices are not found, allow their answers: ${rules.join("; ") || "UDP from ports 1900 and 5353"}`;
  return [warn(`${text}, and no device has answered a search`, hint)];
}

async function activeFirewalls({ machine }: Examination): Promise<{ name: string; rule?: string }[]> {
  const isActive = async (unit: string) => (await machine.output("systemctl", ["is-active", unit])) === "active";
  const found: { name: string; rule?: string }[] = [];
  // The unit of ufw is active even when ufw is turned off, so its own file is read.
  if (/^ENABLED=yes/im.test((await machine.read("/etc/ufw/ufw.conf")) ?? ""))
    found.push({ name: "ufw", rule: "sudo ufw allow proto udp from any port 1900,5353" });
  const ports = "--permanent --add-source-port=1900/udp --add-source-port=5353/udp";
  if (await isActive("firewalld"))
    found.push({ name: "firewalld", rule: `sudo firewall-cmd ${ports} && sudo firewall-cmd --reload` });
  if (await isActive("nftables")) found.push({ name: "nftables" });
  return found;
}

/** Warns of a container with its own network, which multicast does not reach, unless a device has answered. */
export async function container(exam: Examination): Promise<Finding[]> {
  const { machine } = exam;
  if (machine.platform !== "linux" || !(await inContainer(machine))) return [];
  const network = await ownNetwork(machine);
  if (network === null) return [ok("runs in a container, with the network of its host")];
  if ((await exam.probes()).some((one) => one.answered.length > 0))
    return [ok("runs in a container, and devices answer there")];
  // Devices that are found over mDNS only do not answer the search of the probes.
  const hint =
    "If devices are not found, start it with the network of the host (docker run --network host), or list them in discovery.hosts of the config";
  return [
    warn(
      `runs in a container with a network of its own (${network}), and no device has answered a search over SSDP`,
      hint,
    ),
  ];
}

async function inContainer(machine: Machine): Promise<boolean> {
  const marks = await Promise.all(["/.dockerenv", "/run/.containerenv"].map((path) => machine.read(path)));
  if (marks.some((mark) => mark !== null)) return true;
  return /docker|containerd|kubepods|libpod/.test((await machine.read("/proc/1/cgroup")) ?? "");
}

/** The interface of a container with its own network: one end of a virtual pair, whose `iflink` is the other end. `null` for a real card, which links to itself, and where the system does not tell. */
async function ownNetwork(machine: Machine): Promise<string | null> {
  const outer = machine.interfaces().filter((one) => !one.loopback);
  for (const one of outer) {
    const [own, other] = await Promise.all(
      ["ifindex", "iflink"].map(async (file) => (await machine.read(`/sys/class/net/${one.name}/${file}`))?.trim()),
    );
    if (own === other) return null;
  }
  const first = outer[0];
  return first ? `${first.name} ${first.address}` : "no interface";
}

const earliestYear = 2025;
const latestYear = 2100;

export async function clockSane(exam: Examination): Promise<Finding[]> {
  const before = performance.now();
  await sleep(20);
  const passed = performance.now() - before;
  if (passed <= 0 || passed > 2_000)
    return [fail(`20 ms took ${Math.round(passed)} ms by the monotonic clock`, "Restart this machine")];
  const now = exam.machine.now();
  const year = now.getFullYear();
  if (year >= earliestYear && year <= latestYear) return [ok(`clock sane, ${now.toISOString().slice(0, 10)}`)];
  const set: Record<string, string> = {
    linux: "sudo timedatectl set-ntp true",
    darwin: "System Settings > General > Date & Time > Set time and date automatically",
    win32: "Settings > Time & language > Date & time > Set time automatically",
  };
  return [fail(`the clock says ${year}`, `Set it: ${set[exam.machine.platform] ?? "by NTP"}`)];
}
