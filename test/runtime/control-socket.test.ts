import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import { dirname, join } from "node:path";
import type { ZapdError } from "../../src/api/errors.ts";
import { claimPort, claimSocket, releaseSocket } from "../../src/runtime/control-socket.ts";
import { currentRuntime } from "../../src/runtime/runtime.ts";
import { failureOf } from "../support/failure.ts";
import { folderForEach } from "../support/folder.ts";
import { fullSocket, listenElsewhere } from "../support/full-socket.ts";

const folderOf = folderForEach();
let folder: string;
let path: string;
const servers: net.Server[] = [];
beforeEach(() => {
  folder = folderOf();
  path = join(folder, "state", "zapd.sock");
});
afterEach(() => Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve)))));

function listen(place: net.ListenOptions): Promise<net.Server> {
  const server = net.createServer((socket) => socket.resume());
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(place, () => {
      servers.push(server);
      resolve(server);
    });
  });
}
const claim = (at = path) => claimSocket(at, (path) => listen({ path }));

/** What a daemon that was killed leaves: a socket that nobody answers. */
async function leaveStale(): Promise<void> {
  mkdirSync(join(folder, "state"));
  await listenElsewhere(path, "SIGKILL").exited;
  expect(lstatSync(path).isSocket()).toBe(true);
}

describe("the control socket", () => {
  test("T15 is bound, 0600, in a folder 0700 that is made for it, whatever the umask", async () => {
    const before = process.umask(0);
    try {
      await claimSocket(path, async (bound) => {
        await listen({ path: bound });
        expect(statSync(bound).mode & 0o077).toBe(0);
      });
      expect(process.umask()).toBe(0);
    } finally {
      process.umask(before);
    }
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "state")).mode & 0o777).toBe(0o700);
    expect(await currentRuntime().isListening(path)).toBe(true);
    expect(existsSync(`${path}.starting`)).toBe(false);
  });

  test("R12 that nobody answers is taken over", async () => {
    await leaveStale();
    expect(await currentRuntime().isListening(path)).toBe(false);
    await claim();
    expect(await currentRuntime().isListening(path)).toBe(true);
  });

  test("is bound by one of many who start at once", async () => {
    await leaveStale();
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => failureOf(claim())));
    expect(outcomes.filter((outcome) => outcome === "none").length).toBe(1);
    expect(outcomes.filter((outcome) => outcome.includes("already running")).length).toBe(11);
  });

  test("is not bound over a file, a folder or a link, and leaves them alone", async () => {
    mkdirSync(join(folder, "state"));
    writeFileSync(path, "precious");
    expect(await failureOf(claim())).toContain("is not a socket");
    expect(await Bun.file(path).text()).toBe("precious");
    rmSync(path);
    mkdirSync(path);
    expect(await failureOf(claim())).toContain("is not a socket");
    rmSync(path, { recursive: true });
    symlinkSync(join(folder, "elsewhere"), path);
    expect(await failureOf(claim())).toContain("is not a socket");
    expect(existsSync(`${path}.starting`)).toBe(false);
  });

  test("at a path of more than 107 bytes is refused with how long it is", async () => {
    const long = join(folder, `${"x".repeat(107 - Buffer.byteLength(folder) - 2)}é`);
    expect(Buffer.byteLength(long)).toBe(108);
    expect(await failureOf(claim(long))).toStartWith("config_invalid: The path of the control socket has 108 bytes");
    await claim(long.slice(0, -1));
  });

  test("is bound though one who was starting was killed in the midst of it", async () => {
    mkdirSync(dirname(path));
    writeFileSync(`${path}.starting`, "");
    const past = new Date(Date.now() - 10_000);
    utimesSync(`${path}.starting`, past, past);
    await claim();
    expect(await currentRuntime().isListening(path)).toBe(true);
  });

  test("in a folder that cannot be made says by what another is chosen", async () => {
    writeFileSync(join(folder, "state"), "a file where the folder should be");
    const hint = (by?: "daemon.socket") =>
      claimSocket(path, (at) => listen({ path: at }), by).then(String, (error: ZapdError) => error.hint);
    const move = "Move away the file that is in its place, or choose another with";
    expect([await hint("daemon.socket"), await hint()]).toEqual([`${move} daemon.socket`, `${move} $ZAPD_STATE_DIR`]);
  });

  describe("elsewhere than in the state", () => {
    const daemons: Bun.Server<undefined>[] = [];
    const serve = async (unix: string) =>
      daemons.push(
        Bun.serve({ unix, fetch: () => Response.json({ ok: true, data: { pid: 1, state_folder: dirname(path) } }) }),
      );
    const end = () => Promise.all(daemons.splice(0).map((daemon) => daemon.stop(true)));
    const elsewhere = (name: string) => claimSocket(join(folder, name), serve, "daemon.socket", path);
    afterEach(end);

    test("T16 keeps others off that state, wherever theirs are, as long as it answers", async () => {
      const taken = `${join(folder, "one.sock")} answers`;
      await elsewhere("one.sock");
      expect(await failureOf(elsewhere("two.sock"))).toContain(taken);
      expect(await failureOf(claim())).toContain(taken);
      await end();
      await claimSocket(path, serve);
      expect(await failureOf(elsewhere("two.sock"))).toContain(`${path} answers`);
    });

    test("T16 is bound by one of many who start at once", async () => {
      const starts = Array.from({ length: 8 }, (_, at) => failureOf(at === 0 ? claim() : elsewhere(`${at}.sock`)));
      const outcomes = await Promise.all(starts);
      expect(outcomes.filter((outcome) => outcome === "none").length).toBe(1);
      expect(outcomes.filter((outcome) => outcome.includes("already running")).length).toBe(7);
      expect(readdirSync(folder).filter((name) => name.endsWith(".starting"))).toEqual([]);
    });

    test("leaves nothing in the state when it is released, and is none that is there by another name", async () => {
      await elsewhere("one.sock");
      releaseSocket(join(folder, "one.sock"), path);
      expect(readdirSync(join(folder, "state"))).toEqual([]);
      symlinkSync(join(folder, "state"), join(folder, "same"));
      await elsewhere("same/zapd.sock");
      expect(readdirSync(join(folder, "state"))).toEqual(["zapd.sock", "zapd.sock.at"]);
    });

    test("that a daemon of another state has is told as that", async () => {
      await elsewhere("one.sock");
      const another = join(folder, "another", "zapd.sock");
      const { message, hint } = (await claimSocket(join(folder, "one.sock"), serve, "daemon.socket", another).catch(
        (error: ZapdError) => error as ZapdError,
      )) as ZapdError;
      expect(message).toBe(
        `Another zapd has the control socket ${join(folder, "one.sock")}: the one with the state ${dirname(path)}`,
      );
      expect(hint).toContain("daemon.socket");
    });

    test("does not take a daemon of another state for one of this, which a note of a killed one names", async () => {
      mkdirSync(dirname(path));
      mkdirSync(join(folder, "another"));
      writeFileSync(join(folder, "another", "zapd.sock.at"), `${join(folder, "other.sock")}\n`);
      await serve(join(folder, "other.sock"));
      await claimSocket(join(folder, "another", "zapd.sock"), serve);
    });
  });

  test.skipIf(process.platform !== "linux")(
    "T16 of a stopped daemon with a full backlog is not taken over",
    async () => {
      mkdirSync(join(folder, "state"));
      using _full = await fullSocket(path);
      expect(await failureOf(claim())).toContain("zapd is already running");
      const place = { hostname: "127.0.0.1", port: 1 };
      const port = claimPort(place, path, () => Promise.reject(new Error("taken")));
      expect(await failureOf(port)).toContain("zapd is already running");
    },
  );

  test("on a disk that takes none says which setting chooses another", async () => {
    const refused = () => Promise.reject(Object.assign(new Error("no"), { code: "EOPNOTSUPP" }));
    const { message, hint } = await claimSocket(path, refused).catch((error: ZapdError) => error);
    expect(message).toBe(`The control socket ${path} could not be created (EOPNOTSUPP)`);
    expect(hint).toContain("daemon.socket");
  });

  test("is gone when it is released, and releasing it again is fine", async () => {
    await claim();
    await releaseSocket(path);
    await releaseSocket(path);
    expect(existsSync(path)).toBe(false);
  });
});

