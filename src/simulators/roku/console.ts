import type { Socket } from "node:net";
import type { Model } from "./model.ts";

// brs-desktop replays up to 700 entries (2.2).
const KEPT_LINES = 700;

/** What the BrightScript console has printed: replayed to whoever connects, older runs included (2.2). */
export interface ConsoleBuffer {
  readonly lines: readonly string[];
  print(line: string): void;
  /** A line with the time in front, as the firmware prints its own. */
  stamp(line: string): void;
  listen(listener: (line: string) => void): () => void;
}

export function createConsoleBuffer(): ConsoleBuffer {
  const lines: string[] = [];
  const listeners = new Set<(line: string) => void>();
  const print = (line: string) => {
    lines.push(line);
    if (lines.length > KEPT_LINES) lines.shift();
    for (const listener of listeners) listener(line);
  };
  return {
    lines,
    print,
    stamp: (line) => print(`${timestamp(new Date())} ${line}`),
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** `MM-DD HH:MM:SS.mmm`, in the time of the set. */
function timestamp(now: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const date = `${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  const time = `${two(now.getHours())}:${two(now.getMinutes())}:${two(now.getSeconds())}`;
  return `${date} ${time}.${String(now.getMilliseconds()).padStart(3, "0")}`;
}

export interface CompileError {
  readonly path: string;
  readonly line: number;
}

// The markers of 2.2. Tools cut a run at the last `------ compiling` line.
export function printCompile(model: Model, title: string): void {
  const { console } = model;
  console.stamp("[beacon.signal] |AppCompileInitiate --------> TimeBase(0 ms)");
  console.stamp(`[scrpt.cmpl] Compiling '${title}', id 'dev'`);
  console.print("");
  console.print(`------ Compiling dev '${title}' ------`);
}

export function printCompileFailed(model: Model, title: string, errors: readonly CompileError[]): void {
  printCompile(model, title);
  for (const { path, line } of errors) {
    model.console.print(`Syntax Error. (compile error &h02) in pkg:/${path}(${line})`);
  }
  model.console.print("-------> Compilation Failed.");
}

export function printRun(model: Model, title: string): void {
  const { console } = model;
  console.stamp("[beacon.signal] |AppLaunchInitiate ---------> TimeBase(0 ms)");
  printCompile(model, title);
  console.stamp("[beacon.signal] |AppCompileComplete --------> Duration(12 ms), 0.2 MiP");
  console.stamp("[beacon.signal] |AppSplashInitiate ---------> TimeBase(14 ms)");
  console.stamp(`[scrpt.ctx.run.enter] UI: Entering '${title}', id 'dev'`);
  console.print("");
  console.print(`------ Running dev '${title}' main ------`);
  console.stamp("[beacon.signal] |AppSplashComplete ---------> Duration(21 ms)");
}

export function printResume(model: Model): void {
  model.console.stamp("[beacon.signal] |AppResumeInitiate ---------> TimeBase(0 ms)");
  model.console.stamp("[beacon.signal] |AppResumeComplete ---------> Duration(8 ms)");
}

export function printSuspend(model: Model): void {
  model.console.stamp("[beacon.signal] |AppSuspendInitiate --------> TimeBase(0 ms)");
  model.console.stamp("[beacon.signal] |AppSuspendComplete --------> Duration(5 ms)");
}

export function printExit(model: Model): void {
  model.console.stamp("[beacon.signal] |AppExitInitiate -----------> TimeBase(0 ms)");
  model.console.stamp("[beacon.report] |AppExitComplete -----------> Duration(9 ms)");
}

const CTRL_C = 0x03;
/** A client that never reads is cut off. */
const UNREAD_LIMIT = 4 * 1024 * 1024;

/** The BrightScript console (2.2): one client, the buffer replayed without a greeting, CRLF lines. */
export function createConsole(buffer: ConsoleBuffer): (socket: Socket) => void {
  let client: Socket | null = null;
  return (socket) => {
    if (client !== null) {
      socket.end("Console connection is already in use.\r\n");
      return;
    }
    client = socket;
    const stop = buffer.listen((line) => {
      if (socket.writableLength > UNREAD_LIMIT) socket.destroy();
      else socket.write(`${line}\r\n`);
    });
    socket.on("close", () => {
      stop();
      if (client === socket) client = null;
    });
    // Ctrl-C breaks into the debugger; anything else is ignored while the app runs.
    socket.on("data", (chunk: Uint8Array) => {
      if (chunk.includes(CTRL_C)) socket.write("\r\nBrightScript Debugger> ");
    });
    if (buffer.lines.length > 0) socket.write(buffer.lines.map((line) => `${line}\r\n`).join(""));
  };
}
