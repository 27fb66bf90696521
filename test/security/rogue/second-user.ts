/**
 * Another user of this machine, as a process: starts a stranger that shows the identity of a device, adds it to the daemon by its
 * address, tries to read the files and the control socket, and prints what it got as JSON.
 */
import { readFileSync } from "node:fs";
import net from "node:net";
import { createInterface } from "node:readline";
import type { PlatformName } from "./sets.ts";
import { startStranger } from "./strangers.ts";

export interface Task {
  readonly of: {
    readonly platform: PlatformName;
    readonly identity: string;
    readonly mac: string;
    readonly name: string;
    readonly certificate: { readonly key: string; readonly cert: string } | null;
  };
  readonly host: string;
  readonly url: string;
  readonly state: string;
  readonly announces: boolean;
}

export interface Result {
  readonly uid: number;
  /** The answers of the daemon to each try to add it. */
  readonly answers: readonly { status: number; code: string; hint: string }[];
  /** What was read of files and the socket that are the user's alone. */
  readonly read: readonly string[];
  readonly presses: number;
  readonly typed: string;
  readonly received: string;
}

const task = JSON.parse(process.argv[2] ?? "") as Task;
const stranger = await startStranger({ of: task.of, host: task.host, manner: "copy", announces: task.announces });
const answers: Result["answers"][number][] = [];
const read: string[] = [];

/** With each spelling of the address. */
async function add(): Promise<void> {
  const { place } = stranger;
  for (const body of [place, { ...place, host: `::ffff:${place.host}` }, { host: `${place.host}:${place.port}` }]) {
    const response = await fetch(`${task.url}/devices`, {
      method: "POST",
      body: JSON.stringify(body),
      keepalive: false,
    });
    const said = (await response.json()) as { error?: { code: string; hint?: string } };
    answers.push({ status: response.status, code: said.error?.code ?? "", hint: said.error?.hint ?? "" });
  }
}

function readFiles(): Promise<void> {
  for (const name of ["credentials.json", "devices.json", "../config.toml"]) {
    try {
      read.push(`${name}: ${readFileSync(`${task.state}/${name}`, "utf8").slice(0, 40)}`);
    } catch {
      // Refused, as it should be.
    }
  }
  return new Promise((resolve) => {
    const socket = net.connect(`${task.state}/zapd.sock`);
    socket.on("connect", () => {
      read.push("zapd.sock");
      socket.destroy();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve());
  });
}

const lines = createInterface({ input: process.stdin });
for await (const line of lines) {
  if (line === "add") await add();
  if (line === "readFiles") await readFiles();
  if (line === "end") break;
  process.stdout.write("done\n");
}
await stranger.off();
const result: Result = {
  uid: process.getuid?.() ?? -1,
  answers,
  read,
  presses: stranger.presses,
  typed: stranger.typed,
  received: stranger.recorder.received,
};
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
