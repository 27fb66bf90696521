/** The files that the daemon runs on, as it says itself; those it would run on, where none does. */
import { resolve } from "node:path";
import type { z } from "zod";
import type { operations } from "../api/operations.ts";
import { configPath, stateFolder } from "../config/paths.ts";
import { ask } from "./ask.ts";
import type { Context } from "./context.ts";

export interface Places {
  readonly configFile: string;
  readonly stateFolder: string;
  readonly socket: string;
  /** Whether a daemon said so. */
  readonly running: boolean;
}

/** A daemon that hangs is not waited for. */
const within = 2_000;

export async function placesOf(context: Context): Promise<Places> {
  const asked = await ask<z.infer<(typeof operations)["status"]["data"]>>(context, "GET", "/daemon/status", { within });
  const said = asked.ok ? asked.data : undefined;
  return {
    configFile: said?.config_file ?? ownConfig(context),
    stateFolder: said?.state_folder ?? stateFolder(process.env),
    socket: context.socket(),
    running: asked.ok,
  };
}

/** The config of `--config`, of the environment, or of the usual place. */
export function ownConfig(context: Context): string {
  const given = context.options["config"];
  return resolve(configPath(process.env, typeof given === "string" ? given : undefined));
}

/** What to say when the daemon runs on another config than the one that was given for it; `null` when it does not. */
export function elsewhere(context: Context, { running, configFile }: Places): string | null {
  const given = context.options["config"] !== undefined || process.env["ZAPD_CONFIG"];
  if (!running || !given || configFile === ownConfig(context)) return null;
  return `the daemon that answers runs on ${configFile}, not on ${ownConfig(context)}`;
}
