/** The calls that the remote makes to the daemon. Each has its deadline, and a failure is an answer. */
import type { z } from "zod";
import type { App, Device, operations } from "../../api/operations.ts";
import { type Asked, ask } from "../ask.ts";
import { devicePath } from "../client.ts";
import type { Context } from "../context.ts";
import type { Failure } from "../failure.ts";

export type StateData = z.infer<(typeof operations)["getState"]["data"]>;

export interface Link {
  devices(signal?: AbortSignal): Promise<Asked<readonly Device[]>>;
  state(id: string, signal?: AbortSignal): Promise<Asked<StateData>>;
  apps(id: string): Promise<Asked<{ readonly apps: readonly App[] }>>;
  /** A key, or `literal:` with a text; answers with what went wrong. */
  press(id: string, key: string): Promise<Failure | null>;
  launch(id: string, app: string): Promise<Failure | null>;
}

/** A daemon that has not answered by then hangs: it gives its devices 30 s at most for one answer. */
const readWithin = 10_000;
/** Turning a set on takes up to 45 s, and a long text longer. */
const pressWithin = 60_000;
const textWithin = 600_000;

export function linkTo(context: Context): Link {
  const failureOf = (asked: Asked<unknown>) => (asked.ok ? null : asked);
  return {
    devices: (signal) => ask(context, "GET", "/devices", { within: readWithin, ...(signal && { signal }) }),
    state: (id, signal) =>
      ask(context, "GET", devicePath(id, "/state"), { within: readWithin, ...(signal && { signal }) }),
    apps: (id) => ask(context, "GET", devicePath(id, "/apps"), { within: 2 * readWithin }),
    async press(id, key) {
      const within = key.startsWith("literal:") ? textWithin : pressWithin;
      return failureOf(await ask(context, "POST", devicePath(id, "/remote/key"), { body: { key }, within }));
    },
    async launch(id, app) {
      const options = { body: { app }, within: pressWithin };
      return failureOf(await ask(context, "POST", devicePath(id, "/apps/launch"), options));
    },
  };
}
