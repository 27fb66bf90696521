import { createHash, randomInt } from "node:crypto";
import type { Request } from "../http.ts";

const USER = "rokudev";
const USUAL_REALM = "rokudev";
const KEPT_NONCES = 256;

export interface Gate {
  /** The header of a 401: no algorithm, no opaque, no stale, a decimal nonce (2.1). */
  challenge(): readonly [string, string];
  admits(request: Request): boolean;
}

export function createGate(password: string, realm = USUAL_REALM): Gate {
  const nonces = new Set<string>();
  return {
    challenge() {
      const nonce = String(randomInt(1_000_000_000, 2 ** 32));
      nonces.add(nonce);
      for (const oldest of nonces) {
        if (nonces.size > KEPT_NONCES) nonces.delete(oldest);
      }
      return ["WWW-Authenticate", `Digest qop="auth", realm="${realm}", nonce="${nonce}"`];
    },
    admits(request) {
      const words = parse(request.headers.authorization ?? "");
      if (words === null || words.username !== USER || words.realm !== realm) return false;
      if (words.nonce === undefined || !nonces.has(words.nonce)) return false;
      // The uri must be the request line's, query and all (2.1).
      if (words.uri !== request.target) return false;
      const expected = expectedResponse(words, { method: request.method, realm, password });
      return expected !== null && words.response?.toLowerCase() === expected;
    },
  };
}

type Words = Readonly<Record<string, string | undefined>>;

function expectedResponse(
  words: Words,
  { method, realm, password }: { method: string; realm: string; password: string },
): string | null {
  const { nonce, uri, qop, nc, cnonce } = words;
  const secret = md5(`${USER}:${realm}:${password}`);
  const subject = md5(`${method}:${uri}`);
  if (qop === undefined) return md5(`${secret}:${nonce}:${subject}`);
  if (qop !== "auth" || cnonce === undefined || !/^[0-9a-f]{8}$/i.test(nc ?? "")) return null;
  return md5(`${secret}:${nonce}:${nc}:${cnonce}:${qop}:${subject}`);
}

function parse(header: string): Words | null {
  const [, body] = /^Digest\s+(.*)$/is.exec(header) ?? [];
  if (body === undefined) return null;
  const words: Record<string, string> = Object.create(null);
  for (const [, name = "", quoted, bare] of body.matchAll(/([a-z]+)\s*=\s*(?:"([^"]*)"|([^\s,]+))/gi)) {
    words[name.toLowerCase()] = quoted ?? bare ?? "";
  }
  return words;
}

function md5(text: string): string {
  return createHash("md5").update(text).digest("hex");
}
