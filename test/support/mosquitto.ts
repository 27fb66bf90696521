/** Mosquitto as a broker for one test, and its own programs as clients. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./daemon.ts";
import { saidBy } from "./said.ts";

const missing = ["mosquitto", "mosquitto_sub", "mosquitto_pub", "mosquitto_rr"].filter(
  (name) => Bun.which(name) === null,
);
/** Why there can be no broker; `null` where there can. */
export const noMosquitto = missing.length === 0 ? null : `there is no ${missing.join(", no ")}`;
if (noMosquitto !== null) process.stderr.write(`skipped: what needs an MQTT broker: ${noMosquitto}\n`);

/** A message as received by mosquitto_sub. */
export interface Heard {
  readonly topic: string;
  readonly text: string;
  /** Kept from before the subscription. */
  readonly retained: boolean;
  /** `{}` where the text is no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of every kind
  readonly json: any;
}

export interface Ears {
  readonly all: readonly Heard[];
  /** Waits for a message, among earlier ones as well. */
  until(is: (heard: Heard) => boolean, withinMs?: number): Promise<Heard>;
  close(): void;
}

export class Mosquitto {
  readonly port: number;
  readonly folder: string;
  readonly #client: readonly string[];
  #process: ChildProcess | undefined;
  readonly #ears = new Set<Ears>();

  private constructor(port: number, folder: string, client: readonly string[]) {
    this.port = port;
    this.folder = folder;
    this.#client = client;
  }

  /**
   * Starts a broker that keeps nothing on disk. `lines` are further settings; `client` are the options with which its own
   * programs connect.
   */
  static async start(
    lines: (folder: string) => readonly string[] = () => ["allow_anonymous true"],
    client: readonly string[] = [],
  ): Promise<Mosquitto> {
    const folder = mkdtempSync(join(tmpdir(), "zapd-mosquitto-"));
    const broker = new Mosquitto(await freePort(), folder, client);
    const settings = [`listener ${broker.port} 127.0.0.1`, "user root", "persistence false", ...lines(folder)];
    writeFileSync(join(folder, "mosquitto.conf"), `${settings.join("\n")}\n`);
    await broker.begin();
    return broker;
  }

  /** Its process, while it runs. */
  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  async begin(): Promise<void> {
    const own = spawn("mosquitto", ["-c", join(this.folder, "mosquitto.conf")], { stdio: ["ignore", "pipe", "pipe"] });
    const said = saidBy(own);
    this.#process = own;
    for (let tries = 0; tries < 2_000; tries++) {
      if (own.exitCode !== null) throw new Error(`mosquitto ended:\n${said.all}`);
      if (await listens(this.port)) return;
      await Bun.sleep(10);
    }
    throw new Error(`mosquitto does not listen:\n${said.all}`);
  }

  /** Ends it, with its retained messages. */
  async end(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const own = this.#process;
    if (!own || own.exitCode !== null || own.signalCode !== null) return;
    const ended = new Promise((resolve) => own.once("exit", resolve));
    own.kill(signal);
    await ended;
  }

  /** Subscribes; retained messages come first. */
  hear(...filters: readonly string[]): Ears {
    const words = [...filters.flatMap((filter) => ["-t", filter]), "-V", "5", "-F", "%t %x %r"];
    const own = spawn("mosquitto_sub", [...this.#address, ...words], { stdio: ["ignore", "pipe", "ignore"] });
    const all: Heard[] = [];
    const waiting = new Set<() => void>();
    let rest = "";
    own.stdout.on("data", (bytes: Buffer) => {
      const parts = (rest + bytes.toString()).split("\n");
      rest = parts.pop() ?? "";
      all.push(...parts.map(heardIn));
      for (const look of [...waiting]) look();
    });
    const until: Ears["until"] = (is, withinMs = 20_000) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(look);
          reject(
            new Error(`it was not heard; what was:\n${all.map(({ topic, text }) => `${topic} ${text}`).join("\n")}`),
          );
        }, withinMs);
        const look = () => {
          const found = all.find(is);
          if (!found) return;
          clearTimeout(timer);
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      });
    const ears: Ears = {
      all,
      until,
      close: () => {
        own.kill("SIGKILL");
        this.#ears.delete(ears);
      },
    };
    this.#ears.add(ears);
    return ears;
  }

  /** The retained messages of a topic. */
  async kept(filter: string): Promise<Heard[]> {
    // They come in the order of the filters: with the last one all have come.
    const last = "kept/last";
    await this.say(last, "here", "-r");
    const ears = this.hear(filter, last);
    await ears.until(({ topic }) => topic === last);
    ears.close();
    return ears.all.filter(({ topic, retained }) => retained && topic !== last);
  }

  /** Publishes a message, and waits until the broker has it. */
  async say(topic: string, text: string, ...words: readonly string[]): Promise<void> {
    const message = text === "" ? ["-n"] : ["-m", text];
    const { status, stderr } = await this.#run("mosquitto_pub", "-q", "1", "-t", topic, ...message, ...words);
    if (status !== 0) throw new Error(`mosquitto_pub: ${stderr}`);
  }

  /** Sends a request as clients of MQTT 5 do, and returns the response. */
  // biome-ignore lint/suspicious/noExplicitAny: an answer of any operation
  async ask(topic: string, call: object): Promise<any> {
    const answers = ["-e", "answers/mine", "-W", "10", "-D", "publish", "correlation-data", "mark"];
    const words = ["-q", "1", "-t", topic, ...answers, "-m", JSON.stringify(call)];
    const { stdout, stderr } = await this.#run("mosquitto_rr", ...words);
    if (stdout === "") throw new Error(`no answer came: ${stderr}`);
    return JSON.parse(stdout);
  }

  /** Not synchronous: the sets of a test run in this process. */
  async #run(program: string, ...words: readonly string[]) {
    const own = spawn(program, [...this.#address, "-V", "5", ...words], { stdio: ["ignore", "pipe", "pipe"] });
    const said = saidBy(own);
    const status = await new Promise((resolve) => own.on("close", resolve));
    return { status, ...said };
  }

  async dispose(): Promise<void> {
    for (const ears of [...this.#ears]) ears.close();
    await this.end();
    rmSync(this.folder, { recursive: true, force: true });
  }

  get #address(): string[] {
    return ["-h", "127.0.0.1", "-p", String(this.port), ...this.#client];
  }
}

function heardIn(line: string): Heard {
  const [topic = "", hex = "", retained] = line.split(" ");
  const text = Buffer.from(hex, "hex").toString();
  return {
    topic,
    text,
    retained: retained === "1",
    get json() {
      try {
        return JSON.parse(text);
      } catch {
        return {};
      }
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
    socket.on("connect", () => socket.destroy());
  });
}
