/**
 * The files that a key press passes: those of which a named function is entered by a warm press. Deno is asked, whose
 * inspector counts calls; under Bun `src/runtime/bun.ts` stands in the place of `deno.ts`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { denoFlags, freePort, startTestDaemon } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { root, sourcesIn } from "../support/sources.ts";

interface Covered {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly count: number }[];
  }[];
}

const presses = 3;

/** The files, from the top of the project, from the listener to the socket. */
export async function filesOfAPress(): Promise<string[]> {
  const inspected = await freePort();
  const words = ["run", `--inspect=127.0.0.1:${inspected}`, ...denoFlags("start"), join(root, "src/main.ts")];
  const deno = [join(root, "node_modules/.bin/deno"), ...words].map((word) => `'${word}'`).join(" ");
  const set = createRokuSimulator({ name: "Den", kind: "tv", ssdp: false });
  await set.start();
  const daemon = await startTestDaemon({
    speed: 1,
    fromSource: true,
    within: ["sh", "-c", `shift; exec ${deno} "$@"`],
  });
  try {
    await daemon.api("POST", "/devices", { host: "127.0.0.1", port: set.port, platform: "roku" });
    const press = async () => {
      const { status, body } = await daemon.api("POST", "/devices/Den/remote/key", { key: "home" });
      if (status !== 200) throw new Error(`the press was answered ${JSON.stringify(body)}`);
    };
    const profiler = await openProfiler(inspected);
    // The first ones connect, and prove who is there.
    for (let warm = 0; warm < presses; warm++) await press();
    // That it is driven now is written down once.
    const kept = () => readFileSync(join(daemon.stateFolder, "devices.json"), "utf8");
    await until("it is written", () => kept().includes('"used": true'));
    const entered: ReadonlySet<string>[] = [];
    for (let warm = 0; warm < presses; warm++) {
      // Apart from each other: what is being written down meanwhile is not in all of them.
      await Bun.sleep(250);
      await profiler.take();
      await press();
      entered.push(await profiler.take());
    }
    profiler.close();
    // What a timer does meanwhile is in some of them only.
    const [first = new Set<string>(), ...others] = entered;
    return inOrder([...first].filter((path) => others.every((one) => one.has(path))));
  } finally {
    await daemon.dispose();
    await set.stop();
  }
}

/** Rooms in the order in which a request passes them; within a room, whoever calls stands before what is called. */
const rooms = [
  "runtime",
  "zapd.ts",
  "server/guard",
  "server",
  "devices",
  "platforms",
  "transport",
  "config",
  "api",
  "system",
];

function inOrder(paths: readonly string[]): string[] {
  const sources = sourcesIn("src");
  const done: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    if (done.includes(path) || way.includes(path)) return;
    const imports = sources.find((source) => source.path === path)?.imports ?? [];
    for (const { from } of imports.toReversed()) if (paths.includes(from)) visit(from, [...way, path]);
    done.unshift(path);
  };
  for (const path of paths.toSorted().toReversed()) visit(path, []);
  const rank = (path: string) => rooms.findIndex((room) => path.startsWith(`src/${room}`));
  return done.toSorted((one, other) => rank(one) - rank(other));
}

/** What a file says of itself: the first sentence of the comment that it begins with. */
export function purposeOf(path: string): string {
  const { text } = sourcesIn("src").find((source) => source.path === path) ?? { text: "" };
  const comment = /^\/\*\*(.*?)\*\//s.exec(text)?.[1] ?? "";
  const words = comment
    .replace(/^\s*\* ?/gm, "")
    .replace(/\s+/g, " ")
    .replace(/ \([^)]*\.md[^)]*\)/g, "")
    .trim();
  return (/^.*?[.](?= [A-Z]|$)/.exec(words)?.[0] ?? words).replace(/\.$/, "");
}

const sourceUrl = `file://${root}/src/`;

async function openProfiler(port: number) {
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
    webSocketDebuggerUrl: string;
  }[];
  const socket = new WebSocket(targets[0]?.webSocketDebuggerUrl ?? "");
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  let last = 0;
  const waiting = new Map<number, (result: { result?: Covered[] }) => void>();
  socket.onmessage = ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result: { result?: Covered[] } };
    if (id !== undefined) waiting.get(id)?.(result);
  };
  const ask = (method: string, params = {}) =>
    new Promise<{ result?: Covered[] }>((resolve) => {
      waiting.set(++last, resolve);
      socket.send(JSON.stringify({ id: last, method, params }));
    });
  await ask("Profiler.enable");
  await ask("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  return {
    /** The files of which a function was entered since it was asked last. */
    async take(): Promise<ReadonlySet<string>> {
      const { result = [] } = await ask("Profiler.takePreciseCoverage");
      // A function without a name of its own is told by the way to it: `operations.pressKey.body…`.
      const isEntered = ({ functionName, ranges }: Covered["functions"][number]) =>
        functionName !== "" && !functionName.includes(".") && ranges.some(({ count }) => count > 0);
      const files = result.filter(({ url, functions }) => url.startsWith(sourceUrl) && functions.some(isEntered));
      return new Set(files.map(({ url }) => `src/${url.slice(sourceUrl.length)}`));
    },
    close: () => socket.close(),
  };
}
