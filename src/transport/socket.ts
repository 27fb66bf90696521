/** Connections to devices: TCP, or TLS to a device that signs its own certificate. */
import { createHash } from "node:crypto";
import net from "node:net";
import tls from "node:tls";
import { DeviceError, type DeviceReason, systemCode, ZapdError } from "../api/errors.ts";
import type { Address, PlatformHost } from "../platforms/platform.ts";
import { isUnclaimed } from "../system/neighbours.ts";
import { addressText } from "../system/text.ts";

/** On every call to a device. The guard refuses requests that carry it: a device must not talk us into calling ourselves. */
export const loopHeader = "zapd-call";

/** Connecting takes this long at most (SECURITY.md 4). */
const connectTimeout = 2_000;

/** TLS, and the certificate that we show, in PEM, where a device wants one; its key stays here. `false`: no TLS. */
export type Secure = false | { readonly cert?: string; readonly key?: string };

/**
 * A TCP connection to a device, with TLS if wanted: whatever certificate it shows, for a device signs its own. Fails with
 * `device_unreachable`.
 */
export async function connectSocket(address: Address, secure: Secure, signal: AbortSignal): Promise<net.Socket> {
  const place = { host: address.host, port: address.port };
  return new Promise((resolve, reject) => {
    // Sets of before 2018 speak nothing newer than TLS 1.0 or 1.1 (smart-tvs.md 1.3); what they show is compared, not trusted.
    const socket: net.Socket = secure
      ? tls.connect({ ...place, ...secure, rejectUnauthorized: false, minVersion: "TLSv1" })
      : net.connect({ ...place, noDelay: true });
    const done = (error?: ZapdError) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", aborted);
      socket.removeAllListeners();
      if (!error) return resolve(socket);
      socket.on("error", () => {});
      socket.destroy();
      reject(error);
    };
    const aborted = () => done(tooLate(signal, "device_unreachable"));
    const timer = setTimeout(() => done(unreachable(address, "nothing answers there", "timeout")), connectTimeout);
    socket.once("error", (error) => {
      const code = systemCode(error);
      done(tlsTrouble.test(code) ? strangeTls() : unreachable(address, ...toldBy(code, address.host), error));
    });
    socket.once("close", () => done(unreachable(address, "it hung up", "closed")));
    socket.once(secure ? "secureConnect" : "connect", () => done());
    if (signal.aborted) aborted();
    else signal.addEventListener("abort", aborted, { once: true });
  });
}

/** The certificate that is shown over a socket, in DER; `null` where none is. */
export function certificateOf(socket: net.Socket): Uint8Array | null {
  if (!("getPeerCertificate" in socket) || typeof socket.getPeerCertificate !== "function") return null;
  const { raw } = socket.getPeerCertificate() as { raw?: Uint8Array };
  return raw ?? null;
}

/** SHA-256 of a certificate, in lower-case hex. */
export function fingerprint(certificate: Uint8Array): string {
  return createHash("sha256").update(certificate).digest("hex");
}

/** The same of the one that is shown over a socket; `null` where none is. */
export function fingerprintOf(socket: net.Socket): string | null {
  const shown = certificateOf(socket);
  return shown && fingerprint(shown);
}

/** The certificate that is shown at an address to one who says nothing; `null` where none is. Fails with `device_unreachable`. */
export async function lookAtCertificate(
  address: Address,
  secure: Secure,
  platformHost: Pick<PlatformHost, "isOwnListener">,
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  refuseOwnListener(address, platformHost);
  const socket = await connectSocket(address, secure, signal);
  socket.on("error", () => {});
  const shown = certificateOf(socket);
  socket.destroy();
  return shown;
}

/**
 * Hangs up on a device that shows another certificate than the one that it must, before anything is said to it. Fails with
 * `device_unproven` then. Without one, or with `null`, it may show any.
 */
export function requireCertificate(certificate: string | null | undefined, socket: net.Socket): void {
  if (certificate == null || fingerprintOf(socket) === certificate) return;
  socket.on("error", () => {});
  socket.destroy();
  throw otherCertificate();
}

export function otherCertificate(): DeviceError {
  return new DeviceError("device_unproven", "shows another certificate than before: it may be another device", {
    phase: "connect",
    reason: "wrong_device",
    hint: "If it was really replaced or reset: zapd pair {device}, which begins without what was kept of it",
  });
}

type Told = readonly [words: string, reason: DeviceReason];
const noRoute: Told = ["there is no route to it", "no_route"];
const unknownReason: Told = ["it cannot be reached", "no_route"];
const reasons: Readonly<Record<string, Told>> = {
  // A machine answered that nothing listens at the port: it is up, and what was called there has ended.
  ECONNREFUSED: ["the connection was refused", "refused"],
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  EHOSTDOWN: noRoute,
  ECONNRESET: ["it hung up", "closed"],
};

/** Bun 1.4.5 says ECONNREFUSED of every connection that cannot be made: who really refused has said where it is. */
function toldBy(code: string, host: string): Told {
  return code === "ECONNREFUSED" && isUnclaimed(host) ? noRoute : (reasons[code] ?? unknownReason);
}

/** Someone is there, and shares no version, cipher or kind of certificate with the runtime. */
const tlsTrouble = /^(ERR_SSL|ERR_TLS|EPROTO|DEPTH_ZERO|CERT_|UNABLE_TO)/;

function strangeTls(): DeviceError {
  return new DeviceError("device_error", "speaks a TLS that is not spoken here, most likely one that is too old", {
    phase: "connect",
    reason: "protocol",
    hint: "The compiled program speaks TLS from 1.0 on",
  });
}

function unreachable({ host, port }: Address, words: string, reason: DeviceReason, cause?: Error): DeviceError {
  return new DeviceError("device_unreachable", `did not answer at ${addressText({ host, port })} (${words})`, {
    phase: "connect",
    reason,
    hint: `It may be asleep: {wake}, or check that ${host} is still its address with zapd discover`,
    cause,
  });
}

/** The failure for a signal that ended an attempt: a deadline, or a caller who hung up. */
export function tooLate(signal: AbortSignal, code: "device_unreachable" | "device_timeout"): ZapdError {
  const reason: unknown = signal.reason;
  if (reason instanceof ZapdError) return reason;
  const phase = code === "device_unreachable" ? "connect" : "sent";
  return new DeviceError(code, "did not answer in time", { phase, reason: "timeout", cause: reason });
}

/** The Host must be an IP literal, or some devices answer 403 (protocols/roku.md 1.2); an Address holds nothing else. */
export function hostLine(address: Address): string {
  return `Host: ${addressText(address)}`;
}

/** zapd itself is never called, whatever a device says of where it is. */
export function refuseOwnListener(address: Address, { isOwnListener }: Pick<PlatformHost, "isOwnListener">): void {
  if (!isOwnListener(address)) return;
  throw new ZapdError("device_error", "has the address of zapd itself, which is never called", {
    hint: "Remove it with zapd forget {device}, and add it with its own address",
  });
}
