/**
 * R14: keys that were sent while the machine slept wait in the kernel, and are all read when it wakes. None of them may be pressed
 * then.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { startTestDaemon } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { requestOf, send } from "../support/raw-http.ts";
import { WiredRoku } from "../support/wired-roku.ts";

const sleepMs = 6_300;

test.concurrent("R14 60 keys that arrived over TCP and the control socket while it was stopped, whole or begun: none is pressed, each is answered", async () => {
  const sets = await Promise.all([WiredRoku.start(), WiredRoku.start()]);
  const [den, loft] = sets;
  // In real time: the age of a request is measured.
  const daemon = await startTestDaemon({ speed: 1 });
  try {
    for (const [set, name] of [
      [den, "den"],
      [loft, "loft"],
    ] as const)
      expect((await daemon.api("POST", "/devices", { ...set.address, name })).status).toBe(200);
    const press = (to: number | string, name: string, headers: readonly string[] = ["Connection: close"]) =>
      send(
        requestOf(
          "POST",
          `/v1/devices/${name}/remote/key`,
          [`Host: 127.0.0.1:${daemon.port}`, ...headers],
          '{"key":"info"}',
        ),
        { to, patienceMs: 20_000 },
      );
    const socket = join(daemon.stateFolder, "zapd.sock");
    // The first presses load code.
    for (const to of [daemon.port, socket])
      for (const name of ["den", "loft"]) expect((await press(to, name)).status).toBe(200);
    // One is under way at the loft for as long as the sleep, and one waits behind it.
    loft.answerMs = 2_500;
    loft.forget();
    const under = press(daemon.port, "loft");
    await until("the first key is sent", () => loft.commands.length === 1);
    const queued = press(daemon.port, "loft");
    // The body of this one comes after the sleep, its head before.
    let give = () => {};
    const given = new Promise<void>((resolve) => {
      give = resolve;
    });
    const halves = fetch(`${daemon.url}/devices/den/remote/key`, {
      method: "POST",
      keepalive: false,
      duplex: "half",
      body: new ReadableStream({
        async start(controller) {
          controller.enqueue(new TextEncoder().encode('{"key":'));
          await given;
          controller.enqueue(new TextEncoder().encode('"info"}'));
          controller.close();
        },
      }),
    } as RequestInit).then(async (response) => ({ status: response.status, body: await response.text() }));
    await Bun.sleep(500);
    den.forget();

    daemon.process.kill("SIGSTOP");
    const waiting = Array.from({ length: 60 }, (_, at) => press(at % 2 === 0 ? daemon.port : socket, "den"));
    const reads = [daemon.port, socket].map((to) =>
      send(requestOf("GET", "/v1/devices/den/state", [`Host: 127.0.0.1:${daemon.port}`, "Connection: close"]), {
        to,
        patienceMs: 20_000,
      }),
    );
    // Its key would come long after the wake-up.
    const scene = JSON.stringify({ device: "den", steps: [{ wait_ms: 700 }, { key: "info" }] });
    const run = send(requestOf("POST", "/v1/run", [`Host: 127.0.0.1:${daemon.port}`, "Connection: close"], scene), {
      to: daemon.port,
      patienceMs: 20_000,
    });
    give();
    await daemon.sleep(sleepMs);
    daemon.process.kill("SIGCONT");

    const told = [...(await Promise.all(waiting)), await halves, await queued, await run];
    expect(den.commands).toEqual([]);
    for (const { status, body } of told) {
      const { error } = JSON.parse(body);
      expect([status, error.code, error.message]).toEqual([500, "device_busy", expect.stringMatching(/slept|busy/)]);
      expect(error.hint).toContain("Nothing was sent");
    }
    // Reads are answered.
    for (const { status } of await Promise.all(reads)) expect(status).toBe(200);
    await under;
    expect(loft.commands).toHaveLength(1);

    // Half a second later keys are pressed again.
    await daemon.sleep(600);
    loft.answerMs = 0;
    for (const to of [daemon.port, socket])
      for (const name of ["den", "loft"]) expect((await press(to, name)).status).toBe(200);
    expect(den.commands).toHaveLength(2);
  } finally {
    daemon.process.kill("SIGCONT");
    await daemon.dispose();
    await Promise.all(sets.map((set) => set.stop()));
  }
}, 60_000);

test.concurrent("R14 stopped for four seconds, it presses what came meanwhile", async () => {
  const set = await WiredRoku.start();
  const daemon = await startTestDaemon();
  try {
    expect((await daemon.api("POST", "/devices", { ...set.address, name: "den" })).status).toBe(200);
    set.forget();
    daemon.process.kill("SIGSTOP");
    const pressed = daemon.api("POST", "/devices/den/remote/key", { key: "info" });
    await daemon.sleep(4_000);
    daemon.process.kill("SIGCONT");
    expect((await pressed).status).toBe(200);
    expect(set.commands).toHaveLength(1);
  } finally {
    daemon.process.kill("SIGCONT");
    await daemon.dispose();
    await set.stop();
  }
}, 30_000);
