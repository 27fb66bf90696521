import type { Socket } from "node:net";
import { pushCapped } from "../bench/set.ts";
import type { Model } from "./model.ts";

// brs-desktop replays up to 700 entries (2.2).
const KEPT_LINES = 700;

/** The output of the BrightScript console, replayed to each client with that of older runs (2.2). */
export class ConsoleBuffer {
  readonly lines: string[] = [];
  /** The connected client; it gets each line. */
  listener: ((line: string) => void) | null = null;

  print(line: string): void {
    pushCapped(this.lines, line, KEPT_LINES);
    this.listener?.(line);
  }

  /** Prints a line with a timestamp, as the firmware does. */
  stamp(line: string): void {
    this.print(`${timestamp(new Date())} ${line}`);
  }

  /** Prints a beacon of the app life cycle. */
  beacon(name: string, what: string, kind = "signal"): void {
    this.stamp(`[beacon.${kind}] |${`${name} `.padEnd(27, "-")}> ${what}`);
  }
}

/** `MM-DD HH:MM:SS.mmm` in local time. */
function timestamp(now: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join(":");
  return `${two(now.getMonth() + 1)}-${two(now.getDate())} ${time}.${String(now.getMilliseconds()).padStart(3, "0")}`;
}

export interface CompileError {
  readonly path: string;
  readonly line: number;
}

// The markers of 2.2. Tools cut a run at the last `------ compiling` line.
function printCompile(model: Model, title: string): void {
  const { console } = model;
  console.beacon("AppCompileInitiate", "TimeBase(0 ms)");
  console.stamp(`[scrpt.cmpl] Compiling '${title}', id 'dev'`);
  console.print("");
  console.print(`------ Compiling dev '${title}' ------`);
}

export function printCompileFailed(model: Model, title: string, errors: readonly CompileError[]): void {
  printCompile(model, title);
  for (const { path, line } of errors) {
    model.console.print(`--- Syntax Error. (compile error &h02) in pkg:/${path}(${line})`);
  }
  model.console.print("-------> Compilation Failed.");
}

export function printRun(model: Model, title: string): void {
  const { console } = model;
  console.beacon("AppLaunchInitiate", "TimeBase(0 ms)");
  printCompile(model, title);
  console.beacon("AppCompileComplete", "Duration(12 ms), 0.2 MiP");
  console.beacon("AppSplashInitiate", "TimeBase(14 ms)");
  console.stamp(`[scrpt.ctx.run.enter] UI: Entering '${title}', id 'dev'`);
  console.print("");
  console.print(`------ Running dev '${title}' main ------`);
  console.beacon("AppSplashComplete", "Duration(21 ms)");
}

/** Prints that the app was resumed, suspended or ended. */
export function printStep(model: Model, step: "Resume" | "Suspend" | "Exit"): void {
  model.console.beacon(`App${step}Initiate`, "TimeBase(0 ms)");
  model.console.beacon(`App${step}Complete`, "Duration(8 ms)", step === "Exit" ? "report" : "signal");
}

const CTRL_C = 0x03;
/** A client that never reads is disconnected. */
const UNREAD_LIMIT = 4 * 1024 * 1024;

/** The BrightScript console (2.2): one client, the buffer replayed without a greeting, CRLF lines. */
export function attachConsole(buffer: ConsoleBuffer, socket: Socket): void {
  if (buffer.listener !== null) {
    // What the client sends is read too, else its end is never seen.
    socket.resume().end("Console connection is already in use.\r\n");
    return;
  }
  const listener = (line: string) => {
    if (socket.writableLength > UNREAD_LIMIT) socket.destroy();
    else socket.write(`${line}\r\n`);
  };
  buffer.listener = listener;
  socket.on("close", () => {
    if (buffer.listener === listener) buffer.listener = null;
  });
  // Ctrl-C breaks into the debugger; anything else is ignored while the app runs.
  socket.on("data", (chunk: Uint8Array) => {
    if (chunk.includes(CTRL_C)) socket.write("\r\nBrightScript Debugger> ");
  });
  if (buffer.lines.length > 0) socket.write(buffer.lines.map((line) => `${line}\r\n`).join(""));
}
