/**
 * A simulated Roku behind relays at its two HTTP ports, which keep the requests byte for byte, and may change or hold back
 * the answers. What the set itself does is known by its `simulator`.
 */
import net from "node:net";
import { element } from "../../src/simulators/bench/documents.ts";
import {
  createRokuSimulator,
  type RokuSimulator,
  type RokuSimulatorOptions,
  type SimulatedApp,
} from "../../src/simulators/roku.ts";
import { freeHost } from "./lane.ts";
import { type Relay, startRelay } from "./relay.ts";
import { type Answer, type RawRequest, type Reply, type Style, Wire } from "./wire.ts";

export interface WiredOptions extends Partial<RokuSimulatorOptions> {
  readonly style?: Style;
  /** Fields of its device-info that differ; `null` leaves one out. */
  readonly facts?: Readonly<Record<string, string | null>>;
}

let made = 0;

export class WiredRoku {
  readonly simulator: RokuSimulator;
  readonly wire: Wire;
  readonly installer: Wire;
  readonly facts: Map<string, string | null>;
  /** Changes of the set's answers, except challenges, by path. */
  readonly spoiled = new Map<string, (said: Reply) => Answer>();
  answerMs = 0;
  /** How many magic packets have woken it, and how long it takes until it answers. */
  wakes = 0;
  wakeMs = 150;
  #console: Relay | null = null;
  readonly #name: string;
  #asleep = false;
  #waking: ReturnType<typeof setTimeout> | undefined;

