/**
 * Pairing (players.md 4.1): the TV shows a code. Its first byte is that of a hash over both keys and the rest of the
 * code, so a mistyped code is found without asking the TV. A code that the TV refuses ends the pairing.
 */
import { pairingFailed, type ZapdError } from "../../api/errors.ts";
import { orAborted } from "../../system/sleep.ts";
import { type FramedConnection, openFramed } from "../../transport/framed.ts";
import { deadline } from "../../transport/http.ts";
import { Message } from "../../transport/protobuf.ts";
import { fingerprint } from "../../transport/socket.ts";
import type { Paired, Pairing, PlatformHost } from "../platform.ts";
import { createCertificate, inPem, rsaNumbersOf } from "./certificate.ts";
import { resetHint } from "./failures.ts";
import { proofError, readCertificate } from "./identity.ts";
import { type AndroidMemory, type AndroidSecret, type AndroidTarget, pairingPortOf } from "./memory.ts";
import { codeLength, framing, okStatus, pairing, pairingMessages, secretOf } from "./protocol.ts";

/** TVs do not report how long they show the code. */
const codeShownMs = 120_000;
/** Some TVs never answer a code that they refuse (4.4). */
const answerTimeoutMs = 10_000;

const againHint = "Run zapd pair {device} again: it will show a new code";

export async function pairAndroid(
  target: AndroidTarget,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Pairing<AndroidMemory, AndroidSecret>> {
  const address = { host: target.host, port: pairingPortOf(target) };
  const shown = await readCertificate(address, address.port, platformHost, signal);
  const error = proofError(target, shown, undefined);
  if (error) throw error;
  // The paired certificate is not shown to another TV, nor to this one after a reset.
  const kept = target.secret.readAnyway();
  const own = kept?.certificate === fingerprint(shown) ? kept : await createCertificate();
  const conversation = new Conversation();
  const line = await openFramed(
    {
      address,
      platformHost,
      secure: inPem(own),
      ...framing,
      onFrame: (body) => conversation.received(body),
      onEnd: () => conversation.end(),
    },
    signal,
  );
  conversation.line = line;
  const cancel = () => line.destroy();
  try {
    const certificate = line.certificate;
    const [client, server] = [rsaNumbersOf(Buffer.from(own.cert, "base64")), certificate && rsaNumbersOf(certificate)];
    if (!certificate || fingerprint(certificate) !== fingerprint(shown) || !client || !server)
      throw pairingFailed("protocol", "showed a certificate that cannot be used for pairing");
    const within = deadline(platformHost.requestTimeoutMs(), signal);
    await conversation.ask(pairingMessages.request(), pairing.requestAck, within);
    await conversation.ask(pairingMessages.options(), pairing.options, within);
    await conversation.ask(pairingMessages.configuration(), pairing.configurationAck, within);
    conversation.stage = "code";
    const secret = { cert: own.cert, key: own.key, certificate: fingerprint(certificate) };
    const enter = async (code: string): Promise<Paired<AndroidMemory, AndroidSecret>> => {
      const proof = secretOf(client, server, code);
      if (!proof)
        throw pairingFailed("wrong", "shows a different code", {
          hint: "Check the code on its screen, and type it again",
        });
      conversation.stage = "secret";
      try {
        await conversation.ask(pairingMessages.secret(proof), pairing.secretAck, AbortSignal.timeout(answerTimeoutMs));
      } catch {
        throw conversation.over ?? refused();
      } finally {
        line.destroy();
      }
      return { secret, facts: { access: "full" } };
    };
    return {
      step: "code",
      form: "hex",
      length: codeLength,
      expiresMs: codeShownMs,
      enter,
      cancel,
      ended: conversation.ended,
    };
  } catch (error) {
    cancel();
    throw error;
  }
}

/** The requests of a pairing, one at a time. */
class Conversation {
  line: FramedConnection | undefined;
  /** Until the TV shows its code, until it has been sent the secret, and after that. */
  stage: "opening" | "code" | "secret" = "opening";
  /** Why the pairing has ended. */
  over: ZapdError | undefined;
  readonly #end = Promise.withResolvers<never>();
  #waiting: { readonly field: number; resolve(): void; reject(error: unknown): void } | undefined;

  constructor() {
    this.ended.catch(() => {});
  }

  /** Rejects when the TV ends the pairing. */
  get ended(): Promise<never> {
    return this.#end.promise;
  }

  /** Sends a request, and waits for the answer in a field. */
  ask(question: Uint8Array, field: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting = { field, resolve, reject };
    if (this.over) reject(this.over);
    else this.line?.send(question);
    return orAborted(promise, signal);
  }

  received(body: Buffer): void {
    const message = new Message(body);
    const status = message.number(2);
    if (status !== okStatus) return this.#fail(this.#refusal(status));
    if (this.#waiting && message.message(this.#waiting.field)) this.#waiting.resolve();
  }

  end(): void {
    this.#fail({ opening: closedDuringPairing, code: withdrawn, secret: refused }[this.stage]());
  }

  #refusal(status: number): ZapdError {
    if (this.stage === "secret") return refused();
    if (this.stage === "code") return withdrawn();
    return pairingFailed("denied", `refused the pairing: it answered ${status}`, { hint: resetHint });
  }

  #fail(error: ZapdError): void {
    if (this.over) return;
    this.over = error;
    this.#waiting?.reject(error);
    this.#end.reject(error);
    this.line?.destroy();
  }
}

const refused = () => pairingFailed("wrong", "refused the code, and no longer shows it", { hint: againHint });
const withdrawn = () =>
  pairingFailed("denied", "removed the code from its screen: somebody cancelled the pairing there", {
    hint: againHint,
  });
const closedDuringPairing = () =>
  pairingFailed("closed", "closed the connection during pairing", {
    hint: "If it was just turned on, wait a few seconds, then run zapd pair {device} again",
  });
