/** The errors of calls that the daemon did not answer. */
import { NotZapdError } from "../api/client.ts";
import { exits, systemCode } from "../api/errors.ts";
import { type EndpointName, endpoints } from "../api/routes.ts";
import type { Context } from "./context.ts";
import { CommandError, notRunning } from "./failure.ts";

/** The error of a call without an answer. `late`: the operation, where the time of `--timeout` was over. */
export function noAnswerError(error: unknown, context: Context, late?: EndpointName): CommandError {
  const socket = context.socket();
  const code = systemCode(error);
  if (error instanceof CommandError) return error;
  if (late) return tooLate(late, context.timeoutMs ?? 0);
  const broken = { code: "internal_error" } as const;
  if (error instanceof NotZapdError)
    return new CommandError(`what answers at ${socket} is not zapd`, exits.failed, undefined, broken);
  if (code === "ECONNRESET" || code === "EPIPE")
    return new CommandError("the daemon hung up before it had answered", exits.failed, "Its log says why", broken);
  if (code === "EACCES" || code === "EPERM")
    return new CommandError(`the daemon's socket belongs to another user: ${socket}`, exits.refused);
  const given = context.option("socket") !== undefined || process.env["ZAPD_SOCKET"];
  const where = given ? `: nothing answers at ${socket}` : "";
  const start = "Start it with `zapd serve`, or once and for all with `zapd service install`";
  return new CommandError(`the daemon is not running${where}. ${start}`, exits.notRunning, undefined, {
    code: notRunning,
  });
}

function tooLate(name: EndpointName, ms: number): CommandError {
  const { method, path } = endpoints[name];
  const commanded = method !== "get" && path.startsWith(`${endpoints.getDevice.path}/`);
  const time = ms < 1_000 ? `${ms} ms` : `${Number((ms / 1_000).toFixed(1))} s`;
  return CommandError.of({
    code: "device_timeout",
    message: `there was no answer within ${time}, and --timeout says to wait no longer`,
    hint: commanded ? "What has been sent to the device already may still happen" : undefined,
  });
}
