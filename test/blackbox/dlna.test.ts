/** dlna.cases.ts, in a network of its own. */
import { definesHere } from "../support/own-network.ts";

const title = "renderers are found, joined, driven, subscribed to, and found at a new address";
if (definesHere(import.meta.path, title)) await import("./dlna.cases.ts");
