/** What an Android TV means by letting nobody in (players.md 1.3, 4.3), each with what mends it. */
import { DeviceError, pairingRequired, wrongDevice, type ZapdError } from "../../api/errors.ts";
import { fingerprint, otherCertificate } from "../../transport/socket.ts";
import { subjectOf } from "./certificate.ts";
import type { AndroidTarget } from "./memory.ts";

export const pairHint = "Run zapd pair {device}, and type the code that the TV shows";
/** What mends a TV that has forgotten us, or lets nobody be paired. */
export const resetHint =
  "Run zapd pair {device}. If that does not last: on the TV, Settings > Apps > See all apps > Show system apps > Android TV Remote Service > Storage > Clear data, then restart it and pair again";

export const notPaired = () =>
  pairingRequired("lets nobody in who has not been paired, and zapd has not", pairHint, "connect");
export const noLonger = () => pairingRequired("no longer lets zapd in: it hangs up before it says anything", resetHint);

export const turnedAway = (cause?: unknown) =>
  new DeviceError("device_unreachable", "hung up before it said anything", {
    phase: "connect",
    reason: "closed",
    hint: "It may be starting: wait a few seconds, then try again",
    cause,
  });

/** Why who showed a certificate is not the one that was paired; `null` where it is. */
export function strangerAt(
  { host, identity, provisional }: Pick<AndroidTarget, "host" | "identity" | "provisional">,
  shown: Uint8Array,
  kept: string | undefined,
): ZapdError | null {
  if (fingerprint(shown) === kept) return null;
  if (!provisional && identityOf(shown) !== identity) return wrongDevice(host);
  return kept === undefined ? null : otherCertificate();
}

/** Who a certificate says that its set is: by the address of its Bluetooth, or by itself. */
export function identityOf(certificate: Uint8Array): string {
  return subjectOf(certificate).mac ?? fingerprint(certificate);
}
