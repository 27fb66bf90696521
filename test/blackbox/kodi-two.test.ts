/** kodi-two.cases.ts, in a network of its own. */
import { definesHere } from "../support/own-network.ts";

const title = "two Kodis on one machine are two devices; one Kodi that is reached at two ports is one";
if (definesHere(import.meta.path, title)) await import("./kodi-two.cases.ts");
