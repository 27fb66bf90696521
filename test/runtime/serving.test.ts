import { expect, test } from "bun:test";
import type { Call } from "../../src/runtime/runtime.ts";
import { createServing } from "../../src/runtime/serving.ts";

const call: Call = { listener: "tcp", withoutIdleLimit() {} };

test("who asks while the state is opened is answered when it is; many requests make it busy, and that is told once", async () => {
  let told = 0;
  const { handler, open } = createServing(() => told++);
  const ask = async () => (await handler(new Request("http://zapd/"), call)).status;
  const early = ask();
  open(() => new Response(null, { status: 204 }));
  expect(await early).toBe(204);
  for (let asked = 1; asked < 63; asked++) await ask();
  expect(told).toBe(0);
  await ask();
  expect(told).toBe(1);
  for (let more = 0; more < 200; more++) await ask();
  expect(told).toBe(1);
});

test("who asked a daemon that does not start after all is told so, and so is who asks behind it", async () => {
  const { handler, refuse, drained } = createServing(() => {});
  const early = handler(new Request("http://zapd/"), call);
  refuse();
  const answer = await early;
  expect([answer.status, await answer.json()]).toEqual([
    500,
    { ok: false, error: { code: "internal_error", message: "The daemon could not start; its log says why" } },
  ]);
  expect((await handler(new Request("http://zapd/"), call)).status).toBe(500);
  expect(await drained(60_000)).toBe(true);
});

test("it is drained when the last request has its answer, or when the grace is over", async () => {
  const { handler, open, drained } = createServing(() => {});
  const slow = Promise.withResolvers<Response>();
  open(() => slow.promise);
  const asked = handler(new Request("http://zapd/"), call);
  // Its grace is over, and the request goes on.
  await drained(20);
  let over = false;
  const waiting = drained(60_000).then(() => {
    over = true;
  });
  await Bun.sleep(20);
  expect(over).toBe(false);
  slow.resolve(new Response());
  await asked;
  await waiting;
  await drained(0);
});
