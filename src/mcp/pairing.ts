/** Pairs a device that shows a code on the way, where the client can ask its user for that code. */
import { ApiError } from "../api/client.ts";
import { isObject } from "../system/json.ts";
import { printable } from "../system/printable.ts";
import type { Calling, Outcome, Tool } from "./tool.ts";

const question = "pin";
const longestPin = 64;

/**
 * Runs a tool. Where the device has to be paired first, and shows a code for it, the person is asked for that code, and the
 * tool runs once it is paired. What is accepted at the device, or wants a password, is left to `zapd pair`.
 */
export async function runPaired(tool: Tool, given: unknown, calling: Calling): Promise<Outcome> {
  const { api, signal, answerTo, canAsk } = calling;
  const id = deviceIn(given);
  const pin = answerTo(question);
  if (typeof pin === "string") await api.pairDevice({ id, body: { pin }, signal });
  if (pin === null) await api.cancelPairing({ id, signal }).catch(() => {});
  try {
    return await tool.run(given, calling);
  } catch (error) {
    const isAsked = canAsk && pin === undefined && !tool.hints.readOnlyHint;
    if (!isAsked || !(error instanceof ApiError) || error.code !== "pairing_required") throw error;
    const begun = await api.pairDevice({ id, body: { begin: true }, signal }).catch(() => null);
    if (begun === null) throw error;
    if (begun.step === undefined) return tool.run(given, calling);
    if (begun.step !== "code") {
      await api.cancelPairing({ id, signal }).catch(() => {});
      throw error;
    }
    const { form, length, device } = begun;
    const kind = form === "digits" ? "digits" : "characters";
    const long = length === null || length === undefined ? "" : ` of ${length} ${kind}`;
    return {
      ask: {
        key: question,
        message: printable(`${device.name} shows a code${long}, so that zapd may control it. What does it say?`),
        field: { name: question, title: "Code", type: "string", maxLength: longestPin },
      },
    };
  }
}

function deviceIn(given: unknown): string {
  const name = isObject(given) ? given["device"] : undefined;
  return typeof name === "string" ? name : "default";
}
