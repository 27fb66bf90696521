/** A program in a real terminal: a pty made by python3, its job control included, and a screen that reads what it draws. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";

/**
 * Makes the terminal, and in it a shell of the smallest kind: one job in front, continued after it was stopped. What
 * it sees of the job and of the terminal it writes as `<<stopped cooked>>`, `<<ended 0 cooked>>`.
 */
const driver = `
import fcntl, json, os, pty, select, signal, struct, sys, termios, time
columns, rows, command = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
def resize(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
def look():
    flags = termios.tcgetattr(0)[3]
    return "cooked" if flags & termios.ICANON and flags & termios.ECHO else "raw"
def shell():
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    time.sleep(0.1)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(command[0], command)
    os.write(1, b"<<job %d>>\\r\\n" % job)
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        if os.WIFSTOPPED(status):
            os.write(1, ("<<stopped %s>>\\r\\n" % look()).encode())
            os.tcsetpgrp(0, job)
            os.kill(-job, signal.SIGCONT)
            continue
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        os.write(1, ("<<ended %d %s>>\\r\\n" % (code, look())).encode())
        time.sleep(0.1)
        os._exit(0)
pid, fd = pty.fork()
if pid == 0:
    shell()
resize(fd, columns, rows)
pending = b""
while True:
    ready, _, _ = select.select([fd, 0], [], [])
    if fd in ready:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        os.write(1, data)
    if 0 in ready:
        data = os.read(0, 65536)
        if not data:
            break
        pending += data
        while b"\\n" in pending:
            line, pending = pending.split(b"\\n", 1)
            words = line.decode().split(" ")
            if words[0] == "send":
                os.write(fd, bytes.fromhex(words[1]))
            else:
                resize(fd, int(words[1]), int(words[2]))
os.kill(pid, signal.SIGHUP)
`;

/** Why no terminal can be made here, or `null`. */
export function whyNoPty(): string | null {
  const { status } = spawnSync("python3", ["-c", "import fcntl, pty, termios"], { stdio: "ignore" });
  return status === 0 ? null : "there is no python3 with a pty module";
}

const waits = 10_000;

export class Pty {
  readonly #child: ChildProcess;
  readonly #screen = new Screen();
  readonly #ended: Promise<unknown>;

  constructor(command: readonly string[], env: Record<string, string | undefined>, columns = 80, rows = 24) {
    this.#child = spawn("python3", ["-c", driver, String(columns), String(rows), JSON.stringify(command)], {
      env: { ...process.env, TERM: "xterm-256color", LANG: "C.UTF-8", LC_ALL: "", NO_COLOR: "", ...env },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdout?.on("data", (bytes: Buffer) => this.#screen.write(bytes.toString("utf8")));
    this.#ended = new Promise((resolve) => this.#child.on("close", resolve));
  }

  /** What stands on the screen, its empty end left out. */
  get text(): string {
    return this.#screen.text;
  }

  /** All that was ever written. */
  get written(): string {
    return this.#screen.written;
  }

  /** Whether the alternate screen is shown. */
  get alternate(): boolean {
    return this.#screen.alternate;
  }

  /** The process in the terminal. */
  get job(): number {
    return Number(/<<job (\d+)>>/.exec(this.written)?.[1]);
  }

  send(text: string): void {
    this.#child.stdin?.write(`send ${Buffer.from(text).toString("hex")}\n`);
  }

  resize(columns: number, rows: number): void {
    this.#child.stdin?.write(`size ${columns} ${rows}\n`);
  }

  /** Waits until that is on the screen. */
  async shows(wanted: string | RegExp): Promise<void> {
    await this.until(
      () => (typeof wanted === "string" ? this.text.includes(wanted) : wanted.test(this.text)),
      `${wanted}`,
    );
  }

  async until(holds: () => boolean, what: string): Promise<void> {
    const end = performance.now() + waits;
    while (!holds()) {
      if (performance.now() > end) throw new Error(`not within ${waits / 1000} s: ${what}\nThe screen:\n${this.text}`);
      await Bun.sleep(20);
    }
  }

  /** How the job ended and how it left the terminal: `0 cooked`. */
  async end(): Promise<string> {
    await this.until(() => this.written.includes("<<ended"), "the end of the program");
    return /<<ended ([^>]*)>>/.exec(this.written)?.[1] ?? "";
  }

  async dispose(): Promise<void> {
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 2_000);
    await this.#ended;
    clearTimeout(timer);
  }
}

/** As much of a terminal as the remote needs. */
class Screen {
  written = "";
  alternate = false;
  #rest = "";
  #lines: string[] = [];
  #row = 0;

  get text(): string {
    return this.#lines
      .map((line) => line.trimEnd())
      .join("\n")
      .trimEnd();
  }

  write(text: string): void {
    this.written += text;
    let rest = this.#rest + text;
    for (;;) {
      const token = /^(?:\x1b\[([?\d;]*)([A-Za-z])|\r\n|[^\x1b\r]+|\r(?!$))/.exec(rest);
      if (!token) break;
      rest = rest.slice(token[0].length);
      if (token[2] !== undefined) this.#obey(token[1] ?? "", token[2]);
      else if (token[0] === "\r\n") this.#row++;
      else this.#lines[this.#row] = (this.#lines[this.#row] ?? "") + token[0];
      for (let row = 0; row < this.#row; row++) this.#lines[row] ??= "";
    }
    this.#rest = rest;
  }

  #obey(parameters: string, letter: string): void {
    if (letter === "H") this.#row = Number(parameters.split(";")[0] || 1) - 1;
    if (letter === "K") this.#lines[this.#row] = "";
    if (letter === "J") this.#lines = [];
    if (parameters !== "?1049") return;
    this.alternate = letter === "h";
    this.#lines = [];
    this.#row = 0;
  }
}
