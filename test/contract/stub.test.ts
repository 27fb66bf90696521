/** stub.cases.ts, in a network of its own. */
import { definesHere } from "../support/own-network.ts";

const title = "a stub platform is found, paired, driven and composed with another one";
if (definesHere(import.meta.path, title)) await import("./stub.cases.ts");
