/** Real Android TVs and strangers, in every order of events (test/security/README.md). */
import { definesHere } from "../support/own-network.ts";

const title = "T27 T29 a stranger gets no key, login, digest or text in any order of events: androidtv";
if (definesHere(import.meta.path, title)) {
  const { playOrders } = await import("../security/rogue/play.ts");
  playOrders("androidtv");
}
