/** cast.cases.ts, in a network of its own. */
import { definesHere } from "../support/own-network.ts";

const title = "Cast devices and their groups: found once each, followed, driven, told";
if (definesHere(import.meta.path, title)) await import("./cast.cases.ts");
