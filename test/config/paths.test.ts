/** The usual paths, from what the environment says. */
import { expect, test } from "bun:test";
import { homedir } from "node:os";
import { join } from "node:path";
import { configPath, stateFolder } from "../../src/config/paths.ts";

const isMac = process.platform === "darwin";
const usual = {
  config: join(homedir(), isMac ? "Library/Application Support" : ".config", "zapd", "config.toml"),
  state: join(homedir(), isMac ? "Library/Application Support" : ".local/state", "zapd"),
};

test("$XDG_… names the folders", () => {
  expect(configPath({ XDG_CONFIG_HOME: "/c" })).toBe(join("/c", "zapd", "config.toml"));
  expect(stateFolder({ XDG_STATE_HOME: "/s" })).toBe(join("/s", "zapd"));
});

// XDG Base Directory Specification, "Basics": a relative path is invalid and must be ignored.
test.each(["", ".", "relative/path", "./c", "~/c"])("a relative $XDG_… is ignored: %p", (path) => {
  expect(configPath({ XDG_CONFIG_HOME: path })).toBe(usual.config);
  expect(stateFolder({ XDG_STATE_HOME: path })).toBe(usual.state);
});
