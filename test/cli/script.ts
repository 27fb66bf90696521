/**
 * A script: commands with what they print and how they end, as a person sees it.
 *
 *     # A comment.
 *     $ zapd key hoem
 *     ! zapd: "hoem" is not a key. Did you mean home?
 *     [2]
 *     @ Workbench sleeps
 *
 * Lines of stdout stand as they are, those of stderr behind `! `, an exit status other than 0 in brackets. `…` stands for
 * anything in a line, and alone for any lines. `@` tells the stage to do something. Behind `-- name --` follows a file.
 */

export interface Step {
  readonly line: number;
  readonly command: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number;
}

/** What the stage is told. */
export interface Cue {
  readonly line: number;
  readonly cue: string;
}

export interface Script {
  readonly steps: readonly (Step | Cue)[];
  readonly files: Readonly<Record<string, string>>;
}

export function readScript(text: string): Script {
  const [play = "", ...rest] = text.split(/^-- (.+) --\n/m);
  const files = Object.fromEntries(rest.flatMap((part, at) => (at % 2 === 0 ? [[part, rest[at + 1] ?? ""]] : [])));
  const steps: (Step | Cue)[] = [];
  let expected: string[] = [];
  let open: { line: number; command: string } | undefined;
  const close = () => {
    if (open) steps.push({ ...open, ...expectation(expected) });
    open = undefined;
    expected = [];
  };
  for (const [at, line] of play.split("\n").entries()) {
    if (/^([$@#])( |$)/.test(line)) close();
    if (line.startsWith("$ ")) open = { line: at + 1, command: line.slice(2) };
    else if (line.startsWith("@ ")) steps.push({ line: at + 1, cue: line.slice(2) });
    else if (open) expected.push(line);
    else if (line !== "" && !line.startsWith("#")) throw new Error(`line ${at + 1} belongs to no command: ${line}`);
  }
  close();
  return { steps, files };
}

function expectation(lines: readonly string[]): Omit<Step, "line" | "command"> {
  const status = lines.findLast((line) => /^\[\d+\]$/.test(line));
  const said = lines.filter((line) => line.startsWith("!")).map((line) => line.slice(2));
  const printed = lines.filter((line) => line !== status && !line.startsWith("!"));
  return {
    stdout: printed.join("\n").trimEnd(),
    stderr: said.join("\n"),
    status: status === undefined ? 0 : Number(status.slice(1, -1)),
  };
}

/** The console blocks of a page: every `$ command`, with what it is said to print. */
export function consoleBlocks(page: string): { readonly command: string; readonly answer: string }[][] {
  return [...page.matchAll(/```console\n(.*?)```/gs)].map(([, block = ""]) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [command = "", ...answer] = step.trimEnd().split("\n");
        return { command, answer: answer.join("\n") };
      }),
  );
}

/** Whether a text is what a script shows. */
export function shows(shown: string, text: string): boolean {
  const pattern = shown
    .split("\n")
    .map((line) => (line === "…" ? "(?:[^\\n]*\\n)*?[^\\n]*" : line.split("…").map(literal).join("[^\\n]*")))
    .join("\\n");
  return new RegExp(`^${pattern}$`).test(text);
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
