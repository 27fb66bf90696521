/** A launch agent of macOS. */
import type { Program } from "./program.ts";

export const label = "local.zapd";

/** In what zapd writes: an agent without it is somebody else's. */
export const mark = "<!-- Written by zapd service install; zapd service uninstall removes it. -->";

/** Here launchd cannot be told to leave the daemon alone after exit status 78: it tries again, but seldom. */
const throttleSeconds = 30;
const umask = 0o077;

/** The text of `local.zapd.plist`; what the daemon says goes to a file in `logs`. */
export function plistText({ words, env }: Program, logs: string): string {
  const variables = Object.entries(env);
  const entries = [
    entry("Label", text(label)),
    entry("ProgramArguments", array(words)),
    ...(variables.length > 0 ? [entry("EnvironmentVariables", dict(variables))] : []),
    entry("RunAtLoad", "<true/>"),
    entry("KeepAlive", "<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>"),
    entry("ThrottleInterval", `<integer>${throttleSeconds}</integer>`),
    entry("Umask", `<integer>${umask}</integer>`),
    entry("StandardOutPath", text(`${logs}/zapd.log`)),
    entry("StandardErrorPath", text(`${logs}/zapd.log`)),
  ];
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
${mark}
<plist version="1.0">
<dict>
${entries.join("\n")}
</dict>
</plist>
`;
}

function entry(key: string, value: string): string {
  return `\t<key>${escaped(key)}</key>\n\t${value}`;
}

function text(value: string): string {
  return `<string>${escaped(value)}</string>`;
}

function array(values: readonly string[]): string {
  return `<array>\n${values.map((value) => `\t\t${text(value)}`).join("\n")}\n\t</array>`;
}

function dict(values: readonly (readonly [string, string])[]): string {
  const lines = values.map(([key, value]) => `\t\t<key>${escaped(key)}</key>\n\t\t${text(value)}`);
  return `<dict>\n${lines.join("\n")}\n\t</dict>`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

function escaped(value: string): string {
  return value.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
