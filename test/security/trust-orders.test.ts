/** trust-orders.cases.ts, in a network of its own. */
import { definesHere } from "../support/own-network.ts";

const title = "T27 T29 who answers at an address: plausible, on probation, and believed again";
if (definesHere(import.meta.path, title)) await import("./trust-orders.cases.ts");
