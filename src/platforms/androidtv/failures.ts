/** Why an Android TV lets nobody in (players.md 1.3, 4.3), each with what to do. */
import { DeviceError, pairingRequired } from "../../api/errors.ts";

export const pairHint = "Run zapd pair {device}, and type the code that the TV shows";
/** For a TV that has forgotten zapd, or cannot be paired. */
export const resetHint =
  "Run zapd pair {device}. If that does not last: on the TV, Settings > Apps > See all apps > Show system apps > Android TV Remote Service > Storage > Clear data, then restart it and pair again";

export const notPaired = () =>
  pairingRequired("lets nobody in who has not been paired, and zapd has not", pairHint, "connect");
export const accessRevoked = () =>
  pairingRequired("no longer lets zapd in: it hangs up before it says anything", resetHint);

export const refusedBeforeGreeting = (cause?: unknown) =>
  new DeviceError("device_unreachable", "hung up before it said anything", {
    phase: "connect",
    reason: "closed",
    hint: "It may be starting: wait a few seconds, then try again",
    cause,
  });
