/**
 * Being let in by a TV (players.md 4.1): it shows a code, of which the first byte is that of a hash over both keys and the rest
 * of it. A code that was mistyped is found by that, and the TV is not told; one that it refuses ends the pairing there.
 */
import { DeviceError, pairingFailed, type ZapdError } from "../../api/errors.ts";
import { orAborted } from "../../system/sleep.ts";
import { type FramedConnection, openFramed } from "../../transport/framed.ts";
import { deadline } from "../../transport/http.ts";
import { Message } from "../../transport/protobuf.ts";
import { fingerprint } from "../../transport/socket.ts";
import type { Paired, Pairing, PlatformHost } from "../platform.ts";
import { createCertificate, inPem, rsaNumbersOf } from "./certificate.ts";
import { resetHint, strangerAt } from "./failures.ts";
import { lookAt } from "./identity.ts";
import { type AndroidMemory, type AndroidSecret, type AndroidTarget, pairingPortOf } from "./memory.ts";
import { asks, codeLength, framing, pairing as messages, secretOf, statuses } from "./protocol.ts";

/** As long as a code is worth typing; sets say nothing of how long they show it. */
const shownFor = 120_000;
/** Some TVs never answer to a code that they refuse (4.4). */
const answersWithin = 10_000;

const againHint = "It shows another: run zapd pair {device} again";

export async function pairAndroid(
  target: AndroidTarget,
  platformHost: PlatformHost,
  { fresh }: { readonly fresh: boolean },
  signal: AbortSignal,
): Promise<Pairing<AndroidMemory, AndroidSecret>> {
  const address = { host: target.host, port: pairingPortOf(target) };
  const shown = await lookAt(address, address.port, platformHost, signal);
  const stranger = strangerAt(target, shown, undefined);
  if (stranger) throw stranger;
  // What it was paired with is not shown to another, nor to itself after it was reset.
  const kept = fresh ? null : target.secret.readAnyway();
  const own = kept?.certificate === fingerprint(shown) ? kept : await createCertificate();
  const talk = new Talk();
  const line = await openFramed(
    {
      address,
      platformHost,
      secure: inPem(own),
      ...framing,
      onFrame: (body) => talk.take(body),
      onEnd: () => talk.end(),
    },
    signal,
  );
  talk.line = line;
  const cancel = () => line.destroy();
  try {
    const certificate = line.certificate;
    const [client, server] = [rsaNumbersOf(Buffer.from(own.cert, "base64")), certificate && rsaNumbersOf(certificate)];
    if (!certificate || fingerprint(certificate) !== fingerprint(shown) || !client || !server)
      throw pairingFailed("protocol", "showed a certificate that cannot be paired with");
    const within = deadline(platformHost.requestTimeoutMs(), signal);
    await talk.ask(asks.request(), messages.requestAck, within);
    await talk.ask(asks.options(), messages.options, within);
    await talk.ask(asks.configuration(), messages.configurationAck, within);
    talk.isShown = true;
    const secret = { cert: own.cert, key: own.key, certificate: fingerprint(certificate) };
    const enter = async (code: string): Promise<Paired<AndroidMemory, AndroidSecret>> => {
      const proof = secretOf(client, server, code);
      if (talk.over) throw talk.over;
      if (!proof)
        throw pairingFailed("wrong", "shows another code", {
          hint: "Look at its screen again, and type what it shows",
        });
      talk.isTold = true;
      try {
        await talk.ask(asks.secret(proof), messages.secretAck, AbortSignal.timeout(answersWithin));
      } catch (error) {
        throw talk.over ?? (error instanceof DeviceError ? error : refused());
      } finally {
        line.destroy();
      }
      return { secret, facts: { access: "full" } };
    };
    return { step: "code", form: "hex", length: codeLength, expiresMs: shownFor, enter, cancel, ended: talk.ended };
  } catch (error) {
    cancel();
    throw error;
  }
}

/** The questions of a pairing, one at a time. */
class Talk {
  line: FramedConnection | undefined;
  /** It shows its code; and has been told what it proves. */
  isShown = false;
  isTold = false;
  /** Why it has ended. */
  over: ZapdError | undefined;
  readonly #end = Promise.withResolvers<never>();
  #waiting: { readonly field: number; resolve(): void; reject(error: unknown): void } | undefined;

  constructor() {
    this.ended.catch(() => {});
  }

  /** Fails when the TV ends it by itself. */
  get ended(): Promise<never> {
    return this.#end.promise;
  }

  /** Asks, and waits for the answer in a field. */
  ask(question: Uint8Array, field: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting = { field, resolve, reject };
    if (this.over) reject(this.over);
    else this.line?.send(question);
    return orAborted(promise, signal);
  }

  take(body: Buffer): void {
    const said = new Message(body);
    const status = said.number(2);
    if (status !== statuses.ok) return this.#fail(this.#refusal(status));
    if (this.#waiting && said.message(this.#waiting.field)) this.#waiting.resolve();
  }

  end(): void {
    this.#fail(this.isTold ? refused() : this.isShown ? taken() : hungUp());
  }

  #refusal(status: number): ZapdError {
    if (this.isTold || status === statuses.badSecret) return refused();
    return this.isShown
      ? taken()
      : pairingFailed("denied", `refused to be paired: it answers ${status}`, { hint: resetHint });
  }

  #fail(error: ZapdError): void {
    if (this.over) return;
    this.over = error;
    this.#waiting?.reject(error);
    if (this.isShown) this.#end.reject(error);
    this.line?.destroy();
  }
}

const refused = () => pairingFailed("wrong", "refused the code, and shows it no longer", { hint: againHint });
const taken = () =>
  pairingFailed("denied", "took its code from the screen: somebody gave it up there", { hint: againHint });
const hungUp = () =>
  pairingFailed("closed", "hung up while it was asked", {
    hint: "If it was just turned on, wait a few seconds, then run zapd pair {device} again",
  });
