/** dlna.cases.ts, in a network of its own. */
import { definesHere } from "../support/own-network.ts";

const title = "renderers are found, joined, driven, heard, and followed where they go";
if (definesHere(import.meta.path, title)) await import("./dlna.cases.ts");
