/** Pairs a device during a call, where the device shows a code and the client can ask its user for it. */
import { ApiError, type Result } from "../api/client.ts";
import { isObject } from "../system/json.ts";
import { printable } from "../system/printable.ts";
import { withHint } from "../system/text.ts";
import type { Outcome, Tool, ToolContext } from "./tool.ts";

const question = "pin";
const maxPinLength = 64;
/**
 * A device that shows a code does so within this time, also where a small computer takes seconds to make a key; a longer wait
 * is for somebody who accepts the request at the device.
 */
const codeTimeoutMs = 15_000;

/**
 * Runs a tool. Where the device must be paired first and shows a code, the person is asked for it, and the tool then runs.
 * Other ways of pairing are left to `zapd pair`.
 */
export async function runPaired(tool: Tool, args: unknown, context: ToolContext): Promise<Outcome> {
  const { api, signal, answerTo, canAsk } = context;
  const id = deviceIn(args) ?? context.device;
  const pin = answerTo(question);
  if (typeof pin === "string") {
    try {
      await api.pairDevice({ id, body: { pin }, signal });
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== "wrong") throw error;
      const begun = await beginPairing(context, id);
      // Most devices still show the code, so that no other pairing can begin. With some it has ended, and the next has another.
      if (begun instanceof ApiError) return askCode(withHint(error.message, error.hint));
      if (begun?.step === "code") return askCode(`That was wrong. ${questionOf(begun)}`);
      throw error;
    }
  }
  if (pin === null) await api.cancelPairing({ id, signal }).catch(() => {});
  try {
    return await tool.run(args, context);
  } catch (error) {
    const asksPin = canAsk && pin === undefined && !tool.readOnly;
    if (!asksPin || !(error instanceof ApiError) || error.code !== "pairing_required") throw error;
    const begun = await beginPairing(context, id);
    if (begun === null) throw error;
    // Somebody is pairing it: that is to be finished or cancelled first.
    if (begun instanceof ApiError) throw begun;
    if (begun.step === undefined) return tool.run(args, context);
    if (begun.step !== "code") {
      await api.cancelPairing({ id, signal }).catch(() => {});
      throw error;
    }
    // Nobody types the code any more once the client has given up the call, as many do after a minute.
    const cancel = () => void api.cancelPairing({ id }).catch(() => {});
    if (context.waitsForAnswer) signal.addEventListener("abort", cancel, { once: true });
    return askCode(questionOf(begun));
  }
}

/** Begins a pairing. Gives the error `device_busy` where it is being paired already, and `null` where it cannot be paired now. */
async function beginPairing({ api, signal }: ToolContext, id: string): Promise<Result<"pairDevice"> | ApiError | null> {
  // Without `begin`: what is left here does not end a request that somebody else waits for at the device.
  const within = AbortSignal.any([signal, AbortSignal.timeout(codeTimeoutMs)]);
  return api
    .pairDevice({ id, body: {}, signal: within })
    .catch((error: unknown) => (error instanceof ApiError && error.code === "device_busy" ? error : null));
}

function questionOf({ form, length, device }: Result<"pairDevice">): string {
  const kind = form === "digits" ? "digits" : "characters";
  const long = length === null || length === undefined ? "" : ` of ${length} ${kind}`;
  return `${device.name} shows a code${long} to pair it with zapd. What is the code?`;
}

function askCode(message: string): Outcome {
  const field = { title: "Code", type: "string", maxLength: maxPinLength } as const;
  return { ask: { key: question, message: printable(message), field } };
}

function deviceIn(args: unknown): string | undefined {
  const name = isObject(args) ? args["device"] : undefined;
  return typeof name === "string" ? name : undefined;
}
