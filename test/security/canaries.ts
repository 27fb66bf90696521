/** Secrets that are planted, and looked for in whatever comes out: as they are, and as they are written in other places. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { systemCode } from "../../src/api/errors.ts";

export class Canaries {
  readonly #forms = new Map<string, readonly string[]>();

  /** Plants a secret under a name; gives it back. */
  plant(name: string, secret: string): string {
    this.#forms.set(name, formsOf(secret));
    return secret;
  }

  get names(): string[] {
    return [...this.#forms.keys()];
  }

  /** The names of those that a text holds, in any form. */
  in(text: string): string[] {
    // Case is ignored: hexadecimal and percent codes come in either.
    const lower = text.toLowerCase();
    return [...this.#forms].filter(([, forms]) => forms.some((form) => lower.includes(form))).map(([name]) => name);
  }
}

/** A secret as it is, and as it is written in JSON, addresses, hexadecimal and base64; in lower case. */
export function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  // The base64 of a secret depends on its offset, such as after a name and a colon; its ends depend on the bytes beside it.
  const base64 = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before, "x"), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    return text.slice(before === 0 ? 0 : before + 1, -1);
  });
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    bytes.toString("hex"),
    ...base64,
  ];
  return [...new Set(forms.map((form) => form.toLowerCase()))];
}

/** Every regular file below some folders, with its bytes as text. A write that is under way has one that soon goes. */
export function filesBelow(folders: readonly string[]): { readonly path: string; readonly text: string }[] {
  return folders.flatMap((folder) =>
    readdirSync(folder).flatMap((name) => {
      const path = join(folder, name);
      const found = statSync(path, { throwIfNoEntry: false });
      if (found?.isDirectory()) return filesBelow([path]);
      const text = found?.isFile() ? textIn(path) : null;
      return text === null ? [] : [{ path, text }];
    }),
  );
}

/** The text of a file; `null` where it is gone. */
function textIn(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

/** Reads the command line, the name and the environment of every process of this machine, again and again. */
export class ProcessWatch {
  readonly seen = new Set<string>();
  looks = 0;
  readonly #timer = setInterval(() => this.look(), 5);

  look(): void {
    this.looks++;
    if (process.platform !== "linux") return;
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
      for (const what of ["cmdline", "comm", "environ"]) {
        try {
          this.seen.add(readFileSync(`/proc/${pid}/${what}`, "utf8"));
        } catch {
          // It has ended, or is somebody else's.
        }
      }
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
