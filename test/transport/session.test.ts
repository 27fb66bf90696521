/** A session that is shared, reopened and closed, in time that passes at once. */
import { afterEach, beforeEach, expect, jest, spyOn, test } from "bun:test";
import { ZapdError } from "../../src/api/errors.ts";
import { neverAborted } from "../../src/system/never-aborted.ts";
import { sleep } from "../../src/system/sleep.ts";
import { RpcSession } from "../../src/transport/rpc.ts";
import { ReconnectingSession, type Session, type SessionEnd } from "../../src/transport/session.ts";

const unreachable = new ZapdError("device_unreachable", "did not answer");

class FakeSession implements Session {
  alive = true;
  pending = 0;
  readonly #ended: (end: SessionEnd) => void;
  constructor(ended: (end: SessionEnd) => void) {
    this.#ended = ended;
  }
  close(): void {
    this.alive = false;
  }
  break(retry = true): void {
    this.alive = false;
    this.#ended({ retry });
  }
}

let random: ReturnType<typeof spyOn>;
beforeEach(() => {
  jest.useFakeTimers();
  // No jitter.
  random = spyOn(Math, "random").mockReturnValue(0.5);
});
afterEach(() => {
  jest.useRealTimers();
  random.mockRestore();
});

/** Lets milliseconds pass, and what is due in them happen. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed <= ms; passed++) {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    if (passed < ms) jest.advanceTimersByTime(1);
  }
}

async function passUntilSettled<T>(work: Promise<T>): Promise<T> {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  work.then(settle, settle);
  while (!isSettled) await pass(1);
  return work;
}

/** A session whose attempts take `takes` ms, and are recorded by the time at which each began. */
function connect(options: { idleMs?: number; takes?: number } = {}) {
  const attempts: number[] = [];
  const sessions: FakeSession[] = [];
  const device = { failure: undefined as ZapdError | undefined, breaksAtOnce: false };
  const start = performance.now();
  const link = new ReconnectingSession<FakeSession>({
    async open(_signal, ended) {
      attempts.push(Math.round(performance.now() - start));
      await sleep(options.takes ?? 1);
      if (device.failure) throw device.failure;
      const session = new FakeSession(ended);
      if (device.breaksAtOnce) session.break();
      sessions.push(session);
      return session;
    },
    debug() {},
    firstRetryMs: 20,
    ...(options.idleMs !== undefined && { idleMs: options.idleMs }),
  });
  const use = (eager = false, signal = neverAborted) =>
    passUntilSettled(link.use(signal, { eager }).catch((error: unknown) => error as ZapdError));
  const open = async (eager = false) => {
    const session = await use(eager);
    if (!(session instanceof FakeSession)) throw session;
    return session;
  };
  return { link, attempts, sessions, device, use, open };
}

test("is opened on first use, and shared by all", async () => {
  const { link, attempts } = connect({ takes: 10 });
  expect([attempts.length, link.current]).toEqual([0, undefined]);
  const all = await passUntilSettled(Promise.all(Array.from({ length: 20 }, () => link.use(neverAborted))));
  expect([attempts.length, new Set(all).size, link.current]).toEqual([1, 1, all[0]]);
  expect(await link.use(neverAborted)).toBe(all[0] as FakeSession);
  expect(attempts.length).toBe(1);
});

test("one that breaks is reopened in the background, less and less often, until it has not been used for a while", async () => {
  const { attempts, device, open } = connect({ idleMs: 400 });
  const session = await open();
  device.failure = new ZapdError("device_timeout", "did not answer in time");
  session.break();
  await pass(1_200);
  // Each attempt takes 1 ms and fails; the delays are 20, 40, 80 and 160 ms.
  expect(attempts.slice(1).map((at, index) => at - (attempts[index] ?? 0) - 1)).toEqual([20, 40, 80, 160]);
});

test("a command does not get one whose end has come, and is about to be read", async () => {
  const { open } = connect();
  const before = await open();
  setTimeout(() => before.break(), 0);
  const session = await open(true);
  expect([session === before, session.alive]).toEqual([false, true]);
});

test("one that breaks is there again when the device is", async () => {
  const { link, sessions, open } = connect();
  (await open()).break();
  expect(link.current).toBeUndefined();
  await pass(30);
  expect([sessions.length, link.current]).toEqual([2, sessions[1]]);
});

test("one that breaks soon after that waits longer for the next try, and one that has lasted does not", async () => {
  const { attempts, sessions, open } = connect();
  (await open()).break();
  await pass(30);
  sessions[1]?.break();
  await pass(30);
  expect(attempts.length).toBe(2);
  await pass(20);
  expect(attempts.length).toBe(3);
  await pass(11_000);
  sessions[2]?.break();
  await pass(30);
  expect(attempts.length).toBe(4);
});

test("one that breaks while it is opened is reopened, and one that was dropped is not", async () => {
  const { link, attempts, device, open, use } = connect();
  device.breaksAtOnce = true;
  await use();
  device.breaksAtOnce = false;
  await pass(30);
  expect([attempts.length, link.current?.alive]).toEqual([2, true]);
  const session = await open();
  link.drop();
  session.break();
  await pass(100);
  expect(attempts.length).toBe(2);
});

