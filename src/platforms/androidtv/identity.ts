/** Identifies an Android TV (players.md 1.2, 4.1) by its certificate, without any message. */
import { DeviceError, hasReason, protocolError, wrongDevice, type ZapdError } from "../../api/errors.ts";
import { deadline } from "../../transport/http.ts";
import { text } from "../../transport/json.ts";
import { fingerprint, lookAtCertificate, otherCertificate } from "../../transport/socket.ts";
import type { Address, Facts, Lead, MdnsService, PlatformHost, Sighting } from "../platform.ts";
import { senderOf } from "../query.ts";
import { anonymousCertificate, inPem, subjectOf } from "./certificate.ts";
import { type AndroidMemory, type AndroidTarget, pairingPortOf } from "./memory.ts";

export const serviceType = "_androidtvremote2._tcp";

/** The instance name is the name of the device. */
export function readService(service: MdnsService): Lead | null {
  const host = senderOf(service);
  if (service.type !== serviceType || host === null) return null;
  return { host, port: service.port, announced: { name: service.name } };
}

/**
 * Reads the certificate that is shown at an address. With TLS 1.2 a TV closes connections of unknown clients before it shows its
 * own, except at the port for pairing.
 */
export async function readCertificate(
  address: Address,
  pairingPort: number,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const look = async (port: number) => {
    const at = { host: address.host, port };
    const shown = await lookAtCertificate(at, inPem(await anonymousCertificate()), platformHost, signal);
    if (shown === null)
      throw new DeviceError("device_error", "showed no certificate", { phase: "connect", reason: "protocol" });
    return shown;
  };
  try {
    return await look(address.port);
  } catch (error) {
    if (signal.aborted || !hasReason(error, "closed", "protocol")) throw error;
    return look(pairingPort).catch(() => {
      throw error;
    });
  }
}

export async function identifyAndroid(
  lead: Lead,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Sighting<AndroidMemory>> {
  const { host, port } = lead;
  const within = deadline(platformHost.requestTimeoutMs(), signal);
  const isHere = (service: MdnsService) => service.port === port;
  const announcing = lead.announced
    ? null
    : platformHost.announced(serviceType, host, isHere, within).catch(() => null);
  const certificate = await readCertificate(lead, pairingPortOf(lead), platformHost, within);
  const subject = subjectOf(certificate);
  const announced = text(lead.announced?.["name"]) ?? (await announcing)?.name ?? null;
  // A service that is announced as an Android TV is one, whatever its certificate looks like.
  if (!subject.isRemote && announced === null)
    throw protocolError("is not an Android TV: its certificate is not that of the Android TV Remote Service");
  const { name, mac } = subject;
  return {
    identity: identityOf(certificate),
    ...(mac !== null && { ids: [`bt:${mac}`] }),
    certificate: fingerprint(certificate),
    facts: {
      name: announced ?? name,
      kind: isStreamingBox({ model: name }) ? "player" : "unknown",
      manufacturer: null,
      model: name,
      serial: null,
      // No magic packet wakes a Bluetooth address.
      macs: [],
      softwareVersion: null,
      access: null,
    },
    memory: {},
    pairing: "required",
  };
}

/** A box has no inputs. Of any other model it is not known whether it is a TV. */
export function isStreamingBox({ model }: Pick<Facts, "model">): boolean {
  return /chrome|shield|streamer|stick|dongle|nexus player|mi ?box|\bonn\b|\bbox\b/i.test(model ?? "");
}

/** Fails where the device is not the one that was paired, before it gets our certificate (SECURITY.md 2.4). */
export async function prove(target: AndroidTarget, platformHost: PlatformHost, signal: AbortSignal): Promise<void> {
  const certificate = await readCertificate(target, pairingPortOf(target), platformHost, signal);
  const error = proofError(target, certificate, target.secret.readAnyway()?.certificate);
  if (error) throw error;
}

/** Why a shown certificate is not that of the paired TV; `null` where it is. */
export function proofError(
  { host, identity }: Pick<AndroidTarget, "host" | "identity">,
  certificate: Uint8Array,
  pairedFingerprint: string | undefined,
): ZapdError | null {
  if (fingerprint(certificate) === pairedFingerprint) return null;
  if (identityOf(certificate) !== identity) return wrongDevice(host);
  return pairedFingerprint === undefined ? null : otherCertificate();
}

/** The identity in a certificate: the Bluetooth address, or else the fingerprint. */
function identityOf(certificate: Uint8Array): string {
  return subjectOf(certificate).mac ?? fingerprint(certificate);
}
