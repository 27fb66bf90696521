import { dirname, join, resolve } from "node:path";
import type { Hono } from "hono";
import { errorBody, toZapdError, ZapdError } from "../api/errors.ts";
import type { SceneResult } from "../api/scenes.ts";
import { heartbeatMs, type JournalMessage } from "../devices/journal.ts";
import type { Plan } from "../scenes/plan.ts";
import type { Answer, RunOptions, SceneNews, Scenes } from "../scenes/scenes.ts";
import type { AppDependencies } from "./app.ts";
import { askDevice } from "./groups.ts";
import { disconnected, type Env, type Input, route } from "./route.ts";
import { asksForStream, formatFor, type Source, type Streams } from "./streams.ts";

type Run = (signal: AbortSignal, tell: (news: SceneNews) => void) => Promise<SceneResult>;

/** Scenes: those of files, and steps in a request. Their modules are loaded with the first of them. */
export function sceneRoutes(app: Hono<Env>, { devices, config }: AppDependencies, streams: Streams): void {
  const folder = join(dirname(resolve(config.path)), "scenes");
  let loaded: Promise<Scenes> | undefined;
  const load = () => (loaded ??= import("../scenes/scenes.ts").then(({ Scenes }) => new Scenes(folder, devices)));

  type Caller = Pick<Input<never>, "request" | "context">;
  const answer = async (planOf: (scenes: Scenes) => Plan, dryRun: unknown, { request, context }: Caller) => {
    const scenes = await load();
    const plan = planOf(scenes);
    if (dryRun === true) return scenes.checked(plan);
    const send: RunOptions["send"] = async ({ operation, body }, device, signal) =>
      (await askDevice(app, operation, device, { request, context, body, signal })) as Answer;
    const run: Run = (signal, tell) => scenes.run(plan, { send, signal }, tell);
    if (!asksForStream(request)) return run(callerSignal(request), () => {});
    return streams.open(context, formatFor(request), () => sourceOf(run));
  };

  route(app, "listScenes", async () => (await load()).list());

  route(app, "runScene", (input) =>
    answer((scenes) => scenes.ofFile(input.id, input.body.device), input.body.dry_run, input),
  );
  route(app, "runSteps", (input) => answer((scenes) => scenes.ofSteps(input.body), input.body.dry_run, input));
}

/** Aborted once the caller has disconnected. The reason of its own signal is the runtime's: a step would fail by it, as by a fault of zapd. */
function callerSignal({ signal }: Request): AbortSignal {
  const left = new AbortController();
  const leave = () => left.abort(disconnected());
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  return left.signal;
}

/** A run as a stream: its events, and at last the whole answer. A reader that disconnects ends the run. */
function sourceOf(run: Run): Source {
  const closed = new AbortController();
  const waiting: JournalMessage[] = [];
  let count = 0;
  let isEnded = false;
  let wake = () => {};
  const push = (line: { readonly type: string; readonly [field: string]: unknown }) => {
    const json = JSON.stringify({ ...line, at: new Date().toISOString() });
    waiting.push({ id: String(++count), event: { type: line.type, json } });
    wake();
  };
  const running = run(closed.signal, (news) => {
    if (news.type !== "scene.finished") push(news);
  });
  running
    .then(
      (data) => {
        const { run: id, scene, outcome, failed, took_ms } = data;
        push({ type: "scene.finished", run: id, scene, outcome, failed, took_ms, data });
      },
      (error: unknown) => push({ type: "error", error: errorBody(toZapdError(error)) }),
    )
    .finally(() => {
      isEnded = true;
      wake();
    });
  return {
    async next() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, heartbeatMs);
      wake = resolve;
      if (waiting.length === 0 && !isEnded) await promise;
      clearTimeout(timer);
      if (waiting.length > 0) return waiting.splice(0);
      return isEnded ? null : [{ id: String(count), event: null }];
    },
    close: () => closed.abort(new ZapdError("internal_error", "The caller disconnected")),
  };
}
