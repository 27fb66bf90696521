/** `zapd mcp add`: each client's file, in a home of its own. */
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { addToClient } from "../../src/mcp/clients.ts";
import { parseJsonc } from "../../src/mcp/jsonc.ts";
import { folderForEach } from "../support/folder.ts";

const home = folderForEach();
const program = { command: "/usr/bin/zapd", args: ["mcp"], env: {} };
const add = (client: Parameters<typeof addToClient>[0], platform = "linux") =>
  addToClient(client, program, { platform, home: home(), env: {} });
const read = (path: string) => parseJsonc(readFileSync(join(home(), path), "utf8"));
const write = (path: string, text: string) => {
  mkdirSync(dirname(join(home(), path)), { recursive: true });
  writeFileSync(join(home(), path), text);
};

const desktop = ".config/Claude/claude_desktop_config.json";

describe("where each client looks", () => {
  test.each([
    ["claude", "linux", ".claude.json", "mcpServers"],
    ["cursor", "linux", ".cursor/mcp.json", "mcpServers"],
    ["vscode", "linux", ".config/Code/User/mcp.json", "servers"],
    ["vscode", "darwin", "Library/Application Support/Code/User/mcp.json", "servers"],
    ["vscode", "win32", "AppData/Roaming/Code/User/mcp.json", "servers"],
  ] as const)("%s on %s", async (client, platform, file, section) => {
    const added = await add(client, platform);
    expect(added.map((one) => [one.file, one.wasThere])).toEqual([[join(home(), file), false]]);
    expect(read(file)).toEqual({ [section]: { zapd: { type: "stdio", command: "/usr/bin/zapd", args: ["mcp"] } } });
    expect(statSync(join(home(), file)).mode & 0o777).toBe(0o600);
    const { ino } = statSync(join(home(), file));
    expect((await add(client, platform)).map(({ wasThere }) => wasThere)).toEqual([true]);
    expect(statSync(join(home(), file)).ino).toBe(ino);
  });

  test("of the two Claude clients each that is installed gets the entry", async () => {
    write(desktop, '{"mcpServers": {"files": {"command": "f"}}}');
    expect((await add("claude")).map(({ title }) => title)).toEqual(["Claude Desktop"]);
    expect(read(desktop)).toEqual({
      mcpServers: { files: { command: "f" }, zapd: { command: "/usr/bin/zapd", args: ["mcp"] } },
    });
    expect(existsSync(join(home(), ".claude.json"))).toBe(false);
    write(".claude.json", "{}");
    // A damaged one leaves the other as it is.
    write(desktop, '{"mcpServers": }');
    await expect(add("claude")).rejects.toMatchObject({ code: "config_invalid" });
    expect(read(".claude.json")).toEqual({});
    write(desktop, "");
    expect((await add("claude")).map(({ title }) => title)).toEqual(["Claude Code", "Claude Desktop"]);
  });
});

test("a relative $XDG_CONFIG_HOME is ignored", async () => {
  const place = { platform: "linux", home: home(), env: { XDG_CONFIG_HOME: "relative" } };
  expect((await addToClient("vscode", program, place)).map(({ file }) => file)).toEqual([
    join(home(), ".config/Code/User/mcp.json"),
  ]);
});

test("only the own entry changes; the mode of the file and a link stay", async () => {
  const text = '{\n  // mine\n  "mcpServers": {\n    "a": { "command": "a" } // keep\n  }\n}\n';
  write("dotfiles/mcp.json", text);
  chmodSync(join(home(), "dotfiles/mcp.json"), 0o644);
  mkdirSync(join(home(), ".cursor"));
  symlinkSync(join(home(), "dotfiles/mcp.json"), join(home(), ".cursor/mcp.json"));
  await add("cursor");
  const after = readFileSync(join(home(), "dotfiles/mcp.json"), "utf8");
  expect(after).toStartWith('{\n  // mine\n  "mcpServers": {\n    "a": { "command": "a" }, // keep\n    "zapd": {');
  expect(statSync(join(home(), "dotfiles/mcp.json")).mode & 0o777).toBe(0o644);
  expect(readFileSync(join(home(), ".cursor/mcp.json"), "utf8")).toBe(after);
});

test("a file that cannot be read is refused; one that is broken: test/cli/mcp.test.ts", async () => {
  mkdirSync(join(home(), ".claude.json"));
  await expect(add("claude")).rejects.toMatchObject({ code: "storage_error" });
});
