/** Pairing (players.md 4.1): the set shows a code, and the client proves that it knows it. */
import { createHash, randomBytes, X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import {
  bytesIn,
  encodeWithLength,
  type Fields,
  type MessageFields,
  messageIn,
  numberIn,
  readFrames,
  readVarint,
  textIn,
} from "../bench/protobuf.ts";

const OK = 200;
const ERROR = 400;
const BAD_CONFIGURATION = 401;
const BAD_SECRET = 402;
const HEXADECIMAL = 3;
const INPUT = 1;
/** How long a code is shown. */
const CODE_MS = 300_000;

export interface PairingOptions {
  /** The certificate of the set, in DER. */
  readonly certificate: Uint8Array;
  readonly name: string;
  paired(certificate: Uint8Array): void;
  log(text: string): void;
}

/** The code on the screen and its client. */
interface Shown {
  readonly code: string;
  readonly secret: Buffer;
  readonly socket: TLSSocket;
  readonly timer: ReturnType<typeof setTimeout>;
}

export class PairingService {
  readonly #options: PairingOptions;
  #shown: Shown | null = null;
  #wrongSecrets = 0;

  constructor(options: PairingOptions) {
    this.#options = options;
  }

  /** The code on the screen, or null. */
  get code(): string | null {
    return this.#shown?.code ?? null;
  }

  /** How many secrets were wrong. */
  get wrongSecrets(): number {
    return this.#wrongSecrets;
  }

  /** Somebody closes the code on the screen. */
  dismiss(): void {
    this.#shown?.socket.end();
    this.#hide();
  }

  serve(socket: TLSSocket): void {
    const { raw } = socket.getPeerCertificate() as { raw?: Uint8Array };
    // A client without a certificate could not be recognized later.
    if (!raw) return void socket.destroy();
    const client = Buffer.from(raw);
    let step = 0;
    const send = (message: MessageFields, status = OK) =>
      socket.write(encodeWithLength({ 1: 2, 2: status, ...message }));
    const refuse = (status: number) => {
      send({}, status);
      socket.end();
    };
    const handle = (message: Fields) => {
      if (numberIn(message, 2) !== OK) return void socket.destroy();
      if (message.has(10) && step === 0) {
        // Only one client can pair at a time.
        if (this.#shown || textIn(messageIn(message, 10), 1) === "") return refuse(ERROR);
        step = 1;
        return void send({ 11: { 1: this.#options.name } });
      }
      if (message.has(20) && step === 1) {
        step = 2;
        return void send({ 20: { 1: { 1: HEXADECIMAL, 2: 6 }, 3: INPUT } });
      }
      if (message.has(30) && step === 2) {
        const encoding = messageIn(messageIn(message, 30), 1);
        if (numberIn(encoding, 1) !== HEXADECIMAL || numberIn(encoding, 2) !== 6) return refuse(BAD_CONFIGURATION);
        step = 3;
        this.#show(socket, client);
        return void send({ 31: {} });
      }
      if (message.has(40) && step === 3 && this.#shown?.socket === socket) {
        const secret = bytesIn(messageIn(message, 40), 1);
        if (secret.equals(this.#shown.secret)) {
          this.#options.paired(client);
          this.#hide();
          return void send({ 41: { 1: secret } });
        }
        this.#wrongSecrets += 1;
        this.#options.log("was given a wrong code");
        this.#hide();
        return refuse(BAD_SECRET);
      }
      refuse(ERROR);
    };
    const read = readFrames(readVarint, handle);
    socket.on("error", () => socket.destroy());
    socket.on("data", (bytes: Buffer) => {
      if (!read(bytes)) socket.destroy();
    });
    socket.on("close", () => {
      if (this.#shown?.socket === socket) this.#hide();
    });
  }

  #show(socket: TLSSocket, client: Uint8Array): void {
    const hashed = (rest: Buffer) =>
      createHash("sha256")
        .update(Buffer.concat([numbersOf(client), numbersOf(this.#options.certificate), rest]))
        .digest();
    let rest: Buffer;
    let secret: Buffer;
    // Tests use 000000 as a wrong code.
    do {
      rest = randomBytes(2);
      secret = hashed(rest);
    } while (secret[0] === 0);
    const code = Buffer.concat([secret.subarray(0, 1), rest])
      .toString("hex")
      .toUpperCase();
    const timer = setTimeout(() => this.dismiss(), CODE_MS);
    timer.unref?.();
    this.#shown = { code, secret, socket, timer };
    this.#options.log(`shows the code ${code}`);
  }

  #hide(): void {
    clearTimeout(this.#shown?.timer);
    this.#shown = null;
  }
}

/** The modulus and the exponent of the RSA key in a certificate. */
function numbersOf(certificate: Uint8Array): Buffer {
  const { n = "", e = "" } = new X509Certificate(certificate).publicKey.export({ format: "jwk" });
  return Buffer.concat([Buffer.from(n, "base64url"), Buffer.from(e, "base64url")]);
}
