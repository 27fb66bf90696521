/**
 * R14: a daemon that does not run for a while, as when the machine sleeps: stopped by SIGSTOP with waiting keys, a sequence under
 * way and callers that disconnect meanwhile, then continued.
 */
import { expect } from "bun:test";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { WiredRoku } from "../support/wired-roku.ts";

/** Resolves when the last command of each set came so long ago. */
async function quiet(sets: readonly WiredRoku[], { fromMs, toMs }: { fromMs: number; toMs: number }): Promise<void> {
  const last = sets.map((set) => ({ set, count: set.commands.length, at: Number.NEGATIVE_INFINITY }));
  const isQuiet = () => {
    const now = performance.now();
    for (const one of last) {
      if (one.set.commands.length !== one.count) one.at = now;
      one.count = one.set.commands.length;
    }
    return last.every(({ at }) => now - at >= fromMs && now - at <= toMs);
  };
  await until("no key is just being sent", isQuiet, 20_000, 1);
}

/** Resolves with the milliseconds from SIGCONT to the first answer. Fails when an old key was sent, or a new one was not. */
export async function sleepThrough(ms: number): Promise<number> {
  const sets = await Promise.all(Array.from({ length: 5 }, () => WiredRoku.start()));
  const [busy, playing, slow, typing, left] = sets as [WiredRoku, WiredRoku, WiredRoku, WiredRoku, WiredRoku];
  const kodi = createKodiSimulator({ name: "Kodi", mdns: false, port: 0, tcpPort: 0 });
  await kodi.start();
  const daemon = await startTestDaemon({ config: { devices: { request_timeout_ms: 20_000 } } });
  try {
    const names = { busy, playing, slow, typing, left };
    for (const [name, set] of Object.entries(names)) await daemon.api("POST", "/devices", { ...set.address, name });
    await daemon.api("POST", "/devices", {
      host: kodi.host,
      port: kodi.port,
      platform: "kodi",
      name: "kodi",
      ports: { websocket: kodi.ports.tcp },
    });
    const press = (name: string, key: string, signal?: AbortSignal) =>
      fetch(`${daemon.url}/devices/${name}/remote/key`, {
        method: "POST",
        body: JSON.stringify({ key }),
        keepalive: false,
        ...(signal && { signal }),
      }).then(
        ({ status }) => status,
        () => 0,
      );
    // The connection that pushes is open before, and must work again afterwards.
    expect((await daemon.api("GET", "/devices/kodi/state")).status).toBe(200);

    busy.answerMs = 3_000;
    for (const set of [slow, left]) set.answerMs = 400;
    // One sequence is between two keys most of the time, the other always waits for the set.
    const sequences = ["playing", "slow"].map((name) =>
      daemon.api("POST", `/devices/${name}/remote/sequence`, {
        keys: Array.from({ length: 100 }, () => "up"),
        delay_ms: name === "slow" ? 0 : 100,
      }),
    );
    const text = daemon.api("POST", "/devices/typing/remote/key", { key: `literal:${"x".repeat(300)}` });
    const some = [playing, slow, typing];
    await until("some of each is sent", () => some.every((set) => set.commands.length >= 2));
    // One key is under way for as long as the sleep, twenty wait behind it.
    const under = press("busy", "home");
    await until("the first key is sent", () => busy.commands.length === 1);
    const waiting = Array.from({ length: 20 }, () => press("busy", "down"));
    // Time for all of them to arrive on a busy machine.
    await Bun.sleep(1_000);

    // In the middle between two keys of each sequence: stopped just before it writes one, the daemon would write it on waking.
    await quiet([playing, slow], { fromMs: 20, toMs: 80 });
    daemon.process.kill("SIGSTOP");
    const gone = new AbortController();
    const hungUp = press("left", "down", gone.signal);
    await Bun.sleep(300);
    const commands = () => [busy, playing, slow, typing, left].map((set) => set.commands.length);
    const sent = commands();
    gone.abort();
    expect(await hungUp).toBe(0);
    await Bun.sleep(ms);
    expect(commands()).toEqual(sent);
    daemon.process.kill("SIGCONT");
    const began = performance.now();
    expect((await daemon.api("GET", "/health")).status).toBe(200);
    const health = performance.now() - began;

    // A key under way may succeed or fail; waiting keys fail as not sent.
    await under;
    const statuses = await Promise.all(waiting);
    const ended = await Promise.all(sequences);
    for (const [at, { status, body }] of ended.entries()) {
      expect([status, body.error?.message]).toEqual([500, expect.stringMatching(/; \d+ of 100 keys were sent/)]);
      // The answer to the key under way may have come too late.
      const most = sent[at + 1] ?? Number.NaN;
      expect([most - 1, most]).toContain(Number(/; (\d+) of/.exec(body.error.message)?.[1]));
    }
    expect((await text).body).toMatchObject({ ok: false, error: { message: expect.stringMatching(/typing /) } });
    await Bun.sleep(500);
    expect(statuses.filter((one) => one !== 500)).toEqual([]);
    expect(commands()).toEqual(sent);
    expect(left.commands).toEqual([]);

    // Everyone takes new keys at once.
    for (const set of sets) set.answerMs = 0;
    for (const name of [...Object.keys(names), "kodi"]) expect([name, await press(name, "left")]).toEqual([name, 200]);
    expect((await daemon.api("GET", "/devices/kodi/state")).status).toBe(200);
    return health;
  } finally {
    daemon.process.kill("SIGCONT");
    await daemon.dispose();
    await Promise.all([...sets, kodi].map((set) => set.stop()));
  }
}
