/** How a set lets somebody in (players.md 4.1): it shows a code, and hears what only who has read it can say. */
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
/** How long it shows a code. */
const CODE_MS = 300_000;

export interface PairingOptions {
  /** Its own certificate, in DER. */
  readonly certificate: Uint8Array;
  readonly name: string;
  paired(certificate: Uint8Array): void;
  tell(text: string): void;
}

/** What the screen shows, and for whom. */
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

  /** What is on the screen now. */
  get code(): string | null {
    return this.#shown?.code ?? null;
  }

  /** Secrets that were wrong. */
  get wrongSecrets(): number {
    return this.#wrongSecrets;
  }

  /** Somebody takes the code from the screen. */
  dismiss(): void {
    this.#shown?.socket.end();
    this.#hide();
  }

  serve(socket: TLSSocket): void {
    const { raw } = socket.getPeerCertificate() as { raw?: Uint8Array };
    // Who shows no certificate could never be known again.
    if (!raw) return void socket.destroy();
    const client = Buffer.from(raw);
    let step = 0;
    const say = (message: MessageFields, status = OK) =>
      socket.write(encodeWithLength({ 1: 2, 2: status, ...message }));
    const refuse = (status: number) => {
      say({}, status);
      socket.end();
    };
    const take = (said: Fields) => {
      if (numberIn(said, 2) !== OK) return void socket.destroy();
      if (said.has(10) && step === 0) {
        // Whoever pairs now has the screen.
        if (this.#shown || textIn(messageIn(said, 10), 1) === "") return refuse(ERROR);
        step = 1;
        return void say({ 11: { 1: this.#options.name } });
      }
      if (said.has(20) && step === 1) {
        step = 2;
        return void say({ 20: { 1: { 1: HEXADECIMAL, 2: 6 }, 3: INPUT } });
      }
      if (said.has(30) && step === 2) {
        const encoding = messageIn(messageIn(said, 30), 1);
        if (numberIn(encoding, 1) !== HEXADECIMAL || numberIn(encoding, 2) !== 6) return refuse(BAD_CONFIGURATION);
        step = 3;
        this.#show(socket, client);
        return void say({ 31: {} });
      }
      if (said.has(40) && step === 3 && this.#shown?.socket === socket) {
        const secret = bytesIn(messageIn(said, 40), 1);
        if (secret.equals(this.#shown.secret)) {
          this.#options.paired(client);
          this.#hide();
          return void say({ 41: { 1: secret } });
        }
        this.#wrongSecrets += 1;
        this.#options.tell("was given a wrong code");
        this.#hide();
        return refuse(BAD_SECRET);
      }
      refuse(ERROR);
    };
    const read = readFrames(readVarint, take);
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
    // So that 000000 is wrong whenever a test types it.
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
    this.#options.tell(`shows the code ${code}`);
  }

  #hide(): void {
    clearTimeout(this.#shown?.timer);
    this.#shown = null;
  }
}

/** Modulus and exponent of the RSA key in a certificate, one behind the other. */
function numbersOf(certificate: Uint8Array): Buffer {
  const { n = "", e = "" } = new X509Certificate(certificate).publicKey.export({ format: "jwk" });
  return Buffer.concat([Buffer.from(n, "base64url"), Buffer.from(e, "base64url")]);
}
