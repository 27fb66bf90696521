import type { Hono } from "hono";
import type { AppDependencies } from "./app.ts";
import { type Env, route } from "./route.ts";

/** The remote: one key, or a timed sequence. */
export function remoteRoutes(app: Hono<Env>, { control, actions }: AppDependencies): void {
  route(app, "pressKey", async ({ id, body, signal }) => {
    const entry = control.find(id);
    await actions.key(entry, body.key, signal);
    return control.acted(entry, "key", { key: body.key });
  });

  route(app, "pressKeys", async ({ id, body, signal }) => {
    const entry = control.find(id);
    const { keys, delay_ms } = body;
    const { sent, duration_ms } = await actions.sequence(entry, keys, delay_ms, signal);
    return control.acted(entry, "sequence", { keys, delay_ms, sent, duration_ms });
  });
}
