import { dirname, join, resolve } from "node:path";
import type { Hono } from "hono";
import { errorBody, toZapdError, ZapdError } from "../api/errors.ts";
import type { SceneResult } from "../api/scenes.ts";
import { heartbeatMs, type JournalMessage } from "../devices/journal.ts";
import type { Plan } from "../scenes/plan.ts";
import type { Answer, RunOptions, SceneNews, Scenes } from "../scenes/scenes.ts";
import type { AppDependencies } from "./app.ts";
import { askDevice } from "./groups.ts";
import { type Env, type Given, route } from "./route.ts";
import { asksForStream, formFor, type Source, type Streams } from "./streams.ts";

type Asked = Pick<Given<never>, "request" | "call" | "context">;
type Run = (signal: AbortSignal, tell: (news: SceneNews) => void) => Promise<SceneResult>;

/** Scenes: of files, and given at once. What only they need is loaded with the first. */
export function sceneRoutes(app: Hono<Env>, { devices, config }: AppDependencies, streams: Streams): void {
  const folder = join(dirname(resolve(config.path)), "scenes");
  let loaded: Promise<Scenes> | undefined;
  const load = () => {
    loaded ??= import("../scenes/scenes.ts").then((made) => new made.Scenes(folder, devices));
    return loaded;
  };

  const answer = async (planOf: (scenes: Scenes) => Plan, dryRun: unknown, { request, call, context }: Asked) => {
    const scenes = await load();
    const plan = planOf(scenes);
    if (dryRun === true) return scenes.checked(plan);
    const ask: RunOptions["ask"] = async ({ operation, body }, device, signal) =>
      (await askDevice(app, operation, device, { request, call, body, signal })) as Answer;
    const run: Run = (signal, tell) => scenes.run(plan, { ask, signal }, tell);
    if (!asksForStream(request)) return run(request.signal, () => {});
    return streams.open(context, formFor(request), () => told(run));
  };

  route(app, "listScenes", async () => (await load()).list());

  route(app, "runScene", (given) =>
    answer((scenes) => scenes.ofFile(given.id, given.body.device), given.body.dry_run, given),
  );
  route(app, "runSteps", (given) => answer((scenes) => scenes.ofSteps(given.body), given.body.dry_run, given));
}

/** A run as a stream: what happens, as it happens, and at last the whole answer. Who hangs up ends it. */
function told(run: Run): Source {
  const left = new AbortController();
  const waiting: JournalMessage[] = [];
  let count = 0;
  let isOver = false;
  let wake = () => {};
  const tell = (line: { readonly type: string; readonly [field: string]: unknown }) => {
    const json = JSON.stringify({ ...line, at: new Date().toISOString() });
    waiting.push({ id: String(++count), event: { type: line.type, json } });
    wake();
  };
  const running = run(left.signal, (news) => {
    if (news.type !== "scene.finished") tell(news);
  });
  running
    .then(
      (data) => {
        const { run: id, scene, outcome, failed, took_ms } = data;
        tell({ type: "scene.finished", run: id, scene, outcome, failed, took_ms, data });
      },
      (error: unknown) => {
        tell({ type: "error", error: errorBody(toZapdError(error)) });
      },
    )
    .finally(() => {
      isOver = true;
      wake();
    });
  return {
    async next() {
      const { promise, resolve: woken } = Promise.withResolvers<void>();
      const timer = setTimeout(woken, heartbeatMs);
      wake = woken;
      if (waiting.length === 0 && !isOver) await promise;
      clearTimeout(timer);
      if (waiting.length > 0) return waiting.splice(0);
      return isOver ? null : [{ id: String(count), event: null }];
    },
    close: () => left.abort(new ZapdError("internal_error", "The caller hung up")),
  };
}
