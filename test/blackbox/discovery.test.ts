/** discovery.cases.ts, in a network of its own. */
import { definesHere } from "../support/own-network.ts";

const title = "sets are found by a search and by address, and stay who they are";
if (definesHere(import.meta.path, title)) await import("./discovery.cases.ts");
