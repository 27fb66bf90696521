/** Stable ids derived from the name of a set, so that the same name is the same set. */
import { createHash } from "node:crypto";

/** SHA-256 as 64 hex characters. */
export function digest(words: string | Uint8Array): string {
  return createHash("sha256").update(words).digest("hex");
}

export function uuidOf(words: string): string {
  return digest(words).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-4$3-8$4-$5");
}

/** A locally administered MAC address from ten hex characters. */
export function macOf(hex: string): string {
  return ["02", ...(hex.slice(0, 10).match(/../g) ?? [])].join(":");
}
