/** The resident memory of a process. */
import { readFileSync } from "node:fs";

/** In MiB: now (`VmRSS`), or the most since `clear_refs` was written (`VmHWM`). */
export function residentMiB(
  { pid }: { readonly pid?: number | undefined },
  field: "VmRSS" | "VmHWM" = "VmRSS",
): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
}

/** The least MiB in the next three seconds: memory goes back to the system late. */
export async function leastResidentMiB(process: Parameters<typeof residentMiB>[0]): Promise<number> {
  let least = residentMiB(process);
  for (let look = 0; look < 6; look++) {
    await Bun.sleep(500);
    least = Math.min(least, residentMiB(process));
  }
  return least;
}
