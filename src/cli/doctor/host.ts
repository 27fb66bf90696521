/** Checks of the machine around zapd: a container without the host's network, a clock that is off. */
import { type Finding, fail, ok, warn } from "./check.ts";
import type { Examination } from "./examination.ts";
import type { Machine } from "./machine.ts";

const earliestYear = 2025;
const latestYear = 2100;

/** A container with a network of its own is not reached by multicast; that something answered is proof of the opposite. */
export async function container(exam: Examination): Promise<Finding[]> {
  const { machine } = exam;
  if (machine.platform !== "linux" || !(await inContainer(machine))) return [];
  const own = await ownNetwork(machine);
  if (own === null) return [ok("container", "runs in a container, with the network of its host")];
  if ((await exam.probes()).some((one) => one.answered.length > 0))
    return [ok("container", "runs in a container, and devices answer into it")];
  const hint =
    "Start it with the network of the host (docker run --network host), or name the sets in discovery.hosts of the config";
  return [warn("container", `runs in a container with a network of its own (${own}): no search leaves it`, hint)];
}

async function inContainer(machine: Machine): Promise<boolean> {
  const marks = await Promise.all(["/.dockerenv", "/run/.containerenv"].map((path) => machine.read(path)));
  if (marks.some((mark) => mark !== null)) return true;
  return /docker|containerd|kubepods|libpod/.test((await machine.read("/proc/1/cgroup")) ?? "");
}

/** The one end of a pair of virtual cables is what a container of its own network has; a real card is its own end. */
async function ownNetwork(machine: Machine): Promise<string | null> {
  const outer = machine.interfaces().filter((one) => !one.loopback);
  for (const one of outer) {
    const [own, other] = await Promise.all(
      ["ifindex", "iflink"].map(async (file) => (await machine.read(`/sys/class/net/${one.name}/${file}`))?.trim()),
    );
    if (own === undefined || other === undefined || own === other) return null;
  }
  const first = outer[0];
  return first ? `${first.name} ${first.address}` : "no interface";
}

export async function clockSane(exam: Examination): Promise<Finding[]> {
  const before = performance.now();
  await new Promise((resolve) => setTimeout(resolve, 20));
  const passed = performance.now() - before;
  if (passed <= 0 || passed > 2_000)
    return [fail("clock", `20 ms took ${Math.round(passed)} ms by the monotonic clock`, "Restart this machine")];
  const now = exam.machine.now();
  const year = now.getFullYear();
  if (year >= earliestYear && year <= latestYear) return [ok("clock", `clock sane, ${now.toISOString().slice(0, 10)}`)];
  const set: Record<string, string> = {
    linux: "sudo timedatectl set-ntp true",
    darwin: "System Settings > General > Date & Time > Set time and date automatically",
    win32: "Settings > Time & language > Date & time > Set time automatically",
  };
  return [fail("clock", `the clock says ${year}`, `Set it: ${set[exam.machine.platform] ?? "by NTP"}`)];
}
