/** R17: SIGTERM during keys, reads and changes of several callers. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { WiredRoku } from "../support/wired-roku.ts";

export interface Ended {
  /** Milliseconds of the slowest end. */
  readonly most: number;
  readonly answered: number;
}

const sets = 8;
const callersPerSet = 4;

/** Stops a daemon under load so many times, on one state. Fails when an answer is missing or wrong. */
export async function stopUnderLoad(times: number): Promise<Ended> {
  const tvs = await Promise.all(Array.from({ length: sets }, () => WiredRoku.start()));
  let daemon: TestDaemon | undefined;
  let [most, answered, interval] = [0, 0, 100];
  try {
    for (let time = 0; time < times; time++) {
      daemon = await startTestDaemon({ speed: 1, ...(daemon && { folder: daemon.folder }) });
      if (time > 0) {
        const found = (await daemon.api("GET", "/config")).body.data.discovery.interval_s;
        if (found !== interval) throw new Error(`end ${time}: ${interval} was answered, and ${found} is there`);
      } else
        for (const [at, tv] of tvs.entries()) await daemon.api("POST", "/devices", { ...tv.address, name: `TV ${at}` });
      const load = new Load(daemon, tvs, interval);
      await until("some are answered", () => load.answered > 5);
      await Bun.sleep(20 + ((time * 37) % 180));
      const began = performance.now();
      const status = await daemon.stop("SIGTERM");
      most = Math.max(most, performance.now() - began);
      if (status !== 0) throw new Error(`it ended with ${status}`);
      await load.end();
      answered += load.answered;
      interval = load.interval;
      if (existsSync(join(daemon.stateFolder, "zapd.sock"))) throw new Error("the socket is left");
    }
  } finally {
    await daemon?.dispose();
    await Promise.all(tvs.map((tv) => tv.stop()));
  }
  return { most, answered };
}

/** Callers that go on until nobody answers. */
class Load {
  answered = 0;
  /** The last change that was answered. */
  interval: number;
  readonly #daemon: TestDaemon;
  readonly #tvs: readonly WiredRoku[];
  readonly #before: readonly number[];
  readonly #pressed: number[];
  readonly #refused: number[];
  readonly #calling: Promise<void>[];

  constructor(daemon: TestDaemon, tvs: readonly WiredRoku[], interval: number) {
    this.#daemon = daemon;
    this.#tvs = tvs;
    this.interval = interval;
    this.#before = tvs.map((tv) => tv.commands.length);
    this.#pressed = tvs.map(() => 0);
    this.#refused = tvs.map(() => 0);
    const pressing = tvs.flatMap((_tv, at) => Array.from({ length: callersPerSet }, () => this.#press(at)));
    this.#calling = [...pressing, this.#change(), this.#repeat("GET", "/devices")];
  }

  /** Waits until all callers have ended, and compares what the sets received. */
  async end(): Promise<void> {
    await Promise.all(this.#calling);
    const sent = this.#tvs.map((tv, at) => tv.commands.length - (this.#before[at] ?? 0));
    // Each caller has one key under way at the end, which may have been sent and not answered.
    for (const [at, pressed] of this.#pressed.entries())
      if ((sent[at] ?? 0) < pressed || (sent[at] ?? 0) > pressed + callersPerSet)
        throw new Error(`TV ${at} was sent ${sent[at]} keys, and ${pressed} were answered as pressed`);
    await Bun.sleep(50);
    const later = this.#tvs.map((tv, at) => tv.commands.length - (this.#before[at] ?? 0));
    if (later.join() !== sent.join()) throw new Error("keys were sent after the end");
  }

  #press(at: number): Promise<void> {
    const count = (counts: number[]) => () => {
      counts[at] = (counts[at] ?? 0) + 1;
    };
    const path = `/devices/TV%20${at}/remote/key`;
    return this.#repeat("POST", path, () => ({ key: "up" }), count(this.#pressed), count(this.#refused));
  }

  #change(): Promise<void> {
    let next = this.interval;
    const taken = () => {
      this.interval = next;
    };
    return this.#repeat("PATCH", "/config", () => ({ "discovery.interval_s": ++next }), taken);
  }

  async #repeat(
    method: string,
    path: string,
    body?: () => unknown,
    taken: () => void = () => {},
    refused: () => void = () => {},
  ): Promise<void> {
    for (let call = 0; call < 100_000; call++) {
      const answer = await this.#daemon.api(method, path, body?.()).catch(() => null);
      // Nobody listens any more, or the connection was reset before it was accepted.
      if (answer === null) return;
      if (answer.status === 200) {
        this.answered++;
        taken();
      } else {
        refused();
        if (answer.body.error.message !== "zapd is stopping") throw new Error(JSON.stringify(answer.body));
      }
    }
  }
}
