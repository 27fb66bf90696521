/**
 * What another user of this machine can do, as a process of his own: puts a stranger up that shows the identity of a device,
 * tells the daemon that it is there, tries the files and the control socket; and says at its end what he got.
 */
import { readFileSync } from "node:fs";
import net from "node:net";
import { createInterface } from "node:readline";
import type { PlatformName } from "./sets.ts";
import { putUp } from "./strangers.ts";

export interface Errand {
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

export interface Loot {
  readonly uid: number;
  /** The answers of the daemon to each try to add it. */
  readonly answers: readonly { status: number; code: string; hint: string }[];
  /** What was read of files and the socket that are the user's alone. */
  readonly read: readonly string[];
  readonly presses: number;
  readonly typed: string;
  readonly heard: string;
}

const errand = JSON.parse(process.argv[2] ?? "") as Errand;
const stranger = await putUp({ of: errand.of, host: errand.host, manner: "copy", announces: errand.announces });
const answers: Loot["answers"][number][] = [];
const read: string[] = [];

/** As often as he likes, and with each spelling of the address. */
async function add(): Promise<void> {
  const { place } = stranger;
  for (const body of [place, { ...place, host: `::ffff:${place.host}` }, { host: `${place.host}:${place.port}` }]) {
    const response = await fetch(`${errand.url}/devices`, {
      method: "POST",
      body: JSON.stringify(body),
      keepalive: false,
    });
    const said = (await response.json()) as { error?: { code: string; hint?: string } };
    answers.push({ status: response.status, code: said.error?.code ?? "", hint: said.error?.hint ?? "" });
  }
}

function pry(): Promise<void> {
  for (const name of ["credentials.json", "devices.json", "../config.toml"]) {
    try {
      read.push(`${name}: ${readFileSync(`${errand.state}/${name}`, "utf8").slice(0, 40)}`);
    } catch {
      // As it should be.
    }
  }
  return new Promise((resolve) => {
    const socket = net.connect(`${errand.state}/zapd.sock`);
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
  if (line === "pry") await pry();
  if (line === "end") break;
  process.stdout.write("done\n");
}
await stranger.off();
const loot: Loot = {
  uid: process.getuid?.() ?? -1,
  answers,
  read,
  presses: stranger.presses,
  typed: stranger.typed,
  heard: stranger.ears.heard,
};
process.stdout.write(`${JSON.stringify(loot)}\n`, () => process.exit(0));
