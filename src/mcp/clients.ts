/** The clients that can be told of zapd: where each lists its servers, and how an entry reads there. */
import { chmod, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";
import { makeFolder, readUtf8, writeAtomically } from "../system/files.ts";
import { tildePath } from "../system/text.ts";
import { JsonError, withEntry } from "./jsonc.ts";

/** How zapd is started by a client. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Where a user's files are. */
export interface Place {
  readonly platform: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface Client {
  readonly title: string;
  /** Its file. */
  path(place: Place): string;
  /** The part of it that lists servers. */
  readonly section: string;
  /** Whether an entry says that it is a program. */
  readonly typed: boolean;
}

const claudeCode: Client = {
  title: "Claude Code",
  path: ({ home, env }) => join(env["CLAUDE_CONFIG_DIR"] || home, ".claude.json"),
  section: "mcpServers",
  typed: true,
};
const claudeDesktop: Client = {
  title: "Claude Desktop",
  path: (place) => join(configHome(place), "Claude", "claude_desktop_config.json"),
  section: "mcpServers",
  typed: false,
};
const cursor: Client = {
  title: "Cursor",
  path: ({ home }) => join(home, ".cursor", "mcp.json"),
  section: "mcpServers",
  typed: true,
};
const vscode: Client = {
  title: "VS Code",
  path: (place) => join(configHome(place), "Code", "User", "mcp.json"),
  section: "servers",
  typed: true,
};

/** By the words of the command. Claude has two clients: each that is installed is told, and where none is, the first. */
const clients: Readonly<Record<string, readonly [Client, ...Client[]]>> = {
  claude: [claudeCode, claudeDesktop],
  cursor: [cursor],
  vscode: [vscode],
};
export const clientNames = Object.keys(clients);

/** What was written. */
export interface Added {
  readonly title: string;
  readonly file: string;
  /** It was there already, and as it should be. */
  readonly wasThere: boolean;
}

const mostBytes = 32 * 1024 * 1024;
const entryName = "zapd";

/** Adds zapd to the config of a client, and changes nothing but its own entry. Fails with `config_invalid` where a file is no JSON. */
export async function addToClient(word: string, program: Program, place: Place): Promise<Added[]> {
  const [first, ...others] = clients[word] ?? [vscode];
  const here = await Promise.all(others.map(async (one) => ((await isThere(dirname(one.path(place)))) ? [one] : [])));
  const isFirst =
    here.flat().length === 0 || (await isThere(first.path(place))) || (await isThere(join(place.home, ".claude")));
  const added: Added[] = [];
  for (const client of [...(isFirst ? [first] : []), ...here.flat()]) added.push(await add(client, program, place));
  return added;
}

async function add(
  { title, path, section, typed }: Client,
  { command, args, env }: Program,
  place: Place,
): Promise<Added> {
  // The file may be a link: what it leads to is changed.
  const file = await realpath(path(place)).catch(() => path(place));
  const entry = { ...(typed && { type: "stdio" }), command, args, ...(Object.keys(env).length > 0 && { env }) };
  const before = read(file);
  const after = changed(file, before ?? "", section, entry);
  if (after === before) return { title, file, wasThere: true };
  const mode = before === null ? null : (await stat(file)).mode & 0o777;
  makeFolder(dirname(file), null);
  await writeAtomically(file, after);
  if (mode !== null && mode !== 0o600) await chmod(file, mode);
  return { title, file, wasThere: false };
}

function read(file: string): string | null {
  try {
    return readUtf8(file, mostBytes, () => {});
  } catch (cause) {
    throw new ZapdError(
      "storage_error",
      `${tildePath(file)} could not be read (${systemCode(cause) || textOf(cause)})`,
      {
        cause,
      },
    );
  }
}

function changed(file: string, text: string, section: string, entry: object): string {
  try {
    return withEntry(text, section, entryName, entry);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const { line, column, message } = error;
    throw new ZapdError("config_invalid", `${tildePath(file)}, line ${line}, column ${column}: it ${message}`, {
      hint: "Mend it there, and add zapd again; nothing was changed",
    });
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function configHome({ platform, home, env }: Place): string {
  if (platform === "darwin") return join(home, "Library", "Application Support");
  if (platform === "win32") return env["APPDATA"] || join(home, "AppData", "Roaming");
  return env["XDG_CONFIG_HOME"] || join(home, ".config");
}
