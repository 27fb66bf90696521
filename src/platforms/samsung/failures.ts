/** Why a TV lets nobody in (smart-tvs.md 3.2, 3.4), each with the setting to change. */
import { DeviceError, pairingRequired } from "../../api/errors.ts";

const manager = "Settings > General > External Device Manager > Device Connection Manager";
export const pairHint = "Run zapd pair {device}, and accept the request that the TV shows";
/** Once denied, a TV refuses without a prompt until the entry is removed. */
export const deniedHint = `On the TV: ${manager} > Device List: remove zapd or allow it, then run zapd pair {device} again`;
/** By default some TVs show a prompt with every connection. */
export const promptHint = `On the TV: ${manager} > Access Notification: First Time Only, then run zapd pair {device}`;
export const noPopupHint = `If it showed no request: on the TV, ${manager} > Access Notification: First Time Only, and in Device List remove zapd, then run zapd pair {device} again; zapd must be in the same network as the TV`;

export const notPaired = () =>
  pairingRequired("takes no keys and no text: it is not paired with zapd", pairHint, "connect");
export const accessRevoked = () => pairingRequired("no longer lets zapd in", deniedHint);
/** The TV gave a token, and neither accepts nor refuses it: it shows its prompt again. */
export const promptedAgain = () =>
  pairingRequired("asks its user anew whether zapd may drive it, with every connection", promptHint);

export const tooManyClientsHint = "Close other remote control apps, and try again in some seconds";

/** A TV that has too many clients hangs up on all of them (3.4). */
export function tooManyClients(): DeviceError {
  return new DeviceError("device_busy", "is talking to too many apps at a time, and has hung up on all", {
    phase: "connect",
    reason: "busy",
    hint: tooManyClientsHint,
  });
}
