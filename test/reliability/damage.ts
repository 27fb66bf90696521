/** Kinds of damaged files, as a bad disk, an editor or another program leaves them. */
import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const gigabyte = 1024 ** 3;

/** Each damages the file at a path, given its sound text. */
export const damages: Readonly<Record<string, (path: string, sound: Buffer) => void>> = {
  "cut in half": (path, sound) => writeFileSync(path, sound.subarray(0, sound.length >> 1)),
  "cut by its last bracket": (path, sound) => writeFileSync(path, sound.subarray(0, sound.lastIndexOf("}"))),
  "of nothing": (path) => writeFileSync(path, ""),
  "of NULs, as after a power cut": (path, sound) => writeFileSync(path, Buffer.alloc(sound.length)),
  "with a flipped bit": (path, sound) => {
    const bytes = Buffer.from(sound);
    bytes[1] = (bytes[1] ?? 0) ^ 0x80;
    writeFileSync(path, bytes);
  },
  "of a newer zapd": (path, sound) => writeFileSync(path, sound.toString().replace('"version": 1', '"version": 2')),
  "of another shape": (path) => writeFileSync(path, '{"version":1,"devices":[{"id":7}]}'),
  "of a gigabyte of holes": (path) => {
    const file = openSync(path, "w");
    ftruncateSync(file, gigabyte);
    closeSync(file);
  },
  "that is a folder": (path) => mkdirSync(join(path, "inside"), { recursive: true }),
  "that is a FIFO": (path) => void execFileSync("mkfifo", [path]),
  "that is a socket": (path) => {
    const script = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
    spawnSync(process.execPath, ["-e", script]);
  },
  "that is a link to itself": (path) => symlinkSync(path, path),
  "that is a link to another file": (path, sound) => {
    writeFileSync(`${path}-elsewhere`, sound);
    symlinkSync(`${path}-elsewhere`, path);
  },
};

/** Replaces a sound file by a damaged one. */
export function damage(path: string, how: string, sound: Buffer): void {
  rmSync(path, { recursive: true, force: true });
  damages[how]?.(path, sound);
}