describe("the port", () => {
  test("on an address that is not there says why, and which setting to change", async () => {
    const place = { hostname: "192.0.2.77", port: 40_001 };
    const shown = (claimed: Promise<unknown>) =>
      claimed.then(String, ({ message, hint }: ZapdError) => `${message}. ${hint}`);
    const claimed = claimPort(place, path, () => currentRuntime().listen(place, async () => new Response()));
    expect(await shown(claimed)).toMatch(/EADDRNOTAVAIL\. .* daemon\.http_host .* 127\.0\.0\.1$/);
    const absent = () => Promise.reject(Object.assign(new Error("no"), { code: "EADDRNOTAVAIL" }));
    // Another address than the one that is not there.
    expect(await shown(claimPort({ ...place, hostname: "127.0.0.1" }, path, absent))).toEndWith("such as ::1");
    const low = () => Promise.reject(Object.assign(new Error("no"), { code: "EACCES" }));
    expect(await shown(claimPort({ ...place, port: 80 }, path, low))).toEndWith("to a free port, from 1024 on");
  });

  test("and the socket, where no file descriptor is left, name the limit, not another place", async () => {
    const refused = () => Promise.reject(Object.assign(new Error("no"), { code: "EMFILE" }));
    const port = () => claimPort({ hostname: "127.0.0.1", port: 1 }, path, refused);
    for (const claim of [port, () => claimSocket(path, refused)]) {
      const { message, hint } = await claim().catch((error: ZapdError) => error);
      expect([message, hint]).toEqual([expect.stringContaining("EMFILE"), expect.stringContaining("(ulimit -n)")]);
    }
  });
});
