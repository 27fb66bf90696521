/** What a TV means by letting nobody in (smart-tvs.md 3.2, 3.4), each with the setting that mends it. */
import { DeviceError, pairingRequired } from "../../api/errors.ts";

const manager = "Settings > General > External Device Manager > Device Connection Manager";
export const pairHint = "Run zapd pair {device}, and accept the request that the TV shows";
/** A TV whose user denied it once refuses without asking, until the entry is removed. */
export const deniedHint = `On the TV: ${manager} > Device List: remove zapd or allow it, then run zapd pair {device} again`;
/** It asks with every connection, unless it is set otherwise. */
export const promptHint = `On the TV: ${manager} > Access Notification: First Time Only, then run zapd pair {device}`;
export const noPopupHint = `If it showed no request: on the TV, ${manager} > Access Notification: First Time Only, and in Device List remove zapd, then run zapd pair {device} again; zapd must be in the same network as the TV`;

export const notPaired = () =>
  pairingRequired("takes no keys and no text: it is not paired with zapd", pairHint, "connect");
export const noLonger = () => pairingRequired("no longer lets zapd in", deniedHint);
/** It has given a token, and says neither yes nor no to it: it shows its request again. */
export const asksAnew = () =>
  pairingRequired("asks its user anew whether zapd may drive it, with every connection", promptHint);

export const crowdedHint = "Close other remote control apps, and try again in some seconds";

/** It talks to too many at a time, and has hung up on all of them (3.4). */
export function crowded(): DeviceError {
  return new DeviceError("device_busy", "is talking to too many apps at a time, and has hung up on all", {
    phase: "connect",
    reason: "busy",
    hint: crowdedHint,
  });
}
