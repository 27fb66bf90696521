/** `zapd pair`: the user accepts on the device, or types the code or the login that it asks for. */
import type { Result } from "../api/client.ts";
import { printable } from "../system/printable.ts";
import { shellQuote } from "../system/text.ts";
import { asksForPassword, canAsk, readHidden, readLine } from "./ask.ts";
import { type Called, call } from "./client.ts";
import type { Context } from "./context.ts";
import { CommandError, UsageError } from "./failure.ts";
import { tryCall } from "./requests.ts";
import { endingSignals, onSignal } from "./signals.ts";

/** How long a daemon that hangs may keep a command that was ended. */
const cancelTimeoutMs = 5_000;

/** What the user typed, or gave with the command. */
interface Credentials {
  readonly pin?: string | undefined;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
}

/** A pairing that waits for a code or a login. */
interface PendingPairing {
  readonly name: string;
  readonly step: Result<"pairDevice">;
  /** Aborts when the pairing expires, or with a signal such as Ctrl-C. */
  readonly signal: AbortSignal;
  enter(typed: Credentials): Promise<Called<"pairDevice">>;
}

export async function pair(context: Context): Promise<void> {
  const [pin, user, host] = ["pin", "user", "host"].map((name) => context.option(name));
  const wantsPassword = asksForPassword(context) || user !== undefined;
  if (pin !== undefined && wantsPassword) throw new UsageError("give --pin or --user, not both");
  const { id, name } = (await call(context, "getDevice", { id: context.words[0] ?? context.device })).data;
  if (context.flag("cancel")) return cancel(context, id, name);
  const isAsking = pin === undefined && !wantsPassword;
  if (isAsking) context.say(printable(`asking ${name}; if it shows a request, accept it there within a minute …`));
  // Before the time of `--timeout` is over; with a signal until that aborts, as the user may have typed for longer.
  const enter = (typed: Credentials, signal?: AbortSignal) =>
    call(
      context,
      "pairDevice",
      { id, body: { host, user, platform: context.option("platform"), ...typed }, ...(signal && { signal }) },
      { untilAnswered: signal !== undefined, ...(isAsking && { quiet: true }) },
    );
  // A pipe holds the password already. A person is asked only after the device has asked for one.
  const piped = wantsPassword && process.stdin.isTTY !== true ? (await readHidden("")) || undefined : undefined;
  const first = await enter({ pin, password: piped });
  // Many a device tells its own name only once it is paired.
  const done = (called: Called<"pairDevice">) => context.reportDone(called, `paired with ${called.data.device.name}`);
  if (first.data.step === undefined) return done(first);
  if (context.json && isAsking) return context.print(first.text);
  // The pairing stays open for the command in the hint.
  if (first.data.step === "code" && !canAsk()) throw noTerminalForCodeError(name, first.data);
  const stopped = new AbortController();
  const removeHandler = onSignal(endingSignals(), (signal) => stopped.abort(signal));
  const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(secondsLeft(first.data) * 1_000)]);
  const pending: PendingPairing = {
    name,
    step: first.data,
    signal,
    enter: (typed) => enter(typed, stopped.signal),
  };
  try {
    done(await (first.data.step === "code" ? askCode(pending) : askLogin(pending, user, wantsPassword)));
  } catch (error) {
    // After a signal as well, which ends the command then.
    await tryCall(context, "cancelPairing", { id }, cancelTimeoutMs).catch(() => {});
    if (!stopped.signal.aborted) throw error === signal.reason ? expiredError(name) : error;
    removeHandler();
    process.kill(process.pid, stopped.signal.reason as NodeJS.Signals);
  } finally {
    removeHandler();
  }
}

async function cancel(context: Context, id: string, name: string): Promise<void> {
  const called = await call(context, "cancelPairing", { id });
  context.reportDone(called, called.data.cancelled ? `no longer pairing with ${name}` : `${name} was not being paired`);
}

function secondsLeft({ expires_at }: Result<"pairDevice">): number {
  return Math.max(0, Math.ceil((Date.parse(expires_at ?? "") - Date.now()) / 1_000));
}

/** `Den shows a code of 6 digits`. */
function showsCode(name: string, { length, form }: Result<"pairDevice">): string {
  return printable(`${name} shows a code of ${length} ${form === "digits" ? "digits" : "characters"}`);
}

async function askCode({ name, step, signal, enter }: PendingPairing): Promise<Called<"pairDevice">> {
  let prompt = `${showsCode(name, step)}. Code`;
  for (;;) {
    const pin = await readLine(() => `${prompt} (${secondsLeft(step)} s): `, signal);
    if (pin.trim() === "") continue;
    try {
      return await enter({ pin });
    } catch (error) {
      if (!(error instanceof CommandError) || error.reason !== "wrong") throw error;
      prompt = "That was a different code. Code";
    }
  }
}

async function askLogin(
  { name, signal, enter }: PendingPairing,
  given: string | undefined,
  isGiven: boolean,
): Promise<Called<"pairDevice">> {
  if (!canAsk() && isGiven) throw new UsageError("the password is empty");
  if (!canAsk()) throw noTerminalForLoginError(name);
  for (;;) {
    const user = given ?? ((await readLine(() => printable(`user of ${name}: `), signal)).trim() || undefined);
    const password = await readHidden(printable(`password of ${user ?? name}`), signal);
    if (password === "") throw new UsageError("the password is empty");
    try {
      return await enter({ user, password });
    } catch (error) {
      if (!(error instanceof CommandError) || error.reason !== "wrong") throw error;
      process.stderr.write(`${printable(error.message)}. Once more, or Ctrl-C\n`);
    }
  }
}

function noTerminalForCodeError(name: string, step: Result<"pairDevice">): CommandError {
  return CommandError.of({
    code: "pairing_required",
    message: `${showsCode(name, step)}, but there is no terminal to type it in`,
    hint: `Within ${secondsLeft(step)} s: zapd pair ${shellQuote(name)} --pin CODE`,
  });
}

function noTerminalForLoginError(name: string): CommandError {
  return CommandError.of({
    code: "pairing_required",
    message: `${name} requires a user name and a password, but there is no terminal to type them in`,
    hint: `Pipe the password to it: zapd pair ${shellQuote(name)} --user NAME --password -`,
  });
}

function expiredError(name: string): CommandError {
  return CommandError.of({
    code: "pairing_failed",
    message: `${name} no longer waits for it`,
    hint: `Start again: zapd pair ${shellQuote(name)}`,
    reason: "late",
  });
}
