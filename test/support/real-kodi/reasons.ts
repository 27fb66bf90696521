/** Why a real Kodi cannot be had on this machine. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { tuner } from "./profile.ts";

const tools = ["ip", "Xvfb", "dbus-daemon", "avahi-daemon", "pulseaudio", "ffmpeg", "unshare"];
let known: string | null | undefined;

/** Why such a Kodi has no channels here; null when it has. */
export function whyNoTuner(): string | null {
  return whyNoKodi() ?? (existsSync(`/usr/share/kodi/addons/${tuner}`) ? null : "kodi-pvr-iptvsimple is not installed");
}

/** Why there can be no real Kodi here, in words for a skip; null when there can. */
export function whyNoKodi(): string | null {
  known ??= findReason();
  return known;
}

function findReason(): string | null {
  if (process.platform !== "linux") return "a real Kodi needs the network namespaces of Linux";
  if (process.getuid?.() !== 0) return "a real Kodi in a network of its own needs root";
  if (kodiFile() === null) return "kodi is not installed";
  if (!drawsBySoftware()) return "libgl1-mesa-dri is not installed, without which Kodi has no screen";
  const missing = tools.filter((tool) => Bun.which(tool) === null);
  if (missing.length > 0) return `a real Kodi needs ${missing.join(", ")}`;
  const trial = `zkt${process.pid}`;
  try {
    execFileSync("ip", ["netns", "add", trial], { stdio: "pipe" });
    execFileSync("ip", ["link", "add", trial, "type", "veth", "peer", "name", "eth0", "netns", trial], {
      stdio: "pipe",
    });
    return null;
  } catch (error) {
    return `no network namespace can be made here (${String(error).split("\n")[1] ?? "ip failed"})`;
  } finally {
    for (const kind of ["link", "netns"]) {
      try {
        execFileSync("ip", [kind, "del", trial], { stdio: "pipe" });
      } catch {
        // It was never made.
      }
    }
  }
}

/** Whether Mesa's drivers are there: nothing here has a graphics card. */
function drawsBySoftware(): boolean {
  return libraryFolders().some((folder) => existsSync(`/usr/lib/${folder}/dri/swrast_dri.so`));
}

function libraryFolders(): string[] {
  return existsSync("/usr/lib") ? readdirSync("/usr/lib") : [];
}

export function kodiFile(): string | null {
  return (
    libraryFolders()
      .map((folder) => `/usr/lib/${folder}/kodi/kodi.bin`)
      .find((path) => existsSync(path)) ?? null
  );
}
