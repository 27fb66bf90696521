/** Another user of this machine, who points a known device at a fake of his own. */
import { definesHere } from "../../support/own-network.ts";

const title = "T28 a second user with a fake of the same identity gets nothing";
if (definesHere(import.meta.path, title)) await import("./second-user.cases.ts");
