/** `zapd lease` and `zapd with-lease`, with a daemon that answers as a real one seldom does. The rest is in the scripts. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { testFolder } from "../support/folder.ts";
import { runZapd } from "./program.ts";

const folder = testFolder();
const env = { PATH: process.env["PATH"], HOME: folder };
const notFreed = { ok: false, error: { code: "storage_error", message: "The disk is full" } };
const until = new Date(Date.now() + 600_000).toISOString();

test("a lease that is not wanted and cannot be given back does not cost the one that is", async () => {
  const socket = join(folder, "zapd.sock");
  const devices = ["a", "b"].map((id) => ({ id, name: `Set ${id}`, labels: ["lab"], lease: null, status: "online" }));
  const freed: string[] = [];
  const owners = new Set<string>();
  const answer = async (request: Request) => {
    const [, , , id = ""] = new URL(request.url).pathname.split("/");
    if (id === "") return { ok: true, data: devices };
    if (request.method === "DELETE") {
      freed.push(request.headers.get("zapd-lease") ?? "");
      return notFreed;
    }
    // Both are leased to somebody else at first, and become free at the same moment.
    const { wait_s, owner } = (await request.json()) as { wait_s: number; owner: string };
    owners.add(owner);
    const isRenewed = request.headers.has("zapd-lease");
    if (wait_s === 0 && !isRenewed) return { ok: false, error: { code: "device_leased", message: "Leased to ada" } };
    // The other answer has arrived by then.
    if (isRenewed) await Bun.sleep(200);
    return { ok: true, data: { device: devices.find((one) => one.id === id), action: "lease", token: id, until } };
  };
  const server = Bun.serve({ unix: socket, fetch: async (request) => Response.json(await answer(request)) });
  try {
    const words = ["lease", "-d", "label:lab", "--wait", "10s", "--socket", socket];
    // As cron sets it, without $USER.
    const { status, stdout } = await runZapd(words, { env: { ...env, LOGNAME: "ada" } });
    expect(status).toBe(0);
    expect([stdout.trim(), ...freed].toSorted()).toEqual(["a", "b"]);
    expect([...owners]).toEqual([`ada@${hostname()}`]);
  } finally {
    await server.stop(true);
  }
});

test("a signal that comes again while the lease is given back does not end that", async () => {
  const socket = join(folder, "again.sock");
  const pidFile = join(folder, "pid");
  const device = { id: "a", name: "Set a" };
  const answer = async ({ method }: Request) => {
    if (method !== "DELETE") return { ok: true, data: { device, action: "lease", token: "a", until } };
    process.kill(Number(readFileSync(pidFile, "utf8")), "SIGINT");
    await Bun.sleep(100);
    return { ok: true, data: { device, freed: true } };
  };
  const server = Bun.serve({ unix: socket, fetch: async (request) => Response.json(await answer(request)) });
  try {
    const program = ["sh", "-c", 'echo $PPID >"$0"; exit 3', pidFile];
    const { status, stderr } = await runZapd(["with-lease", "-d", "a", "--socket", socket, "--", ...program], { env });
    expect([status, stderr]).toEqual([3, ""]);
  } finally {
    await server.stop(true);
  }
});

test("a device that is busy is passed over, and where too many wait the daemon is not asked without a pause", async () => {
  const socket = join(folder, "busy.sock");
  const devices = ["a", "b"].map((id) => ({ id, name: `Set ${id}`, labels: ["lab"], lease: null, status: "online" }));
  const given = (id: string) => ({ ok: true, data: { device: devices[0], action: "lease", token: id, until } });
  const failed = (code: string) => ({ ok: false, error: { code, message: "Set a cannot be had" } });
  const askedAt: number[] = [];
  const answer = (request: Request) => {
    const [, , , id = ""] = new URL(request.url).pathname.split("/");
    if (id === "") return { ok: true, data: devices };
    // Only the name is asked for by the word: another device may have it by the next call.
    if (id === "full" && request.method === "GET") return { ok: true, data: { id: "c", name: "full" } };
    // What was running there takes longer than one call waits.
    if (id === "c")
      return ["device_leased", "device_busy"].map(failed)[askedAt.push(performance.now()) - 1] ?? given("full");
    return id === "b" && freeToo ? given(id) : failed("device_busy");
  };
  let freeToo = true;
  const server = Bun.serve({ unix: socket, fetch: (request) => Response.json(answer(request)) });
  const lease = (...words: string[]) => runZapd(["lease", ...words, "--socket", socket], { env });
  try {
    expect((await lease("-d", "label:lab")).stdout).toBe("b\n");
    freeToo = false;
    expect((await lease("-d", "label:lab")).stderr).toBe(
      "zapd: No device of label:lab is free.\n      In use: Set a (busy), Set b (busy). Wait for one with --wait 10m\n",
    );
    expect((await lease("-d", "full", "--wait", "10m")).stdout).toBe("full\n");
    expect((askedAt[2] ?? 0) - (askedAt[0] ?? 0)).toBeGreaterThan(1_900);
  } finally {
    await server.stop(true);
  }
});

test.each([
  ["60s", "a minute or two"],
  ["30m", "30 minutes"],
])("a lease of %s that cannot be given back is said to end within %s", async (ttl, time) => {
  const socket = join(folder, `${ttl}.sock`);
  const taken = { ok: true, data: { device: { id: "a", name: "Set a" }, action: "lease", token: "a", until } };
  const answer = ({ method }: Request) => Response.json(method === "DELETE" ? notFreed : taken);
  const server = Bun.serve({ unix: socket, fetch: answer });
  try {
    const show = ["sh", "-c", 'echo "$ZAPD_SOCKET"'];
    const words = ["with-lease", "-d", "a", "--ttl", ttl, "--socket", `./${ttl}.sock`, "--", ...show];
    // The program may go to another folder.
    expect(await runZapd(words, { env, cwd: folder })).toEqual({
      stdout: `${socket}\n`,
      stderr: `zapd: Set a could not be freed; its lease ends within ${time}\n`,
      status: 0,
    });
  } finally {
    await server.stop(true);
  }
});
