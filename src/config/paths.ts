/** The paths of the config and the state, by the conventions of each system. */
import { homedir } from "node:os";
import { join } from "node:path";
import { ZapdError } from "../api/errors.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The config: `--config`, else `$ZAPD_CONFIG`, else the default path. */
export function configPath(env: Environment, option?: string): string {
  const usual = () => join(folder(env, "XDG_CONFIG_HOME", ".config", "APPDATA", "Roaming"), "config.toml");
  return option ?? (env["ZAPD_CONFIG"] || usual());
}

/** The state folder: `$ZAPD_STATE_DIR`, else the default path. */
export function stateFolder(env: Environment): string {
  return env["ZAPD_STATE_DIR"] || folder(env, "XDG_STATE_HOME", ".local/state", "LOCALAPPDATA", "Local");
}

/** The control socket: `daemon.socket`, else in the state folder. */
export function socketPath(state: string, configured: string): string {
  return configured || join(state, "zapd.sock");
}

/** The folder `zapd` in the folder of the variable, or in the one that the system has for it. */
function folder(env: Environment, variable: string, usual: string, windows: string, local: string): string {
  const { platform } = process;
  const given = env[variable] || (platform === "win32" && env[windows]);
  if (given) return join(given, "zapd");
  const others = platform === "win32" ? `AppData/${local}` : usual;
  return join(homeFolder(), platform === "darwin" ? "Library/Application Support" : others, "zapd");
}

/** The user's home. Fails with `config_invalid` where $HOME is not set and the system does not know the user. */
export function homeFolder(): string {
  try {
    return homedir();
  } catch {
    throw new ZapdError("config_invalid", "Your user has no home folder", {
      hint: "Set $HOME, or both $ZAPD_CONFIG and $ZAPD_STATE_DIR",
    });
  }
}
