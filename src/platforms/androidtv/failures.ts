/** Why an Android TV does not accept zapd (players.md 1.3, 4.3), each with what to do. */
import { DeviceError, pairingRequired } from "../../api/errors.ts";

export const pairHint = "Run zapd pair {device}, and type the code that the TV shows";
/** For a TV that has forgotten zapd, or cannot be paired. */
export const resetHint =
  "Run zapd pair {device}. If that does not last: on the TV, Settings > Apps > See all apps > Show system apps > Android TV Remote Service > Storage > Clear data, then restart the TV and pair again";

/** For a TV whose service refuses commands, or offers no keys. */
export const serviceHint = "On the TV, update the app Android TV Remote Service, or clear its data and restart the TV";

/** It sends the message back as an error (home-assistant/core#92596). */
export const refusedMessage = () =>
  new DeviceError("device_refused", "refused the command: its remote service sent it back", {
    phase: "answered",
    reason: "denied",
    hint: serviceHint,
  });
export const unsupported = () =>
  new DeviceError("unsupported_operation", "does not support that over its remote service", {
    phase: "answered",
    reason: "protocol",
    hint: serviceHint,
  });

export const notPaired = () => pairingRequired("accepts no commands: it is not paired with zapd", pairHint, "connect");
export const accessRevoked = () =>
  pairingRequired(
    "no longer accepts the pairing with zapd: it closes the connection before its first message",
    resetHint,
  );

export const refusedBeforeGreeting = (cause: unknown) =>
  new DeviceError("device_unreachable", "closed the connection before its first message", {
    phase: "connect",
    reason: "closed",
    hint: "It may be starting: wait a few seconds, then try again",
    cause,
  });
