/**
 * Reads the broker and the site from the settings. Their files are read again with each connection, so that renewed
 * certificates are used.
 */
import { basename, join } from "node:path";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";
import type { Config } from "../config/config.ts";
import { makeFolder, readRegularFile, readUtf8, writeAtomically } from "../system/files.ts";
import { isObject } from "../system/json.ts";
import { checkOwned, followLinks } from "../system/owners.ts";
import { uuid } from "../system/schemas.ts";
import { mcpTokenFile } from "../system/state-folder.ts";
import { shellQuote } from "../system/text.ts";
import { hostOf } from "../system/url.ts";
import type { Broker } from "./broker.ts";
import { BusError } from "./bus.ts";

export type MqttSettings = Config["mqtt"];

const defaultPorts = { plain: 1883, secure: 8883 } as const;
const maxFileBytes = 64 * 1024;
/** Takes precedence over `mqtt.password_file`. */
const passwordVariable = "ZAPD_MQTT_PASSWORD";

/** The broker of the settings. Fails with a `BusError`, reason `settings`, that names the file and what to do. */
export function brokerOf(settings: MqttSettings, env: Readonly<Record<string, string | undefined>>): Broker {
  const { url, username, password_file, ca, cert, key } = settings;
  const address = new URL(url);
  const { protocol, hostname } = address;
  const secure = protocol === "mqtts:";
  const port = address.port || (secure ? defaultPorts.secure : defaultPorts.plain);
  if ((cert === "") !== (key === ""))
    throw new BusError("settings", "Only one of mqtt.cert and mqtt.key is set", {
      hint: "Set both for a client certificate, or neither",
    });
  const password = env[passwordVariable] || (password_file && passwordIn(password_file));
  // MQTT 5 allows it, 3.1.1 does not (3.1.2.9), and the library sends neither.
  if (password && !username)
    throw new BusError("settings", "There is a password for the broker, but no user name", {
      hint: `Set it: zapd config set mqtt.username NAME. If the broker requires no login, unset mqtt.password_file and $${passwordVariable}`,
    });
  return {
    host: hostOf(address),
    port: Number(port),
    secure,
    url: `${protocol}//${hostname}:${port}`,
    username: username || undefined,
    password: password || undefined,
    ca: ca ? readFile(ca, "mqtt.ca", false) : undefined,
    cert: cert ? readFile(cert, "mqtt.cert", false) : undefined,
    key: key ? readFile(key, "mqtt.key", true) : undefined,
  };
}

/** The CA of the settings, PEM, which a server of packages is trusted by, too. Fails with `config_invalid`. */
export function caOf({ ca }: MqttSettings): string | undefined {
  try {
    return ca ? readFile(ca, "mqtt.ca", false) : undefined;
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    throw new ZapdError("config_invalid", error.message, { hint: error.hint, cause: error });
  }
}

/**
 * The password in a file of one line. Every caller of the API can name another file and another broker, which gets what is in
 * it: a file that holds more, such as keys or a config, is refused, and so is the token of `/mcp`.
 */
function passwordIn(file: string): string {
  const setting = "mqtt.password_file";
  // Editors of Windows begin a file with a mark of its encoding.
  const password = readFile(file, setting, true).replace(/^\ufeff|\r?\n$/g, "");
  // On macOS a file is found by its name in other letters, too.
  const name = basename(followLinks(file).path).toLowerCase();
  if (password === "")
    throw new BusError("settings", `The file of ${setting}, ${file}, is empty`, {
      hint: "Write the password into it, on one line",
    });
  if (!/\p{Cc}/u.test(password) && name !== mcpTokenFile) return password;
  throw new BusError("settings", `The file of ${setting}, ${file}, is not one of a password alone`, {
    hint: "Write the password into a file of its own, on one line",
  });
}

/** Reads the file of a setting; only its owner may be able to read one with a secret. */
function readFile(file: string, setting: string, secret: boolean): string {
  let isOpen = false;
  let text: string | null;
  try {
    const { path } = followLinks(file);
    text = readUtf8(path, maxFileBytes, (found) => {
      checkOwned(path, found);
      isOpen = secret && process.platform !== "win32" && (found.mode & 0o077) !== 0;
    });
  } catch (error) {
    const hint = error instanceof ZapdError ? error.hint : undefined;
    const reason = error instanceof TypeError ? "it is not UTF-8" : textOf(error);
    throw new BusError("settings", `The file of ${setting} cannot be used: ${reason}`, { hint, cause: error });
  }
  if (text === null)
    throw new BusError("settings", `The file of ${setting}, ${file}, does not exist`, {
      hint: `Create it, or correct the setting: zapd config set ${setting} PATH`,
    });
  if (isOpen)
    throw new BusError("settings", `Other users can read the file of ${setting}, ${file}`, {
      hint: `Run chmod 600 ${shellQuote(file)}`,
    });
  return text;
}

/** Whether a URL points to this machine. */
export function isLocal({ hostname }: URL): boolean {
  return /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

const maxSiteBytes = 4_096;

/** The id of this site where the settings name none: created once, and stored in the state folder. */
export async function ownSite(state: string): Promise<string> {
  const path = join(state, "mqtt.json");
  const kept = siteIn(path);
  if (kept !== null) return kept;
  const site = crypto.randomUUID();
  makeFolder(state);
  await writeAtomically(path, `${JSON.stringify({ version: 1, site })}\n`);
  return site;
}

function siteIn(path: string): string | null {
  try {
    const content: unknown = JSON.parse(readRegularFile(path, maxSiteBytes) ?? "null");
    return (isObject(content) && uuid.safeParse(content["site"]).data) || null;
  } catch (error) {
    // A damaged file is replaced: only the topics depend on it. One that the system cannot read now may be valid.
    if (systemCode(error) !== "") throw error;
    return null;
  }
}
