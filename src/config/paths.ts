/** Where the config and the state live, by the conventions of each system. */
import { homedir } from "node:os";
import { join } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** `--config`, `$ZAPD_CONFIG`, then the usual place. */
export function configPath(env: Environment, option?: string): string {
  return option ?? (env["ZAPD_CONFIG"] || join(folder(env, "XDG_CONFIG_HOME", configHome), "zapd", "config.toml"));
}

/** `$ZAPD_STATE_DIR`, then the usual place. */
export function stateFolder(env: Environment): string {
  return env["ZAPD_STATE_DIR"] || join(folder(env, "XDG_STATE_HOME", stateHome), "zapd");
}

/** The control socket: where the config says, or in the state folder. */
export function socketPath(state: string, configured: string): string {
  return configured || join(state, "zapd.sock");
}

function folder(env: Environment, variable: string, usual: (env: Environment) => string): string {
  return env[variable] || usual(env);
}

function configHome(env: Environment): string {
  if (process.platform === "darwin") return join(homedir(), "Library", "Application Support");
  if (process.platform === "win32") return env["APPDATA"] ?? join(homedir(), "AppData", "Roaming");
  return join(homedir(), ".config");
}

function stateHome(env: Environment): string {
  if (process.platform === "darwin") return join(homedir(), "Library", "Application Support");
  if (process.platform === "win32") return env["LOCALAPPDATA"] ?? join(homedir(), "AppData", "Local");
  return join(homedir(), ".local", "state");
}
