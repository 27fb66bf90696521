import type { Model } from "./model.ts";

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
