/** trust-registry.cases.ts, in a network of its own. */
import { definesHere } from "../support/own-network.ts";

const title = "T30 T32 the registry under a flood, and the default device under strangers of its name";
if (definesHere(import.meta.path, title)) await import("./trust-registry.cases.ts");
