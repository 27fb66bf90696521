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
