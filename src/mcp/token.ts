/** The token for `/mcp`: 32 random bytes in a file that only its owner can read. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { link, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";
import { makeFolder, readUtf8, temporaryFor, tryRemove, writeAtomically } from "../system/files.ts";
import { checkOwned } from "../system/owners.ts";
import { mcpTokenFile } from "../system/state-folder.ts";

const pattern = /^[\w-]{43}$/;
const maxBytes = 256;

export function tokenFile(state: string): string {
  return join(state, mcpTokenFile);
}

/** Reads the token, or creates it. Fails with `storage_error`, or `config_invalid` where others could have written or read it. */
export async function mcpToken(state: string): Promise<string> {
  return (await readToken(state)) ?? (await makeToken(state));
}

/** Replaces the token: the previous one is no longer accepted. */
export async function renewToken(state: string): Promise<string> {
  const token = newToken();
  makeFolder(state);
  await writeAtomically(tokenFile(state), `${token}\n`);
  return token;
}

/** Whether a header is `Bearer` with the token, compared in constant time. */
export function isBearer(header: string | undefined, token: string): boolean {
  const [, candidate = ""] = /^Bearer +(\S+) *$/i.exec(header ?? "") ?? [];
  return timingSafeEqual(digest(candidate), digest(token));
}

async function readToken(state: string): Promise<string | null> {
  const path = tokenFile(state);
  let text: string | null;
  try {
    text = readUtf8(path, maxBytes, (found) => {
      checkOwned(path, found);
      if (process.platform !== "win32" && (found.mode & 0o077) !== 0)
        throw new ZapdError("config_invalid", `Other users can read ${path}`, {
          hint: "Create another token: zapd mcp token --new",
        });
    });
  } catch (error) {
    throw error instanceof ZapdError ? error : unreadable(path, error);
  }
  if (text === null) return null;
  const token = text.trim();
  if (pattern.test(token)) return token;
  throw new ZapdError("storage_error", `${path} contains no token`, { hint: "Create another: zapd mcp token --new" });
}

/** Writes the file whole or not at all; of two processes at once the first wins. */
async function makeToken(state: string): Promise<string> {
  const path = tokenFile(state);
  const token = newToken();
  makeFolder(state);
  const temporary = temporaryFor(path);
  try {
    await writeFile(temporary, `${token}\n`, { mode: 0o600, flag: "wx" });
    await link(temporary, path);
    return token;
  } catch (error) {
    const existing = systemCode(error) === "EEXIST" ? await readToken(state) : null;
    if (existing !== null) return existing;
    throw unreadable(path, error);
  } finally {
    tryRemove(temporary);
  }
}

function unreadable(path: string, cause: unknown): ZapdError {
  return new ZapdError(
    "storage_error",
    `${path} could not be read or written (${systemCode(cause) || textOf(cause)})`,
    {
      hint: "Make sure that you own it and can write to its folder, or create another token: zapd mcp token --new",
      cause,
    },
  );
}

function newToken(): string {
  return randomBytes(32).toString("base64url");
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
