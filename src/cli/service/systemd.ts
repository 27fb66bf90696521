/** A user unit of systemd. */
import type { Program } from "./program.ts";

/** The first line of what zapd writes: a unit without it is somebody else's. */
export const mark = "# Written by `zapd service install`; `zapd service uninstall` removes it.";

/** SECURITY.md 4: the daemon ends with 78 when its config must be mended, and starting it again would not help. */
const configExit = 78;

/** Each of these holds in a user unit: they need no more than no_new_privs and seccomp. */
const hardening = [
  "NoNewPrivileges=yes",
  "LockPersonality=yes",
  "RestrictNamespaces=yes",
  "RestrictRealtime=yes",
  "RestrictSUIDSGID=yes",
  "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
  "SystemCallArchitectures=native",
  "UMask=0077",
];

/** The text of `zapd.service`. */
export function unitText({ words, env }: Program): string {
  // Without the colon systemd would put variables in the place of `$NAME`.
  const literal = words.some((word) => word.includes("$")) ? ":" : "";
  return [
    mark,
    "[Unit]",
    "Description=zapd, one daemon for every TV and media player in the house",
    "",
    "[Service]",
    "Type=exec",
    `ExecStart=${literal}${words.map(unitWord).join(" ")}`,
    ...Object.entries(env).map(([name, value]) => `Environment=${unitWord(`${name}=${value}`)}`),
    "Restart=on-failure",
    "RestartSec=2",
    `RestartPreventExitStatus=${configExit}`,
    ...hardening,
    "",
    "[Install]",
    "WantedBy=default.target",
    "",
  ].join("\n");
}

/** One word of a unit (systemd.syntax(7), systemd.unit(5)): in quotes, escaped as in C, its per cent signs doubled. */
export function unitWord(word: string): string {
  return `"${word.replace(/[\\"]/g, "\\$&").replaceAll("%", "%%")}"`;
}
