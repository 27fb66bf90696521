/** A helper process that takes orders in lines of JSON and answers each with a line: load and sets, never in the measured process. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

interface Answered {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** Orders by name, as `obey` is given them. */
type Orders = Readonly<Record<string, (given: never) => unknown>>;
type Given<Of extends Orders, Name extends keyof Of> = Parameters<Of[Name]>[0];
type Result<Of extends Orders, Name extends keyof Of> = Awaited<ReturnType<Of[Name]>>;

export class Worker<Of extends Orders> {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #orders = 0;

  /** Starts a script that calls `obey`. */
  constructor(script: string) {
    this.#child = spawn(process.execPath, [script], { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: this.#child.stdout ?? process.stdin });
    lines.on("line", (line) => this.#answered(JSON.parse(line) as Answered));
    this.#child.on("exit", (code) => {
      for (const one of this.#waiting.values()) one.reject(new Error(`${script} ended with ${code}`));
    });
  }

  ask<Name extends keyof Of & string>(order: Name, given: Given<Of, Name>): Promise<Result<Of, Name>> {
    return new Promise((resolve, reject) => {
      const id = this.#orders++;
      this.#waiting.set(id, { resolve: resolve as Waiting["resolve"], reject });
      this.#child.stdin?.write(`${JSON.stringify({ id, order, given })}\n`);
    });
  }

  stop(): void {
    this.#waiting.clear();
    this.#child.kill("SIGKILL");
  }

  #answered({ id, result, error }: Answered): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(error));
  }
}

/** The worker's side: carries out what comes on stdin, and ends with it. */
export function obey(orders: Orders): void {
  const lines = createInterface({ input: process.stdin });
  lines.on("line", async (line) => {
    const { id, order, given } = JSON.parse(line) as { id: number; order: string; given: never };
    try {
      const result = await orders[order]?.(given);
      process.stdout.write(`${JSON.stringify({ id, result: result ?? null })}\n`);
    } catch (error) {
      process.stdout.write(
        `${JSON.stringify({ id, error: error instanceof Error ? error.message : String(error) })}\n`,
      );
    }
  });
  lines.on("close", () => process.exit(0));
}