test("is not reopened where the device goes off, or wants to be paired with", async () => {
  const { attempts, device, open } = connect();
  (await open()).break(false);
  await pass(1_000);
  expect(attempts.length).toBe(1);
  const second = await open();
  device.failure = new ZapdError("pairing_required", "lets nobody in");
  second.break();
  await pass(30);
  expect(attempts.length).toBe(3);
  await pass(1_000);
  expect(attempts.length).toBe(3);
});

test("a device that has never answered is not tried in the background; readers share its failure, a command tries again", async () => {
  const { attempts, device, use, open } = connect();
  device.failure = unreachable;
  for (let reader = 0; reader < 10; reader++) expect(await use()).toBe(unreachable);
  expect(attempts.length).toBe(1);
  expect(await use(true)).toBe(unreachable);
  expect(attempts.length).toBe(2);
  await pass(1_000);
  expect(attempts.length).toBe(2);
  expect(await use()).toBe(unreachable);
  expect(attempts.length).toBe(3);
  device.failure = undefined;
  expect((await open(true)).alive).toBe(true);
});

test("after a try in the background the next reader makes an attempt, whose failure the others share", async () => {
  const { link, attempts, device, open, use } = connect();
  const session = await open();
  device.failure = unreachable;
  session.break();
  await pass(25);
  expect(attempts.length).toBe(2);
  for (let reader = 0; reader < 5; reader++) expect(await use()).toBe(unreachable);
  expect(attempts.length).toBe(3);
  device.failure = undefined;
  await pass(200);
  expect(link.current).toBeDefined();
});

test("a caller that leaves ends an attempt only if no other caller waits for it", async () => {
  const { link, attempts } = connect({ takes: 30 });
  const caller = new AbortController();
  const leaving = link.use(caller.signal).catch((reason: unknown) => reason);
  const staying = link.use(neverAborted);
  caller.abort("gone");
  expect(await leaving).toBe("gone");
  expect((await passUntilSettled(staying)).alive).toBe(true);
  link.drop();
  const alone = new AbortController();
  const last = link.use(alone.signal).catch((reason: unknown) => reason);
  await pass(5);
  alone.abort("gone too");
  expect(await last).toBe("gone too");
  await pass(50);
  expect([attempts.length, link.current]).toEqual([2, undefined]);
});

test("a caller that arrives while an abandoned attempt is still running gets a new one", async () => {
  const { link, attempts, sessions, open } = connect({ takes: 30 });
  const caller = new AbortController();
  const leaving = link.use(caller.signal).catch((reason: unknown) => reason);
  await pass(1);
  caller.abort("gone");
  expect(await leaving).toBe("gone");
  const next = await open();
  await pass(50);
  expect(sessions.map((one) => [one.alive, one === next])).toEqual([
    [false, false],
    [true, true],
  ]);
  expect([attempts.length, link.current]).toEqual([2, next]);
});

test("is closed when it has not been used for a while, but not while calls are under way", async () => {
  const { sessions, attempts, open } = connect({ idleMs: 40 });
  const session = await open();
  session.pending = 1;
  await pass(200);
  expect(session.alive).toBe(true);
  session.pending = 0;
  await pass(60);
  expect([session.alive, sessions.length, attempts.length]).toEqual([false, 1, 1]);
  expect((await open()).alive).toBe(true);
});

test("closing lets calls under way end, and opens nothing any more", async () => {
  const { link, open, use } = connect();
  const session = await open();
  session.pending = 1;
  link.close();
  await pass(80);
  expect(session.alive).toBe(true);
  session.pending = 0;
  await pass(60);
  expect(session.alive).toBe(false);
  expect(await use()).toMatchObject({ code: "device_error" });
});

test("closing ends an attempt under way", async () => {
  const { link } = connect({ takes: 20 });
  const opening = link.use(neverAborted).catch((error: ZapdError) => error.code);
  await pass(5);
  link.close();
  expect(await passUntilSettled(opening)).toBe("device_error");
  expect(link.current).toBeUndefined();
});

/** A session whose device last sent something so long ago, and its line. */
async function silentFor(ms: number) {
  const line = {
    open: true,
    lastReceivedAt: performance.now() - ms,
    fingerprint: null,
    close() {},
    destroy: () => hangUp(),
  };
  const hangUp = () => {
    line.open = false;
  };
  class Silent extends RpcSession<never, typeof line> {
    protected connect = async () => line;
  }
  const platformHost = { isOwnListener: () => false, requestTimeoutMs: () => 100 };
  await new Silent({ platformHost, heartbeatMs: 50, silenceTimeoutMs: 120 }).open(neverAborted);
  return line;
}

test("a connection that is silent is closed after its time, not only with the heartbeat after that", async () => {
  const line = await silentFor(0);
  const isOpen = [];
  for (const ms of [115, 10]) {
    await pass(ms);
    isOpen.push(line.open);
  }
  expect(isOpen).toEqual([true, false]);
});

test("one that was silent for longer, as when the machine slept, is closed at once: no timer is set for it in the past", async () => {
  const line = await silentFor(1_000);
  const timers = spyOn(globalThis, "setTimeout");
  jest.advanceTimersByTime(50);
  expect([line.open, timers.mock.calls.length]).toEqual([false, 0]);
  timers.mockRestore();
});
