/** What fits no table of orders. */
import { definesHere } from "../support/own-network.ts";

const title = "T27 T29 no stranger gets anything by what fits no table of orders";
if (definesHere(import.meta.path, title)) await import("../security/rogue/beyond.cases.ts");
