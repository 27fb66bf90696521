/** The paths of the config and the state, by the conventions of each system. */
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { ZapdError } from "../api/errors.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The config: `--config`, else `$ZAPD_CONFIG`, else the default path. */
export function configPath(env: Environment, option?: string): string {
  if (option !== undefined) return option;
  return env["ZAPD_CONFIG"] || join(folder(env, "XDG_CONFIG_HOME", ".config", "APPDATA", "Roaming"), "config.toml");
}

/** The state folder: `$ZAPD_STATE_DIR`, else the default path. */
export function stateFolder(env: Environment): string {
  return env["ZAPD_STATE_DIR"] || folder(env, "XDG_STATE_HOME", ".local/state", "LOCALAPPDATA", "Local");
}

/** The control socket: `daemon.socket`, else in the state folder. */
export const socketPath = (state: string, configured: string) => configured || join(state, "zapd.sock");

/** The folder `zapd` in the folder of the variable, or in the one that the system has for it. */
function folder(env: Environment, name: string, usual: string, windows: string, local: string): string {
  const { platform } = process;
  const given = absolute(env[name]) || (platform === "win32" && env[windows]);
  const others = platform === "win32" ? `AppData/${local}` : usual;
  return join(given || join(homeFolder(), platform === "darwin" ? "Library/Application Support" : others), "zapd");
}

/** The path in an `$XDG_…` variable, if it is absolute: the XDG specification requires that others are ignored. */
export const absolute = (path = "") => (isAbsolute(path) ? path : "");

/** The user's home. Fails with `config_invalid` where $HOME is not set and the system does not know the user. */
export function homeFolder(): string {
  const home = knownHome();
  if (home) return home;
  throw new ZapdError("config_invalid", "Your user has no home folder", {
    hint: "Set $HOME, or both $ZAPD_CONFIG and $ZAPD_STATE_DIR",
  });
}

/** Where the system does not know the user, Bun throws, and Deno gives `null`. */
function knownHome(): string | null {
  try {
    return homedir();
  } catch {
    return null;
  }
}
