/** `zapd logs --follow`: a log that goes on, whatever happens to the daemon and the set. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { ApiError } from "../../src/api/client.ts";
import type { ErrorCode } from "../../src/api/errors.ts";
import { isTransient } from "../../src/cli/logs.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { saidBy } from "../support/said.ts";
import { type Stage, setStage } from "./stage.ts";
import { InTerminal } from "./terminal.ts";

let stage: Stage;
let folder = "";
let later: TestDaemon | undefined;

beforeAll(async () => {
  stage = await setStage();
  await stage.reset();
  await stage.daemon.api("PATCH", "/config", { "daemon.default_device": "Workbench" });
  folder = stage.folder({});
}, 60_000);
afterAll(async () => {
  await later?.dispose();
  await stage.dispose();
});

interface Following {
  readonly lines: () => string[];
  readonly talk: () => string;
  sees(line: string): Promise<void>;
  end(): Promise<number | null>;
}

function follow(...words: string[]): Following {
  const child: ChildProcess = spawn("zapd", ["logs", "--follow", ...words], {
    cwd: folder,
    env: stage.environment(folder),
  });
  const texts = saidBy(child);
  const ended = new Promise<number | null>((resolve) => child.on("exit", (status) => resolve(status)));
  const lines = () => texts.stdout.split("\n").slice(0, -1);
  return {
    lines,
    talk: () => texts.stderr,
    sees: (line) => until(`the log shows ${line}`, () => lines().includes(line)),
    end() {
      child.kill("SIGINT");
      // As a launcher passes it on that the terminal has interrupted as well.
      setTimeout(() => child.kill("SIGINT"), 2);
      return ended;
    },
  };
}

const bench = () => stage.sets["Workbench"] ?? Promise.reject();

describe("a log that is followed", () => {
  test("begins with what is kept, goes on line by line, and ends with Ctrl-C", async () => {
    const set = await bench();
    set.log("kept");
    const following = follow();
    await following.sees("kept");
    set.log("one\ttabbed\x1b[31m");
    set.log("two");
    await following.sees("two");
    set.log("three");
    await following.sees("three");
    expect(following.lines()).toEqual(["kept", "one tabbed", "two", "three"]);
    expect(await following.end()).toBe(0);
    expect(following.talk()).toBe("");
  });

  test("is JSON lines with --json, each of them a response", async () => {
    const set = await bench();
    const following = follow("--json");
    await until("something was read", () => following.lines().length > 0);
    set.log("four");
    await until("more was read", () => following.lines().some((line) => line.includes("four")));
    const documents = following.lines().map((line) => JSON.parse(line));
    expect(documents.every(({ ok, data }) => ok && data.device.name === "Workbench")).toBe(true);
    expect(documents.flatMap(({ data }) => data.lines)).toEqual(["kept", "one\ttabbed", "two", "three", "four"]);
    expect(await following.end()).toBe(0);
  });

  test("ends in silence when nobody reads on", async () => {
    const set = await bench();
    const ended = stage.run("zapd logs --follow | head -1", folder);
    // Only a line that comes later meets the closed pipe.
    const chatter = setInterval(() => set.log("chatter"), 100);
    expect(await ended.finally(() => clearInterval(chatter))).toEqual({ stdout: "kept\n", stderr: "", status: 0 });
  });

  // The keys of a terminal are signals only to those whose own terminal it is.
  const setsid = Bun.which("setsid");
  test.skipIf(!setsid)(`ends with 0 on a terminal${setsid ? "" : " (skipped: no setsid)"}`, async () => {
    const words = ["setsid", "--ctty", "--wait", "zapd", "logs", "-f"];
    const screen = new InTerminal(words, { cwd: folder, env: stage.environment(folder) });
    await screen.shows("chatter");
    screen.type("\x03");
    expect(await screen.ended).toBe(0);
  });

  test("goes on when the daemon starts anew: it says so, and prints no line twice", async () => {
    const set = await bench();
    const following = follow();
    await following.sees("chatter");
    set.log("last");
    await following.sees("last");
    await stage.daemon.api("PATCH", "/config", { "daemon.default_device": "Living Room" });
    await stage.daemon.stop();
    set.log("while it was away");
    await until("it says so", () => following.talk().includes("the daemon does not answer"));
    later = await startTestDaemon({ folder: stage.daemon.folder });
    await following.sees("while it was away");
    set.log("after");
    await following.sees("after");
    const told = following.lines().filter((line) => line !== "chatter");
    expect(told).toEqual(["kept", "one tabbed", "two", "three", "four", "last", "while it was away", "after"]);
    expect(following.talk()).toBe("zapd: the daemon does not answer. Waiting for it; Ctrl-C ends\nzapd: reconnected\n");
    expect(await following.end()).toBe(0);
    await later.api("PATCH", "/config", { "daemon.default_device": "Workbench" });
  }, 60_000);

  test("goes on when the set was away: it says what it waits for", async () => {
    const set = await bench();
    const following = follow();
    await following.sees("after");
    await set.stop();
    await until("it says so", () => following.talk().includes("Waiting for it; Ctrl-C ends"), 20_000);
    expect(following.talk()).toContain("zapd: Workbench ");
    await set.start();
    set.log("back again");
    await until("it goes on", () => following.lines().includes("back again"), 20_000);
    // On another pipe than the line.
    await until("it says that, too", () => following.talk().endsWith("zapd: reconnected\n"));
    expect(following.talk().split("Waiting").length).toBe(2);
    expect(await following.end()).toBe(0);
  }, 60_000);

  test("goes on after what passes: a set that starts anew opens its console last, or still serves who was cut off", () => {
    const passes = (code: ErrorCode) => isTransient(new ApiError({ code, message: "" }, ""));
    for (const code of ["device_unreachable", "device_timeout", "device_refused", "console_in_use"] as const)
      expect([code, passes(code)]).toEqual([code, true]);
    for (const code of ["device_not_found", "unsupported_operation", "device_leased"] as const)
      expect([code, passes(code)]).toEqual([code, false]);
  });

  test("says what is no longer kept on stderr, and with --json in the answer alone", async () => {
    const set = await bench();
    const following = follow();
    await following.sees("after");
    for (let at = 1; at <= 6_000; at++) set.log(`flood ${at}`);
    await until("the last line is kept", async () =>
      (await stage.run("zapd logs | tail -1", folder)).stdout.includes("flood 6000"),
    );
    expect(await following.end()).toBe(0);
    const { stdout, stderr, status } = await stage.run("zapd logs", folder);
    expect(status).toBe(0);
    expect(stdout.split("\n").length - 1).toBe(5_000);
    expect(stderr).toMatch(/^zapd: \d+ earlier lines are no longer kept\n$/);
    const json = await stage.run("zapd logs --json", folder);
    expect(json.stderr).toBe("");
    expect(JSON.parse(json.stdout).data.dropped).toBeGreaterThan(1_000);
  }, 60_000);

  test("that cannot begin fails as any command does", async () => {
    const { stderr, status } = await stage.run("zapd logs --follow -d Bedroom", folder);
    expect({ status, stderr }).toEqual({ status: 6, stderr: expect.stringContaining("developer mode") });
  });
});
