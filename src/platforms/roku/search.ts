/** Which answers to a search are those of a Roku. Pure. Facts and their evidence: protocols/roku.md, by section. */
import type { Address, SsdpAnswer } from "../platform.ts";

/** Reads an answer to the search for `roku:ecp` (1.1). Other devices answer the multicast too: they are not ours. */
export function readSearchAnswer(answer: SsdpAnswer): Address | null {
  const usn = answer.headers.get("usn") ?? "";
  if (answer.headers.get("st")?.toLowerCase() !== "roku:ecp" && !/^uuid:roku:ecp:/i.test(usn)) return null;
  const location = answer.headers.get("location") ?? "";
  if (location.length > 2048 || !URL.canParse(location)) return null;
  const url = new URL(location);
  const literal = /^http:\/\/([0-9.]+)(?::\d+)?(?:\/|$)/i.exec(location)?.[1];
  // The host as written must be the sender's own address: never a name, another host or a disguised number (SECURITY.md T6).
  if (literal !== answer.source || url.hostname !== answer.source || url.port === "0") return null;
  return { host: answer.source, port: url.port === "" ? 80 : Number(url.port) };
}