  private constructor({ style = {}, facts = {}, ...options }: WiredOptions) {
    const serial =
      options.serial ?? `ZB${String(process.pid % 10_000).padStart(4, "0")}${`${++made}`.padStart(6, "0")}`;
    this.#name = options.name ?? `Set ${serial}`;
    this.simulator = createRokuSimulator({
      host: freeHost(),
      ssdp: false,
      launchMs: 0,
      limitedLaunch: false,
      developer: { password: "secret-of-the-set" },
      ...options,
      serial,
      name: this.#name,
      port: 0,
      onEvent: ({ type }) => type === "wake" && this.#woken(),
    });
    this.facts = new Map(Object.entries(facts));
    this.wire = new Wire((request) => this.#answer(request));
    this.wire.style = style;
    this.wire.port = options.port ?? 0;
    this.installer = new Wire((request) => this.#ask(this.simulator.ports.installer ?? 0, request));
    this.installer.style = { close: "said" };
  }

  static async start(options: WiredOptions = {}): Promise<WiredRoku> {
    const set = new WiredRoku(options);
    await set.simulator.start();
    const { console } = set.simulator.ports;
    await set.#listen();
    set.#console = await startRelay(set.host, console ?? 0);
    return set;
  }

  /** The relay before its console. */
  get console(): Relay {
    if (this.#console === null) throw new Error("it is not started");
    return this.#console;
  }

  #listen(): Promise<unknown> {
    return Promise.all([this.wire, this.installer].map((wire) => wire.listen(this.host, wire.port)));
  }

  get host(): string {
    return this.simulator.host;
  }

  get port(): number {
    return this.wire.port;
  }

  /** Answers in place of the set, which does not get the request, by path. */
  get broken(): Map<string, Answer> {
    return this.wire.answers;
  }

  get apps(): readonly SimulatedApp[] {
    return this.simulator.apps;
  }

  set apps(apps: readonly SimulatedApp[]) {
    this.simulator.apps = apps;
  }

  /** The app in front. */
  get active(): { readonly id: string } | null {
    const { activeApp: id } = this.simulator.state;
    return id === null ? null : { id };
  }

  set active(app: { readonly id: string } | null) {
    this.simulator.show(app?.id ?? null);
  }

  get serial(): string {
    return this.simulator.serial;
  }

  /** What a set needs to pass for this one. */
  get identity() {
    return { serial: this.serial, mac: this.simulator.mac, name: this.#name };
  }

  /** The body of `POST /devices` that adds it. */
  get address() {
    const ports = { installer: this.installer.port, console: this.console.port, wake: this.simulator.ports.wake };
    return { host: this.host, port: this.port, ports };
  }

  /** The targets of all commands received. */
  get commands(): string[] {
    return this.wire.requests.filter(({ method }) => method === "POST").map(({ target }) => target);
  }

  /** The forms received by its developer page. */
  get uploads(): RawRequest[] {
    return this.installer.requests.filter(({ body }) => body.length > 0);
  }

  forget(): void {
    this.wire.requests.length = 0;
    this.installer.requests.length = 0;
  }

  /** Presses a key of its own remote. */
  async press(key: string): Promise<void> {
    await fetch(`http://${this.host}:${this.simulator.port}/keypress/${key}`, { method: "POST" });
  }

  /** A document as the set itself has it. */
  async document(path: string): Promise<string> {
    return (await fetch(`http://${this.host}:${this.simulator.port}${path}`)).text();
  }

  /** Deep sleep: only the network chip listens. */
  async sleep(): Promise<void> {
    this.#asleep = true;
    await Promise.all([this.#hangUp(), this.simulator.sleep("deep")]);
  }

  get asleep(): boolean {
    return this.#asleep;
  }

  async stop(): Promise<void> {
    clearTimeout(this.#waking);
    this.#asleep = true;
    await Promise.all([this.#hangUp(), this.simulator.stop()]);
  }

  #hangUp(): Promise<unknown> {
    return Promise.all([this.wire.close(), this.installer.close(), this.console.stop()]);
  }

  /** It wakes to standby. */
  #woken(): void {
    this.wakes++;
    this.#waking = setTimeout(async () => {
      await this.simulator.sleep("standby");
      this.#asleep = false;
      await this.#listen();
    }, this.wakeMs);
  }

  async #answer(request: RawRequest): Promise<Answer> {
    if (this.answerMs > 0) await Bun.sleep(this.answerMs);
    return this.#ask(this.simulator.port, request);
  }

  async #ask(port: number, request: RawRequest): Promise<Answer> {
    const said = await ask(this.host, port, request);
    if (typeof said === "string" || said.status === 401) return said;
    const told = request.path === "/query/device-info" ? { ...said, body: this.#told(`${said.body}`) } : said;
    return this.spoiled.get(request.path)?.(told) ?? told;
  }

  #told(info: string): string {
    for (const [name, value] of this.facts) {
      const line = value === null ? "" : element(name, {}, value);
      const without = info.replace(new RegExp(`<${name}(>[^<]*</${name}>|\\s*/>)`), "");
      info = without.replace("</device-info>", () => `${line}</device-info>`);
    }
    return info;
  }
}

/** The answer of the set to a request; `reset` where there is none. The body is sent after its 100 Continue. */
function ask(host: string, port: number, { head, body }: RawRequest): Promise<Reply | "reset"> {
  const kept = head.split("\r\n").filter((line) => !/^(connection|expect):/i.test(line));
  const wanted = body.length > 0 ? ["Expect: 100-continue"] : [];
  return new Promise((resolve) => {
    let said = Buffer.alloc(0);
    const socket = net.connect(port, host, () =>
      socket.write([...kept, "Connection: close", ...wanted, "", ""].join("\r\n"), "latin1"),
    );
    socket.on("data", (bytes: Buffer) => {
      said = Buffer.concat([said, bytes]);
      if (!said.toString("latin1").startsWith("HTTP/1.1 100 ")) return;
      said = Buffer.alloc(0);
      socket.write(body);
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(said.length === 0 ? "reset" : replyOf(said)));
  });
}

function replyOf(said: Buffer): Reply {
  const end = said.indexOf("\r\n\r\n");
  const [line = "", ...rest] = said.subarray(0, end).toString("latin1").split("\r\n");
  const headers = Object.fromEntries(
    rest.map((field) => field.split(/: (.*)/s)).filter(([name]) => name !== "Content-Length"),
  );
  return { status: Number(line.split(" ")[1]), headers, body: said.subarray(end + 4) };
}
