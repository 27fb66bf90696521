/**
 * Certificates that we sign ourselves (players.md 1.3): a TV knows us by ours, and we it by its own. X.509 is written here by
 * hand, since no runtime makes one.
 */
import { generateKeyPair, type KeyObject, randomBytes, sign, X509Certificate } from "node:crypto";
import { promisify } from "node:util";
import { readMac } from "../../transport/wake-on-lan.ts";
import type { RsaNumbers } from "./protocol.ts";

/** A certificate and its key, in DER as base64. */
export interface Own {
  readonly cert: string;
  readonly key: string;
}

const keyPair = promisify(generateKeyPair);

/** Makes one to be paired with. Pairing hashes the numbers of an RSA key, so it must be one. */
export async function createCertificate(): Promise<Own> {
  const { publicKey, privateKey } = await keyPair("rsa", { modulusLength: 2_048 });
  // sha256WithRSAEncryption
  return signed(publicKey, privateKey, sequence(objectId("2a864886f70d01010b"), der(0x05)));
}

let stranger: Promise<Own> | undefined;

/**
 * One that says nothing of us: shown to who has not proven who it is yet, since some TVs hang up on who shows none. Made once,
 * in no time.
 */
export function strangersCertificate(): Promise<Own> {
  stranger ??= keyPair("ec", { namedCurve: "P-256" }).then(({ publicKey, privateKey }) =>
    // ecdsa-with-SHA256
    signed(publicKey, privateKey, sequence(objectId("2a8648ce3d040302"))),
  );
  return stranger;
}

/** As TLS wants it. */
export function inPem({ cert, key }: Own): Own {
  return { cert: pem("CERTIFICATE", cert), key: pem("PRIVATE KEY", key) };
}

function signed(publicKey: KeyObject, privateKey: KeyObject, algorithm: Buffer): Own {
  const name = sequence(der(0x31, sequence(objectId("550403"), der(0x0c, Buffer.from("zapd")))));
  const from = der(0x17, Buffer.from("200101000000Z"));
  // As far as a year of two digits goes: it is never made anew.
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

/** One value: its tag, its length, its content. */
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

/** The numbers of the RSA key in a certificate; `null` where it has a key of another kind, or is none. */
export function rsaNumbersOf(certificate: Uint8Array): RsaNumbers | null {
  const { n, e } = read(certificate)?.publicKey.export({ format: "jwk" }) ?? {};
  if (n === undefined || e === undefined) return null;
  return { modulus: Buffer.from(n, "base64url"), exponent: Buffer.from(e, "base64url") };
}

/** What a TV says of itself in its certificate (players.md 4.1). */
export interface Subject {
  /** Whether it is that of a remote service. */
  readonly isRemote: boolean;
  readonly name: string | null;
  /** The address of its Bluetooth: no packet wakes it by that. */
  readonly mac: string | null;
}

const service = "atvremote";
/** Androids give this one to whoever may not know. */
const hiddenMac = /^(00|02):00:00:00:00:00$|^ff(:ff){5}$/;

/** `CN=atvremote/…/…/Name/MAC`; old boxes have the name in a field of its own, and some no parts at all. */
export function subjectOf(certificate: Uint8Array): Subject {
  const lines = (read(certificate)?.subject ?? "").split("\n").map((line) => line.replace(/\\(.)/g, "$1"));
  const parts = (field: string) =>
    lines
      .find((line) => line.startsWith(`${field}=`))
      ?.slice(field.length + 1)
      .split("/") ?? [];
  const common = parts("CN");
  const mac = readMac(common.at(-1));
  const own = mac === null ? common.slice(1) : common.slice(1, -1);
  const name = parts("dnQualifier").at(-1) ?? own.at(-1);
  return {
    isRemote: common[0] === service,
    name: name?.trim().slice(0, 128) || null,
    mac: mac === null || hiddenMac.test(mac) ? null : mac,
  };
}

function read(certificate: Uint8Array): X509Certificate | null {
  try {
    return new X509Certificate(certificate);
  } catch {
    return null;
  }
}
