/** The MCP clients that zapd can be added to: the file and the section of each, and the form of an entry. */
import { existsSync } from "node:fs";
import { chmod, realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";
import { makeFolder, readUtf8, writeAtomically } from "../system/files.ts";
import { tildePath } from "../system/text.ts";
import { JsonError, withEntry } from "./jsonc.ts";

/** How a client starts zapd. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The environment of a user. */
export interface Place {
  readonly platform: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface Client {
  readonly title: string;
  /** Its config file. */
  path(place: Place): string;
  /** The key of the list of servers. */
  readonly section: string;
  /** Whether an entry has `type: "stdio"`. */
  readonly hasType: boolean;
}

const claudeCode: Client = {
  title: "Claude Code",
  path: ({ home, env }) => join(env["CLAUDE_CONFIG_DIR"] || home, ".claude.json"),
  section: "mcpServers",
  hasType: true,
};
const claudeDesktop: Client = {
  title: "Claude Desktop",
  path: (place) => join(configHome(place), "Claude", "claude_desktop_config.json"),
  section: "mcpServers",
  hasType: false,
};
const cursor: Client = {
  title: "Cursor",
  path: ({ home }) => join(home, ".cursor", "mcp.json"),
  section: "mcpServers",
  hasType: true,
};
const vscode: Client = {
  title: "VS Code",
  path: (place) => join(configHome(place), "Code", "User", "mcp.json"),
  section: "servers",
  hasType: true,
};

/** By the argument of the command. Claude has two clients: zapd is added to each that is installed, else to the first. */
const clients = {
  claude: [claudeCode, claudeDesktop],
  cursor: [cursor],
  vscode: [vscode],
} as const satisfies Record<string, readonly [Client, ...Client[]]>;
type ClientName = keyof typeof clients;
export const clientNames = Object.keys(clients) as ClientName[];

export interface Added {
  readonly title: string;
  readonly file: string;
  /** The same entry was there already. */
  readonly wasThere: boolean;
}

const maxBytes = 32 * 1024 * 1024;
const entryName = "zapd";

/** Adds zapd to the config of a client, and changes nothing but its own entry. Fails with `config_invalid` where a file is not JSON. */
export async function addToClient(word: ClientName, program: Program, place: Place): Promise<Added[]> {
  const [first, ...others] = clients[word];
  const here = others.filter((one) => existsSync(dirname(one.path(place))));
  const isFirst = here.length === 0 || existsSync(first.path(place)) || existsSync(join(place.home, ".claude"));
  const chosen = [...(isFirst ? [first] : []), ...here];
  // All files are read first, so that a damaged one leaves the others unchanged, too.
  const changes = await Promise.all(chosen.map((client) => prepare(client, program, place)));
  for (const change of changes) await write(change);
  return changes.map(({ title, file, before, after }) => ({ title, file, wasThere: after === before }));
}

/** A file of a client, and its text before, `null` where there is none, and after. */
interface Change {
  readonly title: string;
  readonly file: string;
  readonly before: string | null;
  readonly after: string;
}

async function prepare(
  { title, path, section, hasType }: Client,
  { command, args, env }: Program,
  place: Place,
): Promise<Change> {
  // The file may be a link: then its target is changed.
  const file = await realpath(path(place)).catch(() => path(place));
  const entry = { ...(hasType && { type: "stdio" }), command, args, ...(Object.keys(env).length > 0 && { env }) };
  const before = read(file);
  return { title, file, before, after: changed(file, before ?? "", section, entry) };
}

async function write({ file, before, after }: Change): Promise<void> {
  if (after === before) return;
  const mode = before === null ? null : (await stat(file)).mode & 0o777;
  makeFolder(dirname(file), null);
  await writeAtomically(file, after);
  if (mode !== null) await chmod(file, mode);
}

function read(file: string): string | null {
  try {
    return readUtf8(file, maxBytes, () => {});
  } catch (cause) {
    const why = systemCode(cause) || textOf(cause);
    throw new ZapdError("storage_error", `${tildePath(file)} could not be read (${why})`, { cause });
  }
}

function changed(file: string, text: string, section: string, entry: object): string {
  try {
    return withEntry(text, section, entryName, entry);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const { line, column, message } = error;
    throw new ZapdError("config_invalid", `${tildePath(file)}, line ${line}, column ${column}: ${message}`, {
      hint: "Correct the file and run the command again; nothing was changed",
    });
  }
}

function configHome({ platform, home, env }: Place): string {
  if (platform === "darwin") return join(home, "Library", "Application Support");
  if (platform === "win32") return env["APPDATA"] || join(home, "AppData", "Roaming");
  const given = env["XDG_CONFIG_HOME"];
  return given && isAbsolute(given) ? given : join(home, ".config");
}
