/** A network that comes and goes (SECURITY.md R15): a cable is pulled twenty times, and the set gets another address. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChildProcess } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/http-device.ts";
import { type Cable, type FarDaemon, layCable, noNamespaces, startNearDaemon } from "../support/netns.ts";
import { root } from "../support/sources.ts";
import { some } from "./length.ts";

const flaps = some(20, 2);
const skipped = noNamespaces === null ? "" : ` (skipped: ${noNamespaces})`;
const config = [
  "[daemon]\nhttp_port = 7000\n[discovery]\non_start = false\ninterval_s = 0\ntimeout_ms = 1000\n",
  "[devices]\nrequest_timeout_ms = 3000\n",
].join("");

describe.skipIf(noNamespaces !== null)(`R15 a cable that is pulled${skipped}`, () => {
  let cable: Cable;
  let daemon: FarDaemon;
  let set: ChildProcess;
  let port: number;

  async function plugIn(address: string, port = 0): Promise<[ChildProcess, number]> {
    const child = cable.spawn("far", [process.execPath, join(root, "test/slow/far-set.ts"), address, String(port)]);
    const said = await new Promise<string>((resolve) => child.stdout?.once("data", (bytes) => resolve(String(bytes))));
    return [child, Number(said)];
  }

  beforeAll(async () => {
    cable = layCable();
    [set, port] = await plugIn(cable.far);
    daemon = await startNearDaemon(cable, config);
  }, 30_000);
  afterAll(async () => {
    set?.kill("SIGKILL");
    await daemon?.dispose();
    cable?.dispose();
  });

  const isFound = async () => (await daemon.api("POST", "/devices/discover")).body.data.devices.length === 1;
  const descriptors = () => readdirSync(`/proc/${daemon.process.pid}/fd`).length;
  const state = async () => (await daemon.api("GET", "/devices/Far%20Set/state")).status;
  const status = async () => (await daemon.api("GET", "/devices/Far%20Set")).body.data.status as string;

  test("R15 again and again: the set is told unreachable within 10 s, is back within 15 s, is found again, and nothing is left open", async () => {
    await until("the set is found by a search", isFound, 15_000, 50);
    expect(await state()).toBe(200);
    const before = descriptors();
    for (let flap = 0; flap < flaps; flap++) {
      // A pulled plug is seen at both ends; every other time only the far link goes down, which the near end does not see.
      const end = flap % 2 === 0 ? "far" : "near";
      cable.ip(end, "link", "set", "eth", "down");
      const offline = async () => (await state()) !== 200 && (await status()) === "offline";
      await until("told unreachable, and marked so", offline, 10_000, 50);
      cable.ip(end, "link", "set", "eth", "up");
      cable.ip(end, "route", "replace", "239.0.0.0/8", "dev", "eth");
      await until("back", async () => (await state()) === 200, 15_000, 50);
    }
    expect(daemon.process.exitCode).toBeNull();
    await until("found by a search again", isFound, 15_000, 50);
    await until("descriptors as before", async () => descriptors() <= before + 2, 30_000, 50);
    expect(daemon.log()).not.toMatch(/"level":"error"|nhandled|ncaught/);
  }, 600_000);

  test("R15 another address of this machine: the search asks on it", async () => {
    cable.ip("near", "addr", "flush", "dev", "eth");
    cable.ip("near", "addr", "add", "10.99.0.77/24", "dev", "eth");
    cable.ip("near", "route", "replace", "239.0.0.0/8", "dev", "eth");
    await until("found from the new address", isFound, 15_000, 50);
    // A kept connection has an address that this machine no longer has: it times out, and the next one is new.
    await until("driven from the new address", async () => (await state()) === 200, 15_000, 50);
  }, 40_000);

  test("R15 another address of the set: the same device, at its new place", async () => {
    const { id } = (await daemon.api("GET", "/devices/Far%20Set")).body.data;
    set.kill("SIGKILL");
    cable.ip("far", "addr", "flush", "dev", "eth");
    cable.ip("far", "addr", "add", "10.99.0.55/24", "dev", "eth");
    cable.ip("far", "route", "replace", "239.0.0.0/8", "dev", "eth");
    [set] = await plugIn("10.99.0.55", port);
    // A missing set is searched for at once, but not twice within 30 s.
    await until("driven at the new address", async () => (await state()) === 200, 45_000, 50);
    expect((await daemon.api("GET", "/devices/Far%20Set")).body.data).toMatchObject({ id, host: "10.99.0.55" });
  }, 60_000);
});
