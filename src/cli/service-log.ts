/** The log of the service on macOS: launchd appends to one file, which only root can have rotated, so the daemon does it. */
import { constants, copyFileSync, existsSync, fstatSync, ftruncateSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";

/** SECURITY.md 4: five files of 10 MiB. */
const maxBytes = 10 * 1024 * 1024;
const earlier = [3, 2, 1];

export function serviceLog(home: string): string {
  return join(home, "Library", "Logs", "zapd", "zapd.log");
}

/** Writes lines to the file that is open as `fd`, and rotates that where it is the log of the service. */
export function rotating(write: (line: string) => void, home: () => string, fd = 2): (line: string) => void {
  let leftBytes = 0;
  return (line) => {
    const bytes = Buffer.byteLength(line);
    if (bytes > leftBytes) leftBytes = rotate(home, fd);
    leftBytes -= bytes;
    write(line);
  };
}

/** Rotates a file that is full. Gives how many bytes may be written until this is asked again. */
function rotate(home: () => string, fd: number): number {
  try {
    const path = serviceLog(home());
    const [open, named] = [fstatSync(fd), statSync(path)];
    if (open.ino !== named.ino || open.dev !== named.dev) return Number.POSITIVE_INFINITY;
    if (named.size < maxBytes) return maxBytes - named.size;
    for (const at of earlier) if (existsSync(`${path}.${at}`)) renameSync(`${path}.${at}`, `${path}.${at + 1}`);
    // The file is emptied, not moved: launchd has it open as well.
    copyFileSync(path, `${path}.1`, constants.COPYFILE_FICLONE);
    ftruncateSync(fd);
    return maxBytes;
  } catch {
    // There is no such file, or the disk is full.
    return maxBytes;
  }
}
