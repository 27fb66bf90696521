/** Real sets and strangers of one platform, in every order of events (test/security/README.md). */
import { definesHere } from "../../support/own-network.ts";

const title = "T27 T29 a stranger gets no key, login, digest or text in any order of events: samsung";
if (definesHere(import.meta.path, title)) {
  const { playOrders } = await import("./play.ts");
  playOrders("samsung");
}
