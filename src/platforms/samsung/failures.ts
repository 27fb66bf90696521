/** Why a TV does not accept zapd (smart-tvs.md 3.2, 3.4), each with the setting to change. */
import { DeviceError, pairingRequired } from "../../api/errors.ts";
import { pairHint } from "../prompts.ts";

const manager = "Settings > General > External Device Manager > Device Connection Manager";
/** Once denied, a TV refuses without a prompt until the entry is removed. */
export const deniedHint = `On the TV: ${manager} > Device List: remove zapd or allow it, then run zapd pair {device} again`;
/** By default some TVs show a prompt with every connection. */
export const promptHint = `On the TV: ${manager} > Access Notification: First Time Only, then run zapd pair {device}`;
export const noPopupHint = `If it showed no request: on the TV, ${manager} > Access Notification: First Time Only, and in Device List remove zapd, then run zapd pair {device} again; zapd must be in the same network as the TV`;

export const notPaired = () =>
  pairingRequired("accepts no keys and no text: it is not paired with zapd", pairHint, "connect");
export const accessRevoked = () => pairingRequired("no longer accepts the pairing with zapd", deniedHint);
/** The TV shows its prompt: again where it gave a token, else perhaps for the first time. */
export const prompted = (hasToken: boolean) =>
  hasToken
    ? pairingRequired("asks with every connection whether zapd may control it", promptHint)
    : pairingRequired("asks on its screen whether zapd may control it", `${pairHint}. If it asks again: ${promptHint}`);

/** The TV accepted the connection, and answered it or a key with an error (3.2; tavicu/homebridge-samsung-tizen#225, #479). */
export function takesNoKeys(): DeviceError {
  return new DeviceError("device_refused", "accepts the connection, but no keys and no text", {
    phase: "answered",
    reason: "denied",
    hint: `zapd supports Samsung TVs of 2016 and newer. On such a TV: ${manager} > Device List: remove zapd or allow it, then run zapd pair {device} again`,
  });
}

export const tooManyClientsHint = "Close other remote control apps, and try again in a few seconds";

/** A TV that has too many clients closes all connections (3.4). */
export function tooManyClients(): DeviceError {
  return new DeviceError("device_busy", "had too many remote control apps connected, and closed all connections", {
    phase: "connect",
    reason: "busy",
    hint: tooManyClientsHint,
  });
}
