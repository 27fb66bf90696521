/** Reads pictures that a device names by URL, from the device itself only. */
import { hasCode, ZapdError } from "../api/errors.ts";
import { type PlatformHost, pictureBytes } from "../platforms/platform.ts";
import { addressText } from "../system/text.ts";
import { hostOf } from "../system/url.ts";
import { deadline } from "./http.ts";
import { HttpConnection, refuseRedirect } from "./http-connection.ts";
import { refuseOwnListener } from "./socket.ts";

/**
 * The picture at a URL, whose host must be the device; over TLS it must show the given certificate. No redirect is followed.
 * `null` where there is none; fails with `picture_not_found` for a URL of another host, and where nothing answers at its port:
 * the device itself is reached at another, and is not offline.
 */
export async function readOwnPicture(
  address: URL,
  own: { readonly host: string; readonly certificate: string | null },
  platformHost: Pick<PlatformHost, "isOwnListener" | "requestTimeoutMs">,
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  const isSecure = address.protocol === "https:";
  if (hostOf(address) !== own.host || (!isSecure && address.protocol !== "http:"))
    throw new ZapdError("picture_not_found", "names a picture on another host, from which zapd fetches nothing");
  if (isSecure && own.certificate === null)
    throw new ZapdError(
      "picture_not_found",
      "serves its pictures over TLS, but zapd has no certificate of it to check",
    );
  const from = { host: own.host, port: Number(address.port) || (isSecure ? 443 : 80) };
  refuseOwnListener(from, platformHost);
  const within = deadline(platformHost.requestTimeoutMs(), signal);
  const unanswered = (error: unknown) => {
    if (signal.aborted || !hasCode(error, "device_unreachable", "device_timeout")) throw error;
    throw new ZapdError("picture_not_found", `names a picture at ${addressText(from)}, where nothing answers`);
  };
  const connection = await HttpConnection.open(from, within, isSecure ? own.certificate : undefined).catch(unanswered);
  try {
    const path = address.pathname + address.search;
    const asked = { method: "GET", path, wanted: "all", maxBytes: pictureBytes.icon } as const;
    const answer = await connection.exchange(asked, within).catch(unanswered);
    refuseRedirect(answer);
    return answer.status === 200 ? answer.body : null;
  } finally {
    connection.close();
  }
}
