/** `zapd open`: which address it opens, and by what. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DaemonWithRoku, startDaemonWithRoku } from "../support/daemon-with-roku.ts";
import { testFolder } from "../support/folder.ts";
import { root } from "../support/sources.ts";
import { runZapd } from "./program.ts";

const folder = testFolder();
const opened = join(folder, "opened");
const browser = join(folder, "browser");
const isMade = existsSync(join(root, "src/web/assets.ts"));
let room: DaemonWithRoku;

beforeAll(async () => {
  writeFileSync(browser, `#!/bin/sh\nprintf %s "$1" > '${opened}'\n`);
  chmodSync(browser, 0o700);
  room = await startDaemonWithRoku();
});
afterAll(() => room.dispose());

function zapd(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { PATH } = process.env;
  return runZapd(words, {
    env: { PATH, HOME: folder, ZAPD_SOCKET: join(room.daemon.stateFolder, "zapd.sock"), ...env },
  });
}

const made = test.skipIf(!isMade);

made("opens the page, the remote of a device, the documentation", async () => {
  const { port } = room.daemon;
  const { id } = (await room.daemon.api("GET", "/devices/set")).body.data;
  for (const [words, path] of [
    [[], "/"],
    [["-d", "SET"], `/#/remote/${id}`],
    [["--docs"], "/docs"],
  ] as const) {
    const { status, stdout, stderr } = await zapd(["open", ...words], { BROWSER: browser });
    const url = `http://127.0.0.1:${port}${path}`;
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: `opened ${url}\n` });
    expect(readFileSync(opened, "utf8")).toBe(url);
  }
});

made("prints the address where there is no screen, and where the browser is none", async () => {
  const script = join(folder, "script");
  writeFileSync(script, "exit\n", { mode: 0o700 });
  for (const env of [{}, { BROWSER: join(folder, "none") }, { BROWSER: script }]) {
    const { status, stdout } = await zapd(["open"], env as Record<string, string>);
    expect([status, stdout]).toEqual([0, `http://127.0.0.1:${room.daemon.port}/\n`]);
  }
});

test("says why there is nothing to open", async () => {
  expect(await zapd(["open", "-d", "Nowhere"])).toMatchObject({ status: 3 });
  await room.daemon.api("PATCH", "/config", { "daemon.page": false });
  const { status, stderr } = await zapd(["open"], { BROWSER: browser });
  expect(status).not.toBe(0);
  expect(stderr).toContain("zapd config set daemon.page true");
  await room.daemon.api("PATCH", "/config", { "daemon.page": null });
});
