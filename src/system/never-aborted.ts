import { setMaxListeners } from "node:events";

/** A signal that never aborts. All wait on this one, where Node would warn of a leak at the eleventh listener. */
export const neverAborted = new AbortController().signal;
setMaxListeners(0, neverAborted);
