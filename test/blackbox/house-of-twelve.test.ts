/** house-of-twelve.cases.ts, in a network of its own. */
import { definesHere } from "../support/own-network.ts";

const title = "a house of twelve is twelve devices, by one scan and by the next";
if (definesHere(import.meta.path, title)) await import("./house-of-twelve.cases.ts");
