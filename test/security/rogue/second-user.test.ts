/** second-user.cases.ts, in a network of its own. */
import { definesHere } from "../../support/own-network.ts";

const title = "T28 a second user with a fake of the same identity gets nothing";
if (definesHere(import.meta.path, title)) await import("./second-user.cases.ts");
