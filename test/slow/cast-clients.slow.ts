/** Debian's pychromecast and VLC cast to the simulator, which they find and talk to as to any device. */
import { definesHere } from "../support/own-network.ts";

const title = "pychromecast and VLC cast to the simulator";
if (definesHere(import.meta.path, title)) await import("./cast/clients.cases.ts");
