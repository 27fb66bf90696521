/** Who an Android TV is (players.md 1.2, 4.1): its certificate says so to whoever connects, and nothing is said for it. */
import { DeviceError, hasReason } from "../../api/errors.ts";
import { deadline } from "../../transport/http.ts";
import { text } from "../../transport/json.ts";
import { fingerprint, lookAtCertificate } from "../../transport/socket.ts";
import type { Address, Facts, Lead, MdnsService, PlatformHost, Sighting } from "../platform.ts";
import { senderOf } from "../query.ts";
import { inPem, strangersCertificate, subjectOf } from "./certificate.ts";
import { identityOf, strangerAt } from "./failures.ts";
import { type AndroidMemory, type AndroidTarget, pairingPortOf } from "./memory.ts";

export const serviceType = "_androidtvremote2._tcp";

/** The name of the instance is that of the device. */
export function readService(service: MdnsService): Lead | null {
  const host = senderOf(service);
  if (service.type !== serviceType || host === null) return null;
  return { host, port: service.port, announced: { name: service.name } };
}

/**
 * The certificate that is shown at an address, to one who shows nothing of us and says nothing. A TV that speaks TLS 1.2 hangs
 * up on strangers before it shows its own, but for the port where they are paired.
 */
export async function lookAt(
  address: Address,
  pairingPort: number,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const look = async (port: number) => {
    const at = { host: address.host, port };
    const shown = await lookAtCertificate(at, inPem(await strangersCertificate()), platformHost, signal);
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
  const { host, port, announced: said } = lead;
  const within = deadline(platformHost.requestTimeoutMs(), signal);
  const isHere = (service: MdnsService) => service.port === port;
  const announcing = said ? null : platformHost.announced(serviceType, host, isHere, within).catch(() => null);
  const certificate = await lookAt(lead, pairingPortOf(lead), platformHost, within);
  const subject = subjectOf(certificate);
  const announced = text(said?.["name"]) ?? (await announcing)?.name ?? null;
  // What is announced as one is one, whatever its certificate looks like.
  if (!subject.isRemote && announced === null)
    throw new DeviceError("device_error", "is no Android TV: its certificate is that of something else", {
      phase: "answered",
      reason: "protocol",
    });
  const { name, mac } = subject;
  return {
    identity: identityOf(certificate),
    ...(mac !== null && { ids: [`bt:${mac}`] }),
    certificate: fingerprint(certificate),
    facts: {
      name: announced ?? name,
      kind: isBox({ model: name }) ? "player" : "unknown",
      manufacturer: null,
      model: name,
      serial: null,
      // That of its Bluetooth is none that a packet wakes.
      macs: [],
      softwareVersion: null,
      access: null,
    },
    memory: {},
    pairing: "required",
  };
}

/** What is plugged into a screen has no inputs. Of any other it is not known whether it is a screen. */
export function isBox({ model }: Pick<Facts, "model">): boolean {
  return /chrome|shield|streamer|stick|dongle|nexus player|mi ?box|\bonn\b|\bbox\b/i.test(model ?? "");
}

/** Fails where another answers than the one that was paired, before anything of ours is shown to it (SECURITY.md 2.4). */
export async function prove(target: AndroidTarget, platformHost: PlatformHost, signal: AbortSignal): Promise<void> {
  const shown = await lookAt(target, pairingPortOf(target), platformHost, signal);
  const stranger = strangerAt(target, shown, target.secret.readAnyway()?.certificate);
  if (stranger) throw stranger;
}
