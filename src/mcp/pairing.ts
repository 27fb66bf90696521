/** Pairs a device during a call, where the device shows a code and the client can ask its user for it. */
import { ApiError } from "../api/client.ts";
import { isObject } from "../system/json.ts";
import { printable } from "../system/printable.ts";
import type { Outcome, Tool, ToolContext } from "./tool.ts";

const question = "pin";
const maxPinLength = 64;

/**
 * Runs a tool. Where the device must be paired first and shows a code, the person is asked for it, and the tool then runs.
 * Other ways of pairing are left to `zapd pair`.
 */
export async function runPaired(tool: Tool, args: unknown, context: ToolContext): Promise<Outcome> {
  const { api, signal, answerTo, canAsk } = context;
  const id = deviceIn(args);
  const pin = answerTo(question);
  if (typeof pin === "string") await api.pairDevice({ id, body: { pin }, signal });
  if (pin === null) await api.cancelPairing({ id, signal }).catch(() => {});
  try {
    return await tool.run(args, context);
  } catch (error) {
    const asksPin = canAsk && pin === undefined && !tool.annotations.readOnlyHint;
    if (!asksPin || !(error instanceof ApiError) || error.code !== "pairing_required") throw error;
    const begun = await api.pairDevice({ id, body: { begin: true }, signal }).catch(() => null);
    if (begun === null) throw error;
    if (begun.step === undefined) return tool.run(args, context);
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
        message: printable(`${device.name} shows a code${long} to pair it with zapd. What is the code?`),
        field: { name: question, title: "Code", type: "string", maxLength: maxPinLength },
      },
    };
  }
}

function deviceIn(args: unknown): string {
  const name = isObject(args) ? args["device"] : undefined;
  return typeof name === "string" ? name : "default";
}
