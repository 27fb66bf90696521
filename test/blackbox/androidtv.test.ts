/** androidtv.cases.ts, in a network of its own. */
import { definesHere } from "../support/own-network.ts";

const title = "Android TVs: paired by a code, with Cast one device, left alone while they sleep";
if (definesHere(import.meta.path, title)) await import("./androidtv.cases.ts");
