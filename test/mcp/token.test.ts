/** The token of /mcp: created once, readable by its owner alone. */
import { beforeEach, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isBearer, mcpToken, renewToken, tokenFile } from "../../src/mcp/token.ts";
import { folderForEach } from "../support/folder.ts";

const folder = folderForEach();
let state = "";
beforeEach(() => {
  state = join(folder(), "state");
});

test("it is created once, also by simultaneous calls, and leaves no temporary file", async () => {
  const all = await Promise.all(Array.from({ length: 20 }, () => mcpToken(state)));
  expect(new Set(all).size).toBe(1);
  expect(all[0]).toMatch(/^[\w-]{43}$/);
  expect(readdirSync(state)).toEqual(["mcp.token"]);
});

test("another one replaces it, and is made where there was none", async () => {
  const token = await renewToken(state);
  expect(await mcpToken(state)).toBe(token);
  expect(await renewToken(state)).not.toBe(token);
  expect(await mcpToken(state)).not.toBe(token);
});

test("T35 a file that others could read or have written, a link, and what is no token let nobody in", async () => {
  const token = await mcpToken(state);
  chmodSync(tokenFile(state), 0o644);
  await expect(mcpToken(state)).rejects.toMatchObject({
    code: "config_invalid",
    hint: expect.stringContaining("--new"),
  });
  chmodSync(tokenFile(state), 0o600);
  // Only root can make a file of another user.
  if (process.getuid?.() === 0) {
    chownSync(tokenFile(state), 65_534, 65_534);
    await expect(mcpToken(state)).rejects.toMatchObject({ code: "config_invalid" });
  }
  rmSync(tokenFile(state));
  writeFileSync(join(state, "elsewhere"), `${token}\n`, { mode: 0o600 });
  symlinkSync(join(state, "elsewhere"), tokenFile(state));
  await expect(mcpToken(state)).rejects.toMatchObject({ code: "storage_error" });
  rmSync(tokenFile(state));
  writeFileSync(tokenFile(state), "\n", { mode: 0o600 });
  await expect(mcpToken(state)).rejects.toMatchObject({ code: "storage_error" });
  rmSync(tokenFile(state));
  mkdirSync(tokenFile(state));
  await expect(mcpToken(state)).rejects.toMatchObject({ code: "storage_error" });
});

test("only a bearer of the exact token is accepted", () => {
  const token = "a".repeat(43);
  expect([`Bearer ${token}`, `bearer  ${token} `].map((header) => isBearer(header, token))).toEqual([true, true]);
  for (const header of [
    undefined,
    "",
    "Bearer",
    "Bearer ",
    token,
    `Basic ${token}`,
    `Bearer ${token}a`,
    `Bearer ${token} x`,
  ])
    expect([header, isBearer(header, token)]).toEqual([header, false]);
});
