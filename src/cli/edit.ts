/** Opens the config in the user's editor. */
import { spawn } from "node:child_process";
import { existsSync, lstatSync } from "node:fs";
import { dirname } from "node:path";
import { exits, systemCode } from "../api/errors.ts";
import { defaultText } from "../config/schema.ts";
import { makeFolder, writeAtomically } from "../system/files.ts";
import { CommandError } from "./failure.ts";

/** Opens the file, made from the annotated default where there is none, and waits until the editor ends. Fails with CommandError. */
export async function editFile(path: string, isRunning: boolean): Promise<void> {
  const editor = process.env["VISUAL"] || process.env["EDITOR"] || (process.platform === "win32" ? "notepad" : "vi");
  if (!existsSync(path)) {
    makeFolder(dirname(path), "$ZAPD_CONFIG");
    // A link to a file that is away, such as on a disk that is not mounted, is not replaced by a file.
    if (lstatSync(path, { throwIfNoEntry: false }))
      throw new CommandError(`${path} is a link to a file that is not there`, exits.failed);
    await writeAtomically(path, defaultText());
  }
  const status = await run(editor, path);
  if (status !== 0)
    throw new CommandError(
      `the editor ${JSON.stringify(editor)} exited with ${status}${isRunning ? `; the daemon did not reload ${path}` : ""}`,
      exits.failed,
      isRunning ? "When the file is complete, run zapd config reload" : undefined,
    );
}

/** What the keys Ctrl-C and Ctrl-\ of a terminal send to every program in front. */
const keySignals = ["SIGINT", "SIGQUIT"] as const;

/** Through a shell, because the variable may hold options: `EDITOR="code --wait"`. */
function run(editor: string, path: string): Promise<number | string> {
  const [program, words] =
    process.platform === "win32"
      ? (["cmd", ["/c", `${editor} "${path}"`]] as const)
      : (["sh", ["-c", `trap : INT QUIT; ${editor} "$1"`, "zapd", path]] as const);
  // A terminal sends these to us and to the shell as well, but only the editor may end by them.
  const ignore = () => {};
  for (const signal of keySignals) process.on(signal, ignore);
  return new Promise<number | string>((resolve, reject) => {
    const child = spawn(program, [...words], { stdio: "inherit" });
    child.on("error", (error) =>
      reject(new CommandError(`${program} could not be started (${systemCode(error)})`, exits.failed)),
    );
    child.on("exit", (status, signal) => resolve(signal ?? status ?? 1));
  }).finally(() => {
    for (const signal of keySignals) process.off(signal, ignore);
  });
}
