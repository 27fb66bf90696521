/** moved.cases.ts, in a network of its own. */
import { definesHere } from "../support/own-network.ts";

const title = "a set that has moved is found where it is, and only what must be is searched";
if (definesHere(import.meta.path, title)) await import("./moved.cases.ts");
