/** Digest authentication (RFC 7616) for the installer. A challenge without `qop`, as of RFC 2069, is not answered. */
import { createHash, randomBytes } from "node:crypto";

/** Reads a `WWW-Authenticate` header; `null` when it is no digest challenge. Sets differ in spaces and fields. */
export function readChallenge(header: string) {
  const fields = /\bDigest\s+(.*)/is.exec(header)?.[1];
  // Other characters cannot be repeated in the header that answers it.
  if (fields === undefined || /[^\x20-\x7e]/.test(fields)) return null;
  const values = new Map<string, string>();
  for (const [, name = "", quoted, bare] of fields.matchAll(/(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))/g)) {
    values.set(name.toLowerCase(), quoted ?? bare ?? "");
  }
  const nonce = values.get("nonce");
  if (nonce === undefined) return null;
  return {
    realm: values.get("realm") ?? "",
    nonce,
    /** Whether it asks for `qop=auth`. */
    qop: (values.get("qop") ?? "").split(",").some((word) => word.trim() === "auth"),
    opaque: values.get("opaque") ?? null,
    algorithm: values.get("algorithm") ?? null,
  };
}

export type Challenge = Readonly<NonNullable<ReturnType<typeof readChallenge>>>;

export interface DigestRequest {
  readonly user: string;
  readonly password: string;
  readonly method: string;
  /** Exactly what stands in the request line, query included. */
  readonly uri: string;
}

/** The `Authorization` header that answers a challenge. */
export function answerChallenge(challenge: Challenge, request: DigestRequest): string {
  const { realm, nonce, opaque, algorithm } = challenge;
  const hash = (text: string) =>
    createHash(/^sha-?256/i.test(algorithm ?? "") ? "sha256" : "md5")
      .update(text)
      .digest("hex");
  const cnonce = randomBytes(8).toString("hex");
  const counter = "00000001";
  const userHash = hash(`${request.user}:${realm}:${request.password}`);
  const first = /-sess$/i.test(algorithm ?? "") ? hash(`${userHash}:${nonce}:${cnonce}`) : userHash;
  const second = hash(`${request.method}:${request.uri}`);
  const fields = [
    `username="${request.user}"`,
    `realm="${realm}"`,
    `nonce="${nonce}"`,
    `uri="${request.uri}"`,
    `response="${hash(`${first}:${nonce}:${counter}:${cnonce}:auth:${second}`)}"`,
    "qop=auth",
    `nc=${counter}`,
    `cnonce="${cnonce}"`,
  ];
  if (algorithm) fields.push(`algorithm=${algorithm}`);
  if (opaque !== null) fields.push(`opaque="${opaque}"`);
  return `Digest ${fields.join(", ")}`;
}
