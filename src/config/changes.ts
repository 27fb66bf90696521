/** Reading a patch of the config: flat, dotted keys with plain values, all of it right or all of it refused. */
import { ZapdError } from "../api/errors.ts";
import { problemOf, redacted, settings, suggestion } from "./schema.ts";

const limits = { keys: 64, keyCharacters: 128 } as const;

/** Checks a patch: values that a patch cannot hold first, then keys, then types and ranges. */
export function readChanges(changes: Readonly<Record<string, unknown>>): Map<string, unknown> {
  const entries = Object.entries(changes);
  if (entries.length > limits.keys) throw new ZapdError("invalid_payload", `A patch holds at most ${limits.keys} keys`);
  for (const [key, value] of entries) {
    if (typeof value !== "object" || value === null) continue;
    throw new ZapdError(
      "unsupported_patch_value",
      `${quoted(key)} was given ${Array.isArray(value) ? "an array" : "an object"}; a patch takes strings, numbers, booleans and null`,
      {
        hint: 'Write a list as one comma-separated string, and nested keys with dots: {"daemon.http_port": 7272}',
      },
    );
  }
  for (const [key] of entries) {
    if (!settings.has(key))
      throw new ZapdError("unknown_config_key", `${quoted(key)} is not a setting`, {
        hint: suggestion(key) || `The settings are: ${[...settings.keys()].join(", ")}`,
      });
  }
  return new Map(entries.map(([key, value]) => [key, value === null ? null : changeOf(key, value)]));
}

function changeOf(dotted: string, given: unknown): unknown {
  const setting = settings.get(dotted);
  const refuse = (reason: string) => new ZapdError("invalid_config_value", `${dotted} ${reason}`);
  if (!setting) throw refuse("is not a setting");
  if (dotted === "dev.vendor_password" && given === redacted) {
    throw new ZapdError(
      "invalid_config_value",
      `dev.vendor_password was given the placeholder ${redacted}, not a password`,
      {
        hint: "Leave the key out to keep the password, or give null to unset it",
      },
    );
  }
  if (setting.list && typeof given !== "string") throw refuse("must be one string, with commas between its entries");
  const value =
    setting.list && typeof given === "string"
      ? given
          .split(",")
          .map((part) => part.trim())
          .filter((part) => part !== "")
      : given;
  const problem = problemOf(setting, value);
  if (problem !== null) throw refuse(problem);
  return value;
}

function quoted(key: string): string {
  return JSON.stringify(key.slice(0, limits.keyCharacters));
}
