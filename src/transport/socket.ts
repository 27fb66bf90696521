/** Connections to devices: TCP, or TLS to a device that signs its own certificate. */
import { createHash } from "node:crypto";
import net from "node:net";
import tls from "node:tls";
import { DeviceError, type DeviceReason, systemCode, ZapdError } from "../api/errors.ts";
import type { Address, PlatformHost } from "../platforms/platform.ts";
import { isRouted, isUnclaimed } from "../system/neighbours.ts";
import { addressText } from "../system/text.ts";

/** Sent with every call to a device. The guard refuses requests with it, so that no device makes zapd call itself. */
export const loopHeader = "zapd-call";

/** SECURITY.md 4. */
const connectTimeoutMs = 2_000;

/** TLS, with our client certificate and its key in PEM where a device requires one; `false`: no TLS. */
export type Secure = false | { readonly cert?: string; readonly key?: string };

/**
 * A TCP connection to a device, with TLS if wanted. Any certificate is accepted, as a device signs its own. Fails with
 * `device_unreachable`, and with `device_error` where it speaks no TLS, or none that is supported here.
 */
export async function connectSocket(
  address: Address,
  secure: Secure,
  signal: AbortSignal,
  withinMs = connectTimeoutMs,
): Promise<net.Socket> {
  const target = { host: address.host, port: address.port };
  const timeoutMs = Math.min(withinMs, connectTimeoutMs);
  return new Promise((resolve, reject) => {
    let socket: net.Socket = net.connect({ ...target, noDelay: true });
    const done = (error?: ZapdError) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", aborted);
      unwatch();
      if (!error) return resolve(socket);
      socket.on("error", () => {});
      socket.destroy();
      reject(error);
    };
    const aborted = () => done(tooLate(signal, "device_unreachable"));
    const timer = setTimeout(
      () => done(unreachable(address, `no answer within ${timeoutMs / 1_000} s`, "timeout")),
      timeoutMs,
    );
    const failed = (error: Error) => {
      const code = systemCode(error);
      done(tlsErrors.test(code) ? withoutTls(code) : unreachable(address, ...failureOf(code, address.host), error));
    };
    const closed = () => done(unreachable(address, "it closed the connection", "closed"));
    const watch = () => void socket.once("error", failed).once("close", closed);
    const unwatch = () => void socket.off("error", failed).off("close", closed);
    watch();
    socket.once("connect", () => {
      if (!secure) return done();
      unwatch();
      // Sets before 2018 speak TLS 1.0 or 1.1 at most (smart-tvs.md 1.3); their certificate is compared with the pinned one. With its own
      // `ca`, a connection resumes no session of another: Deno 2.9.5 keeps them by host, and would show the certificate of another port.
      // It also keeps a TLS socket that was never connected for ever: TLS begins over a connection.
      const options: tls.ConnectionOptions = {
        ...target,
        socket,
        ...secure,
        ca: [],
        rejectUnauthorized: false,
        minVersion: "TLSv1",
      };
      try {
        socket = tls.connect(options);
      } catch (error) {
        return done(badKey(error));
      }
      watch();
      socket.once("secureConnect", () => done());
    });
    if (signal.aborted) aborted();
    else signal.addEventListener("abort", aborted, { once: true });
  });
}

/** Time for the last bytes to be sent, and for the device to close its side. */
const closeTimeoutMs = 1_000;

/**
 * Closes a connection by a FIN, and drops what the device still sends. A reset in its place kills a player that sends without
 * MSG_NOSIGNAL, by a SIGPIPE (players.md 7.1: notifications, and a close frame after our FIN; ran).
 */
export function hangUp(socket: net.Socket): void {
  socket.on("error", () => {});
  socket.end();
  socket.resume();
  setTimeout(() => socket.destroy(), closeTimeoutMs).unref?.();
}

/** The certificate of the device, in DER; `null` where it shows none. */
export function certificateOf(socket: net.Socket): Uint8Array | null {
  if (!("getPeerCertificate" in socket) || typeof socket.getPeerCertificate !== "function") return null;
  const { raw } = socket.getPeerCertificate() as { raw?: Uint8Array };
  return raw ?? null;
}

/** SHA-256 of a certificate, in lower-case hex. */
export function fingerprint(certificate: Uint8Array): string {
  return createHash("sha256").update(certificate).digest("hex");
}

/** The fingerprint of the certificate of the device; `null` where it shows none. */
export function fingerprintOf(socket: net.Socket): string | null {
  const certificate = certificateOf(socket);
  return certificate && fingerprint(certificate);
}

