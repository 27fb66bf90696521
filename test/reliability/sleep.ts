/**
 * R14: a daemon that does not run for a while, as when the machine sleeps: stopped by SIGSTOP with keys that wait, a
 * sequence under way and callers that give up meanwhile, and let go on.
 */
import { expect } from "bun:test";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { FakeRoku } from "../blackbox/fake-roku.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";

/** Gives the milliseconds from SIGCONT to the first answer. Fails when anything old was sent, or anything new was not. */
export async function sleepThrough(ms: number): Promise<number> {
  const [busy, playing, left] = [await FakeRoku.start(), await FakeRoku.start(), await FakeRoku.start()];
  const kodi = createKodiSimulator({ name: "Kodi", mdns: false, port: 0, tcpPort: 0 });
  await kodi.start();
  const daemon = await startTestDaemon({ config: { devices: { request_timeout_ms: 20_000 } } });
  try {
    const names = { busy, playing, left };
    for (const [name, set] of Object.entries(names)) await daemon.api("POST", "/devices", { ...set.address, name });
    await daemon.api("POST", "/devices", {
      ...{ host: kodi.host, port: kodi.port, platform: "kodi", name: "kodi", ports: { websocket: kodi.ports.tcp } },
    });
    const press = (name: string, key: string, signal?: AbortSignal) =>
      fetch(`${daemon.url}/devices/${name}/remote/key`, {
        ...{ method: "POST", body: JSON.stringify({ key }), keepalive: false },
        ...(signal && { signal }),
      }).then(
        ({ status }) => status,
        () => 0,
      );
    // The connection that pushes is open before, and must be open or made anew after.
    expect((await daemon.api("GET", "/devices/kodi/state")).status).toBe(200);

    // One key is under way for as long as the sleep, twenty wait behind it.
    for (const set of [busy, left]) set.answerMs = 400;
    const under = press("busy", "home");
    await until("the first key is sent", () => busy.commands.length === 1);
    const waiting = Array.from({ length: 20 }, () => press("busy", "down"));
    const sequence = daemon.api("POST", "/devices/playing/remote/sequence", {
      ...{ keys: Array.from({ length: 100 }, () => "up"), delay_ms: 100 },
    });
    await until("some of the sequence is sent", () => playing.commands.length >= 3);
    await Bun.sleep(100);

    daemon.process.kill("SIGSTOP");
    const gone = new AbortController();
    const hungUp = press("left", "down", gone.signal);
    await Bun.sleep(300);
    const sent = { busy: busy.commands.length, playing: playing.commands.length };
    gone.abort();
    expect(await hungUp).toBe(0);
    await Bun.sleep(ms);
    expect([busy.commands.length, playing.commands.length]).toEqual([sent.busy, sent.playing]);
    daemon.process.kill("SIGCONT");
    const began = performance.now();
    expect((await daemon.api("GET", "/health")).status).toBe(200);
    const health = performance.now() - began;

    // What was under way ends somehow; what waited is told as not sent.
    await under;
    const statuses = await Promise.all(waiting);
    const { status, body } = await sequence;
    expect([status, body.error?.message]).toEqual([500, expect.stringMatching(/; \d+ of 100 keys were sent/)]);
    await Bun.sleep(500);
    expect(statuses.filter((one) => one !== 500)).toEqual([]);
    expect([busy.commands.length, playing.commands.length]).toEqual([sent.busy, sent.playing]);
    expect(left.commands).toEqual([]);
    expect(Number(/; (\d+) of/.exec(body.error.message)?.[1])).toBe(sent.playing);

    // Everyone takes new keys at once.
    busy.answerMs = 0;
    left.answerMs = 0;
    for (const name of [...Object.keys(names), "kodi"]) expect([name, await press(name, "left")]).toEqual([name, 200]);
    expect((await daemon.api("GET", "/devices/kodi/state")).status).toBe(200);
    return health;
  } finally {
    daemon.process.kill("SIGCONT");
    await daemon.dispose();
    await Promise.all([busy, playing, left, kodi].map((set) => set.stop()));
  }
}
