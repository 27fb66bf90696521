/**
 * A real Kodi, from Debian's packages, in a network namespace of its own with a wire to this machine. It has a screen that
 * nobody sees and a sound card that nobody hears. Everything goes with `stop`, or with this process.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { shelfIn, writePictures } from "./real-kodi/pictures.ts";
import { clipFile, plugin, script, writeProfile } from "./real-kodi/profile.ts";
import { kodiFile } from "./real-kodi/reasons.ts";
import { settle } from "./real-kodi/settle.ts";

export { whyNoKodi, whyNoTuner } from "./real-kodi/reasons.ts";

export type RealKodi = Awaited<ReturnType<typeof startRealKodi>>;

export interface RealKodiOptions {
  readonly name?: string;
  /** Asked of the user `kodi` over HTTP; never on 9090. */
  readonly password?: string;
  /** Two channels, `Zapd One` and `Zapd Two`, by Debian's kodi-pvr-iptvsimple. */
  readonly pvr?: boolean;
  /** It is a DLNA renderer, too. */
  readonly renderer?: boolean;
  /** An icon for the plug-in, media with pictures in a source, a logo for the first channel, and folders for screenshots. */
  readonly pictures?: boolean;
}

const rig = join(import.meta.dir, "real-kodi", "rig.sh");
const startWithin = 45_000;
/** Now and then one hangs on its way out (players.md 2.3). */
const endWithin = 10_000;

export async function startRealKodi(options: RealKodiOptions = {}) {
  const name = options.name ?? "Zapd Kodi";
  const password = options.password ?? null;
  const pvr = options.pvr ?? false;
  const clips = { video: clipFile("video"), audio: clipFile("audio") };
  const folder = mkdtempSync(join(tmpdir(), "zapd-kodi-"));
  writeProfile(folder, { name, password, pvr, renderer: options.renderer ?? false, clip: clips.video });
  const pictures = shelfIn(folder);
  if (options.pictures) writePictures(folder, clips.video, pvr);
  const { number, child } = await takeNetwork(folder);
  const host = `10.77.${number}.2`;
  const life = createLife(child, folder, host);
  const authorization = password === null ? {} : { authorization: `Basic ${btoa(`kodi:${password}`)}` };
  const ask = async (body: unknown) => {
    const response = await fetch(`http://${host}:8080/jsonrpc`, {
      method: "POST",
      headers: { "content-type": "application/json", ...authorization },
      body: typeof body === "string" ? body : JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`Kodi answered ${response.status}`);
    return text === "" ? null : (JSON.parse(text) as unknown);
  };
  const call = async (method: string, params?: unknown) => {
    const answer = await ask({ jsonrpc: "2.0", id: 1, method, ...(params === undefined ? {} : { params }) });
    if (typeof answer === "object" && answer !== null && "result" in answer) return answer.result;
    throw new Error(`${method}: ${JSON.stringify(answer)}`);
  };
  try {
    await life.start();
    await settle(call, pvr);
  } catch (error) {
    await life.stop();
    throw error;
  }
  return {
    name,
    /** Its own address, and ours at the other end of the wire: the one to discover from. */
    host,
    ourAddress: `10.77.${number}.1`,
    interfaceName: nameOf(number),
    port: 8080,
    /** WebSocket and bare TCP. */
    tcpPort: 9090,
    /** Two minutes each, as Kodi sees them. */
    clips,
    /** Installed and enabled: a video plug-in with the clip in it, and a script that opens dialogs (`yes-no`, `ok`, `context-menu`, `select`, `keyboard`, `number`: its first parameter). */
    plugin,
    script,
    /** With the option `pictures`. */
    pictures,
    /** Its home folder; its log is `.kodi/temp/kodi.log` in there. */
    folder,
    /** One JSON-RPC call over HTTP: the result, or an error with the answer in its message. */
    call,
    /** Any body over HTTP, and what came back. */
    ask,
    /** Waits for the end of a process that somebody tells to end now; one that hangs is killed. */
    ended: life.ended,
    /** Starts it again with the same profile. */
    start: life.start,
    /** Starts another renderer in its network, of the title that it is given. */
    also: (program: "gmediarender" | "rygel", title: string) => void child.stdin?.write(`${program} ${title}\n`),
    /** Ends it and takes away everything. */
    stop: life.stop,
    /** As the user does it; resolves when the process has ended. */
    async quit() {
      const ended = life.ended();
      await call("Application.Quit");
      await ended;
    },
  };
}

const nameOf = (number: number) => `zapdkodi${number}`;

/** A subnet that no other test has: the name of its namespace is the lock. */
async function takeNetwork(folder: string): Promise<{ number: number; child: ChildProcess }> {
  for (let tries = 0; tries < 200; tries += 1) {
    const number = 20 + ((process.pid + tries) % 200);
    const display = String(300 + number);
    const child = spawn("bash", [rig, nameOf(number), `10.77.${number}`, folder, display, kodiFile() ?? ""], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const said = await lineOf(child, /^(up|taken)$/m, startWithin);
    if (said === "up") return { number, child };
    if (said === null) break;
  }
  throw new Error("no network for a real Kodi could be made");
}

/** The first match in what a process says from now on; null when it ends or the time is over. */
function lineOf(child: ChildProcess, wanted: RegExp, within: number): Promise<string | null> {
  return new Promise((resolve) => {
    let said = "";
    const finish = (line: string | null) => {
      clearTimeout(timer);
      child.stdout?.off("data", hear);
      child.off("exit", end);
      resolve(line);
    };
    const hear = (bytes: Uint8Array) => {
      said += Buffer.from(bytes).toString();
      const found = wanted.exec(said);
      if (found) finish(found[1] ?? found[0]);
    };
    const end = () => finish(null);
    const timer = setTimeout(end, within);
    child.stdout?.on("data", hear);
    child.on("exit", end);
  });
}

function createLife(child: ChildProcess, folder: string, host: string) {
  let pid = "";
  let running: Promise<string | null> = Promise.resolve(null);
  let isToEnd = false;
  const gone = new Promise<void>((resolve) => child.on("exit", () => resolve()));
  const ended = async () => {
    isToEnd = true;
    const late = Bun.sleep(endWithin).then(() => "late");
    if ((await Promise.race([running, late])) === "late") child.stdin?.write(`kill ${pid}\n`);
    await running;
  };
  return {
    ended,
    async start() {
      const started = lineOf(child, /^pid (\d+)$/m, startWithin);
      isToEnd = false;
      running = lineOf(child, /^ended (\d+)$/m, 3_600_000);
      // A test that fails since its Kodi has crashed must say so: nothing else that it prints would.
      running.then((status) => {
        if (isToEnd || status === null) return;
        const logs = ["kodi.log", ".kodi/temp/kodi.log"].map((log) => tail(join(folder, log)));
        process.stderr.write(`the real Kodi ended by itself, with status ${status}:\n${logs.join("\n")}\n`);
      });
      child.stdin?.write("start\n");
      pid = (await started) ?? "";
      // The web server is the last to start: its first answer says that the rest is there.
      for (const end = performance.now() + startWithin; performance.now() < end; await Bun.sleep(100))
        if (await answers(`http://${host}:8080/jsonrpc`)) return;
      throw new Error(`Kodi did not answer within ${startWithin} ms: ${tail(join(folder, "kodi.log"))}`);
    },
    async stop() {
      isToEnd = true;
      child.stdin?.end();
      await gone;
    },
  };
}

async function answers(url: string): Promise<boolean> {
  try {
    await (await fetch(url, { signal: AbortSignal.timeout(1_000) })).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

function tail(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8").slice(-2_000) : "nothing in its log";
}