/** The certificate of the device at an address, read without sending anything; `null` where it shows none. Fails as `connectSocket` does. */
export async function lookAtCertificate(
  address: Address,
  secure: Secure,
  platformHost: Pick<PlatformHost, "isOwnListener">,
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  refuseOwnListener(address, platformHost);
  const socket = await connectSocket(address, secure, signal);
  socket.on("error", () => {});
  const certificate = certificateOf(socket);
  socket.destroy();
  return certificate;
}

/**
 * Closes the connection, and fails with `device_unproven`, where the device shows another certificate than the given one, before
 * anything is sent. Any certificate is accepted where none is given.
 */
export function requireCertificate(certificate: string | null | undefined, socket: net.Socket): void {
  if (certificate == null || fingerprintOf(socket) === certificate) return;
  socket.on("error", () => {});
  socket.destroy();
  throw otherCertificate();
}

export function otherCertificate(): DeviceError {
  return new DeviceError("device_unproven", "showed a different certificate than before: it may be another device", {
    phase: "connect",
    reason: "wrong_device",
    hint: "If it was replaced or reset, pair it again: zapd pair {device}",
  });
}

type Failure = readonly [problem: string, reason: DeviceReason];
const noRouteFailure: Failure = ["there is no route to it", "no_route"];
const unknownFailure: Failure = ["it cannot be reached", "no_route"];
const failures: Readonly<Record<string, Failure>> = {
  // The machine is up, and nothing listens at the port.
  ECONNREFUSED: ["the connection was refused", "refused"],
  EHOSTUNREACH: noRouteFailure,
  ENETUNREACH: noRouteFailure,
  EHOSTDOWN: noRouteFailure,
  ECONNRESET: ["it closed the connection", "closed"],
};

/**
 * Bun 1.4.5 reports ECONNREFUSED for every connection that cannot be made: a host that really refused has announced its MAC
 * address, or is behind a router.
 */
function failureOf(code: string, host: string): Failure {
  const isNoAnswer = code === "ECONNREFUSED" && (isUnclaimed(host) || !isRouted(host));
  return isNoAnswer ? noRouteFailure : (failures[code] ?? unknownFailure);
}

/** The device shares no version, cipher or kind of certificate with the runtime. */
const tlsErrors = /^(ERR_SSL|ERR_TLS|EPROTO|DEPTH_ZERO|CERT_|UNABLE_TO)/;

/** The key or the certificate of its pairing is damaged. */
function badKey(cause: unknown): DeviceError {
  return new DeviceError("device_error", "cannot be connected to with the key of its pairing, which is damaged", {
    phase: "connect",
    reason: "protocol",
    hint: "Pair it again: zapd pair {device}",
    cause,
  });
}

function withoutTls(code: string): DeviceError {
  const failure = { phase: "connect", reason: "protocol" } as const;
  // Another protocol answers at the port, mostly HTTP.
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER")
    return new DeviceError("device_error", "does not answer with TLS", failure);
  // An alert of another kind, such as an internal error, comes from a device that speaks TLS.
  if (code.includes("ALERT") && !/VERSION|HANDSHAKE_FAILURE|INSUFFICIENT/.test(code))
    return new DeviceError("device_error", "broke off the TLS handshake", {
      ...failure,
      hint: "It may be starting, or short of memory: unplug it for a minute, and try again when it is on",
    });
  return new DeviceError("device_error", "uses a version of TLS that is not supported here, most likely an old one", {
    ...failure,
    hint: "Update its firmware; the compiled program supports TLS 1.0 and newer",
  });
}

function unreachable({ host, port }: Address, problem: string, reason: DeviceReason, cause?: Error): DeviceError {
  return new DeviceError("device_unreachable", `did not answer at ${addressText({ host, port })} (${problem})`, {
    phase: "connect",
    reason,
    hint: `It may be asleep: {wake}, or check that ${host} is still its address with zapd discover`,
    cause,
  });
}

/** The failure of an attempt whose signal has aborted: at a deadline, or by the caller. */
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

/** zapd never calls itself, whatever address a device gives. */
export function refuseOwnListener(address: Address, { isOwnListener }: Pick<PlatformHost, "isOwnListener">): void {
  if (!isOwnListener(address)) return;
  throw new ZapdError("device_error", "has the address of zapd itself, and zapd does not connect to itself", {
    hint: "Remove it with zapd forget {device}, and add it with its own address",
  });
}
