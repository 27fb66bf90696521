/** What the service is to run: the very program that runs now, by absolute paths. */
import { resolve } from "node:path";
import { exits } from "../../api/errors.ts";
import { configPath, stateFolder } from "../../config/paths.ts";
import { CommandError } from "../failure.ts";

/** The words of the command line, and the variables that it needs to find the same config and state. */
export interface Program {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Where a config and a state are looked for: a service manager does not know what a shell has set. */
const variables = ["ZAPD_CONFIG", "ZAPD_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] as const;

type Environment = Readonly<Record<string, string | undefined>>;

export interface Running {
  readonly execPath: string;
  /** The script, or a path inside the binary. */
  readonly script: string;
  readonly deno: boolean;
}

export function runningNow(): Running & { readonly compiled: boolean } {
  const script = process.argv[1] ?? "";
  return {
    execPath: process.execPath,
    script,
    deno: process.versions["deno"] !== undefined,
    compiled: isCompiled(script),
  };
}

function isCompiled(script: string): boolean {
  return /^(\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/i.test(script);
}

/** Fails with CommandError where the command line would be more than a path and a script. */
export function programOf({ execPath, script, deno }: Running, env: Environment, config?: string): Program {
  if (deno)
    throw new CommandError(
      "no service is installed from under deno",
      exits.unsupported,
      "Install it with the binary; or have what starts programs here run `deno task start`",
    );
  const words = [execPath, ...(isCompiled(script) ? [] : [resolve(script)]), "serve"];
  if (config !== undefined) words.push("--config", resolve(config));
  const known = variables.flatMap((name): [string, string][] => {
    const value = env[name];
    return value ? [[name, resolve(value)]] : [];
  });
  const all = [...words, ...known.flat()];
  if (all.some((word) => /[\x00-\x1f\x7f]/.test(word)))
    throw new CommandError("a path with a control character in it can stand in no service", exits.failed);
  return { words, env: Object.fromEntries(known) };
}

/** What stays when the service goes. */
export function keptPlaces(env: Environment, config?: string): { config: string; state: string } {
  return { config: resolve(configPath(env, config)), state: resolve(stateFolder(env)) };
}

/** npm keeps what `npx` ran only for a while. */
export function isPassing({ words }: Program): boolean {
  return words.some((word) => /[\\/]_npx[\\/]/.test(word));
}
