/** house.cases.ts, in a network of its own. */
import { definesHere } from "../support/own-network.ts";

const title = "a house of twelve is found once each, whatever is lost, and stays what it is";
if (definesHere(import.meta.path, title)) await import("./house.cases.ts");
