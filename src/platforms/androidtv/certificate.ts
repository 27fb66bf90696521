/**
 * Self-signed client certificates (players.md 1.3), and the content of the TV's certificate. X.509 is written by hand, because
 * no runtime creates it.
 */
import { generateKeyPair, type KeyObject, randomBytes, sign, X509Certificate } from "node:crypto";
import { promisify } from "node:util";
import { tryOr } from "../../system/try-or.ts";
import { readMac } from "../../transport/wake-on-lan.ts";
import type { RsaNumbers } from "./protocol.ts";

/** A certificate and its key, in DER as base64. */
interface OwnCertificate {
  readonly cert: string;
  readonly key: string;
}

const keyPair = promisify(generateKeyPair);

/** Creates one for pairing. Pairing hashes the numbers of an RSA key. */
export async function createCertificate(): Promise<OwnCertificate> {
  const { publicKey, privateKey } = await keyPair("rsa", { modulusLength: 2_048 });
  // sha256WithRSAEncryption
  return signed(publicKey, privateKey, sequence(objectId("2a864886f70d01010b"), der(0x05)));
}

let anonymous: Promise<OwnCertificate> | undefined;

/**
 * A certificate that does not identify zapd, for a TV that has not been proven yet, because some close the connection without one.
 * Made once; an EC key takes no time.
 */
export function anonymousCertificate(): Promise<OwnCertificate> {
  anonymous ??= keyPair("ec", { namedCurve: "P-256" }).then(({ publicKey, privateKey }) =>
    // ecdsa-with-SHA256
    signed(publicKey, privateKey, sequence(objectId("2a8648ce3d040302"))),
  );
  return anonymous;
}

export function inPem({ cert, key }: OwnCertificate): OwnCertificate {
  return { cert: pem("CERTIFICATE", cert), key: pem("PRIVATE KEY", key) };
}

function signed(publicKey: KeyObject, privateKey: KeyObject, algorithm: Buffer): OwnCertificate {
  const name = sequence(der(0x31, sequence(objectId("550403"), der(0x0c, Buffer.from("zapd")))));
  const from = der(0x17, Buffer.from("200101000000Z"));
  // The last date with a two-digit year: it is never renewed.
  const to = der(0x17, Buffer.from("491231235959Z"));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([0x20, ...randomBytes(15)])),
    algorithm,
    name,
    sequence(from, to),
    name,
    publicKey.export({ type: "spki", format: "der" }),
  );
  const signature = der(0x03, Buffer.from([0]), sign("sha256", body, privateKey));
  return {
    cert: sequence(body, algorithm, signature).toString("base64"),
    key: privateKey.export({ type: "pkcs8", format: "der" }).toString("base64"),
  };
}

/** One ASN.1 value: tag, length, content. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, ...parts);
}

function objectId(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}

function pem(what: string, base64: string): string {
  return `-----BEGIN ${what}-----\n${base64.match(/.{1,64}/g)?.join("\n")}\n-----END ${what}-----\n`;
}

/** The RSA numbers of a certificate; `null` where it has another kind of key, or is not a certificate. */
export function rsaNumbersOf(certificate: Uint8Array): RsaNumbers | null {
  const { n, e } = read(certificate)?.publicKey.export({ format: "jwk" }) ?? {};
  if (n === undefined || e === undefined) return null;
  return { modulus: Buffer.from(n, "base64url"), exponent: Buffer.from(e, "base64url") };
}

/** What the TV's certificate contains about it (players.md 4.1). */
interface Subject {
  /** Whether it is the certificate of a remote service. */
  readonly isRemote: boolean;
  readonly name: string | null;
  /** The Bluetooth address, which no magic packet wakes. */
  readonly mac: string | null;
}

const service = "atvremote";
/** Android reports these addresses to apps that may not know the real one. */
const hiddenMac = /^(00|02):00:00:00:00:00$|^ff(:ff){5}$/;

/**
 * `CN=atvremote/…/…/Name/MAC`. Old boxes have the name in a field of its own, and some have no parts. One that hides its address
 * has a random UUID there, or nothing (unfoldedcircle/feature-and-bug-tracker#658).
 */
export function subjectOf(certificate: Uint8Array): Subject {
  const lines = (read(certificate)?.subject ?? "").split("\n").map((line) => line.replace(/\\(.)/g, "$1"));
  const parts = (field: string) =>
    lines
      .find((line) => line.startsWith(`${field}=`))
      ?.slice(field.length + 1)
      .split("/") ?? [];
  const common = parts("CN");
  const mac = readMac(common.at(-1));
  const name = parts("dnQualifier").at(-1) ?? common.slice(1).at(-2);
  return {
    isRemote: common[0] === service,
    name: name?.trim().slice(0, 128) || null,
    mac: mac === null || hiddenMac.test(mac) ? null : mac,
  };
}

function read(certificate: Uint8Array): X509Certificate | null {
  return tryOr(() => new X509Certificate(certificate), null);
}
