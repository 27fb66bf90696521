/** The instrument of this folder is sound. */
import { definesHere } from "../support/own-network.ts";

const title = "real sets are found and driven, and strangers hear what they are sent";
if (definesHere(import.meta.path, title)) await import("../security/rogue/kit.cases.ts");
