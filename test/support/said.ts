/** What a program says, as it comes. */
import type { ChildProcess } from "node:child_process";

export interface Said {
  stdout: string;
  stderr: string;
  /** Both, as they came. */
  all: string;
}

export function saidBy(child: ChildProcess): Said {
  const said: Said = { stdout: "", stderr: "", all: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name]?.on("data", (bytes: Buffer) => {
      const text = bytes.toString();
      said[name] += text;
      said.all += text;
    });
  return said;
}
