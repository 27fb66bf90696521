/** Self-signed certificates. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from "node:crypto";
import { digest } from "./identity.ts";

export interface Certificate {
  /** PEM, PKCS #8. */
  readonly key: string;
  /** PEM. */
  readonly cert: string;
}

interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** Shared by all sets of this process, because generating an RSA key is slow. */
let rsa: KeyPair | null = null;

function rsaKeys(): KeyPair {
  rsa ??= generateKeyPairSync("rsa", { modulusLength: 2_048 });
  return rsa;
}

/** Makes a self-signed certificate, valid from 2018 to 2034. Each has its own serial number. */
export function createCertificateFor(commonName: string, kind: "ec" | "rsa" = "ec"): Certificate {
  const { publicKey, privateKey } = kind === "ec" ? generateKeyPairSync("ec", { namedCurve: "P-256" }) : rsaKeys();
  const algorithm = kind === "ec" ? ECDSA_WITH_SHA256 : RSA_WITH_SHA256;
  const name = sequence(tlv(0x31, sequence(COMMON_NAME, tlv(0x0c, Buffer.from(commonName)))));
  const body = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, Buffer.from([0x20, ...randomBytes(8)])),
    algorithm,
    name,
    sequence(tlv(0x17, Buffer.from("180312000000Z")), tlv(0x17, Buffer.from("340815000000Z"))),
    name,
    publicKey.export({ type: "spki", format: "der" }),
  );
  const signature = tlv(0x03, Buffer.from([0]), sign("sha256", body, privateKey));
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: pem(sequence(body, algorithm, signature)),
  };
}

const shared = new Map<string, Certificate>();

/** One certificate per common name for all sets of this process, because generating one is slow. */
export function sharedCertificate(commonName: string): Certificate {
  const certificate = shared.get(commonName) ?? createCertificateFor(commonName);
  shared.set(commonName, certificate);
  return certificate;
}

/** The certificate itself, in DER. */
export function derOf({ cert }: Certificate): Uint8Array {
  return new X509Certificate(cert).raw;
}

/** The SHA-256 of a certificate, in lower-case hex. */
export function fingerprintOf(certificate: Certificate): string {
  return digest(derOf(certificate));
}

/** A DER value: tag, length, content. */
function tlv(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return tlv(0x30, ...parts);
}

function objectId(hex: string): Buffer {
  return tlv(0x06, Buffer.from(hex, "hex"));
}

function pem(der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

const COMMON_NAME = objectId("550403");
const ECDSA_WITH_SHA256 = sequence(objectId("2a8648ce3d040302"));
const RSA_WITH_SHA256 = sequence(objectId("2a864886f70d01010b"), tlv(0x05));
