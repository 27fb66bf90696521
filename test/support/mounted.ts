/** A daemon whose folder is a small file system, in its own mount namespace. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type DaemonSetup, startTestDaemon, type TestDaemon } from "./daemon.ts";

/** Why that is impossible here, or `null`. */
export const noMounts: string | null = (() => {
  if (process.platform !== "linux") return "mount namespaces are for Linux";
  const tried = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"], { encoding: "utf8" });
  if (tried.error) return "there is no unshare";
  if (Bun.which("nsenter") === null) return "there is no nsenter";
  return tried.status === 0 ? null : `unshare may not mount here: ${tried.stderr.trim().split("\n")[0]}`;
})();
if (noMounts !== null) process.stderr.write(`skipped: what needs a disk of its own: ${noMounts}\n`);

export interface Mounted extends TestDaemon {
  /** The path of the file system from here; it has `config.toml` and `state`. */
  readonly disk: string;
  /** Remounts it, `ro` or `rw`. */
  remount(how: "ro" | "rw"): void;
}

/** Starts a daemon on a tmpfs with these options, such as `size=256k`; `prepare` is a shell command that runs there before. */
export async function startMounted(options: string, setup: DaemonSetup = {}, prepare = ""): Promise<Mounted> {
  // The config is in the folder on which the file system is mounted: it is read before, and written again.
  const script = [
    'for last; do :; done; folder=$(dirname "$last"); config=$(cat "$last")',
    `mount -t tmpfs -o mode=700,${options} zapd "$folder" && printf "%s\\n" "$config" > "$last" && chmod 600 "$last"`,
    ...(prepare === "" ? [] : [`(cd "$folder" && ${prepare})`]),
    'exec "$@"',
  ].join("\n");
  const daemon = await startTestDaemon({ ...setup, within: ["unshare", "-rm", "sh", "-ec", script, "sh"] });
  const { pid } = daemon.process;
  const disk = `/proc/${pid}/root${daemon.folder}`;
  return {
    ...daemon,
    disk,
    stateFolder: join(disk, "state"),
    configFile: join(disk, "config.toml"),
    remount(how) {
      const words = ["-t", String(pid), "-U", "--preserve-credentials", "-m", "mount", "-o", `remount,${how}`];
      const mount = () => spawnSync("nsenter", [...words, daemon.folder], { encoding: "utf8" });
      let done = mount();
      // It may be busy while a file is written.
      for (let tries = 0; tries < 100 && done.stderr.includes("busy"); tries++) {
        Bun.sleepSync(50);
        done = mount();
      }
      if (done.status !== 0) throw new Error(`not mounted ${how}: ${done.stderr}`);
    },
  };
}
