/** What changes in a house, with sets of one platform. */
import { definesHere } from "../../support/own-network.ts";

const title = "T32 after each of ten kinds of change the right set is driven, or an error says why: androidtv";
if (definesHere(import.meta.path, title)) {
  const { changesOn } = await import("./changes.ts");
  changesOn("androidtv");
}
