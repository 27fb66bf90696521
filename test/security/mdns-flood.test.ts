/** mdns-flood.cases.ts, in a network of its own: the flood would fill the sockets of other searches. */
import { definesHere } from "../support/own-network.ts";

const title = "of a flood over mDNS part is read, and the real service is found";
if (definesHere(import.meta.path, title)) await import("./mdns-flood.cases.ts");
