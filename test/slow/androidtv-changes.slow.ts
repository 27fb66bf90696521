/** The changes of test/blackbox/changes, with Android TVs. */
import { definesHere } from "../support/own-network.ts";

const title = "T32 after each of ten kinds of change the right set is driven, or an error says why: androidtv";
if (definesHere(import.meta.path, title)) {
  const { changesOn } = await import("../blackbox/changes/changes.ts");
  changesOn("androidtv");
}
