import { afterEach, expect, test } from "bun:test";
import { ZapdError } from "../../src/api/errors.ts";
import { ReconnectingSession, type Session, type SessionEnd } from "../../src/transport/session.ts";
import { until } from "../support/http-device.ts";

const never = new AbortController().signal;
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

let links: ReconnectingSession<FakeSession>[] = [];
afterEach(() => {
  for (const link of links) link.close();
  links = [];
});

function house(options: { idleMs?: number; takes?: number } = {}) {
  const at: number[] = [];
  const unasked: boolean[] = [];
  const sessions: FakeSession[] = [];
  const device = { failure: undefined as ZapdError | undefined };
  const link = new ReconnectingSession<FakeSession>({
    async open(signal, alone, ended) {
      at.push(performance.now());
      unasked.push(alone);
      await Bun.sleep(options.takes ?? 1);
      if (signal.aborted) throw signal.reason;
      if (device.failure) throw device.failure;
      const session = new FakeSession(ended);
      sessions.push(session);
      return session;
    },
    debug() {},
    firstRetryMs: 20,
    ...(options.idleMs !== undefined && { idleMs: options.idleMs }),
  });
  links.push(link);
  return { link, at, unasked, sessions, device };
}

test("is made on first use, and shared by all", async () => {
  const { link, at } = house({ takes: 10 });
  expect([at.length, link.current]).toEqual([0, undefined]);
  const all = await Promise.all(Array.from({ length: 20 }, () => link.use(never)));
  expect([at.length, new Set(all).size, link.current]).toEqual([1, 1, all[0]]);
  expect(await link.use(never)).toBe(all[0] as FakeSession);
  expect(at.length).toBe(1);
});

test("that breaks is made again unasked, ever more seldom, and no more once nobody asks", async () => {
  const { link, at, unasked, sessions, device } = house({ idleMs: 400 });
  await link.use(never);
  device.failure = unreachable;
  sessions[0]?.break();
  await Bun.sleep(1_200);
  // 20 ms, 40, 80, 160, each ±20 %: within 400 ms of the last use there is room for four, at most five.
  const tries = at.slice(1);
  expect(tries.length).toBeGreaterThanOrEqual(3);
  expect(tries.length).toBeLessThanOrEqual(5);
  expect(unasked.slice(1).every(Boolean)).toBe(true);
  const gaps = tries.slice(1).map((time, index) => time - (tries[index] ?? 0));
  // A try that is late is so by as much as the one before may seem early: the first and the last are far apart.
  expect(gaps.at(-1)).toBeGreaterThan((gaps[0] ?? 0) * 1.1);
});

test("that breaks comes back by itself when the device is there", async () => {
  const { link, sessions } = house();
  const first = await link.use(never);
  first.break();
  expect(link.current).toBeUndefined();
  await until("it is back", () => link.current !== undefined);
  expect(sessions.length).toBe(2);
});

test("is not made again unasked with a device that said that it goes off, or that lets nobody in", async () => {
  const { link, at, device, sessions } = house();
  (await link.use(never)).break(false);
  await Bun.sleep(100);
  expect(at.length).toBe(1);
  await link.use(never);
  device.failure = new ZapdError("pairing_required", "lets nobody in");
  sessions[1]?.break();
  await until("it was tried", () => at.length === 3);
  await Bun.sleep(150);
  expect(at.length).toBe(3);
});

test("a device that never answered is not called unasked; readers share its failure, a command tries anew", async () => {
  const { link, at, device } = house();
  device.failure = unreachable;
  const fails = (eager: boolean) =>
    link.use(never, { eager }).then(
      () => "open",
      (error: unknown) => error,
    );
  for (let reader = 0; reader < 10; reader++) expect(await fails(false)).toBe(unreachable);
  expect(at.length).toBe(1);
  expect(await fails(true)).toBe(unreachable);
  expect(at.length).toBe(2);
  await Bun.sleep(100);
  expect(at.length).toBe(2);
  device.failure = undefined;
  expect((await link.use(never, { eager: true })).alive).toBe(true);
});

test("that was tried in vain unasked is tried anew by the next reader, whose failure others share", async () => {
  const { link, at, unasked, sessions, device } = house();
  await link.use(never);
  device.failure = unreachable;
  sessions[0]?.break();
  await until("a try that nobody asked for", () => unasked.includes(true));
  await Bun.sleep(5);
  const before = at.length;
  for (let reader = 0; reader < 5; reader++) await link.use(never).catch(() => {});
  // Another try of its own may have come between.
  expect(unasked.slice(before).filter((alone) => !alone)).toEqual([false]);
  device.failure = undefined;
  await until("the next try", () => link.current !== undefined);
});

test("a caller who leaves gives an attempt up only when nobody else waits for it", async () => {
  const { link, at } = house({ takes: 30 });
  const caller = new AbortController();
  const leaving = link.use(caller.signal).catch((reason: unknown) => reason);
  const staying = link.use(never);
  caller.abort("gone");
  expect(await leaving).toBe("gone");
  expect((await staying).alive).toBe(true);
  link.drop();
  const alone = new AbortController();
  const last = link.use(alone.signal).catch((reason: unknown) => reason);
  await Bun.sleep(5);
  alone.abort("gone too");
  expect(await last).toBe("gone too");
  await Bun.sleep(50);
  expect([at.length, link.current]).toEqual([2, undefined]);
});

test("who comes while an attempt that was given up is still end has one of its own", async () => {
  const { link, at, sessions } = house({ takes: 30 });
  const caller = new AbortController();
  const leaving = link.use(caller.signal).catch((reason: unknown) => reason);
  await until("it has begun", () => at.length === 1);
  caller.abort("gone");
  expect(await leaving).toBe("gone");
  const next = await link.use(never);
  await Bun.sleep(50);
  expect([at.length, sessions.length, next.alive, link.current === next]).toEqual([2, 1, true, true]);
});

test("is closed when nobody has used it for a while, but not while something is under way", async () => {
  const { link, sessions, at } = house({ idleMs: 40 });
  const session = await link.use(never);
  session.pending = 1;
  await Bun.sleep(120);
  expect(session.alive).toBe(true);
  session.pending = 0;
  await until("it is closed", () => !session.alive);
  await Bun.sleep(80);
  expect([sessions.length, at.length]).toEqual([1, 1]);
  expect((await link.use(never)).alive).toBe(true);
});

test("closing lets what is under way end, and opens nothing any more", async () => {
  const { link } = house();
  const session = await link.use(never);
  session.pending = 1;
  link.close();
  await Bun.sleep(80);
  expect(session.alive).toBe(true);
  session.pending = 0;
  await until("it is closed", () => !session.alive);
  expect(await link.use(never).catch((error: ZapdError) => error.code)).toBe("device_error");
});

test("closing ends an attempt under way", async () => {
  const { link } = house({ takes: 20 });
  const opening = link.use(never).catch((error: ZapdError) => error.code);
  await Bun.sleep(5);
  link.close();
  expect(await opening).toBe("device_error");
  expect(link.current).toBeUndefined();
});
