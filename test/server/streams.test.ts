/** Streams that end in another way than by their reader: each closes its source and frees its place. */
import { expect, test } from "bun:test";
import { Hono } from "hono";
import type { Env } from "../../src/server/route.ts";
import { formatFor, Streams } from "../../src/server/streams.ts";

const env = { listener: "tcp", withoutIdleLimit() {} } as const;

/** An app with one route, a stream with that source; and how often the source was closed. */
function appWith(next: () => Promise<null>) {
  const streams = new Streams();
  let closed = 0;
  const app = new Hono<Env>();
  app.get("/", (c) => streams.open(c, formatFor(c.req.raw), () => ({ next, close: () => void closed++ })));
  return { ask: (init: RequestInit) => app.request("/", init, env), closed: () => closed };
}

test("where the source fails; more of them than there are places", async () => {
  const { ask, closed } = appWith(() => Promise.reject(new Error("broken")));
  for (let count = 1; count <= 65; count++) {
    const answer = await ask({ headers: { accept: "application/x-ndjson" } });
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow("broken");
    expect(closed()).toBe(count);
  }
});

test("where the caller has gone before the stream begins", async () => {
  const { ask, closed } = appWith(() => Promise.resolve(null));
  expect((await ask({ signal: AbortSignal.abort() })).status).toBe(200);
  expect(closed()).toBe(1);
});
