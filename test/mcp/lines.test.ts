/** One message per line: invalid ones, ones in pieces, and requests before the end of the input. */
import { expect, test } from "bun:test";
import { PassThrough } from "node:stream";
import { LineTransport } from "../../src/mcp/lines.ts";
import { until } from "../support/http-device.ts";

async function opened(listening = async () => {}) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const transport = new LineTransport(input, output, listening);
  const received: unknown[] = [];
  transport.onmessage = (message) => received.push((message as { id?: unknown }).id);
  await transport.start();
  const written = output[Symbol.asyncIterator]();
  const answer = async () => JSON.parse(String((await written.next()).value));
  return { input, transport, received, answer };
}

const ping = (id: number) => `${JSON.stringify({ jsonrpc: "2.0", id, method: "ping" })}\n`;

test("an invalid line is answered with an error, and the next one is read", async () => {
  const { input, received, answer, transport } = await opened();
  for (const [line, id, code] of [
    ["hello", null, -32_700],
    ["\xff\xfe", null, -32_700],
    ["[]", null, -32_600],
    [`[${ping(1)}]`.replace("\n", ""), null, -32_600],
    ['{"jsonrpc":"1.0","id":7,"method":"ping"}', 7, -32_600],
    ["5", null, -32_600],
  ] as const) {
    input.write(`${line}\r\n`);
    const { error, ...rest } = await answer();
    expect([line, rest, error.code]).toEqual([line, { jsonrpc: "2.0", id }, code]);
  }
  const mebibyte = "x".repeat(1024 * 1024);
  for (let times = 0; times < 11; times++) input.write(mebibyte);
  input.write("\n\n \n");
  expect((await answer()).error.message).toContain("10 MiB");
  const [head, tail] = [ping(8).slice(0, 9), ping(8).slice(9)];
  input.write(head);
  input.write(`${tail}${ping(9)}`);
  await until("both are received", () => received.length === 2);
  expect(received).toEqual([8, 9]);
  // The blank lines before got no answer.
  input.write("5\n");
  expect((await answer()).error.code).toBe(-32_600);
  await transport.close();
});

test("a subscription that is cancelled before the events begin is not passed on", async () => {
  const events = Promise.withResolvers<void>();
  const { input, received, transport } = await opened(() => events.promise);
  const listen = (id: number) => `${JSON.stringify({ jsonrpc: "2.0", id, method: "subscriptions/listen" })}\n`;
  const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
  input.write(`${listen(1)}${listen(2)}${JSON.stringify(cancel)}\n`);
  await until("it is cancelled", () => received.length === 1);
  events.resolve();
  await until("the other is passed on", () => received.includes(2));
  expect(received).toEqual([undefined, 2]);
  await transport.close();
});

test("requests are answered after the end of the input", async () => {
  const { input, received, answer, transport } = await opened();
  input.end(
    `${ping(1)}${ping(2)}${ping(3)}{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`,
  );
  await until("all are received", () => received.length === 4);
  const order: string[] = [];
  const began = performance.now();
  void transport.closed.then(() => order.push("closed"));
  for (const id of [3, 1]) {
    // A question of the server's own, whose id is no answer to that of the client.
    await transport.send({ jsonrpc: "2.0", id, method: "elicitation/create" });
    await answer();
    await Bun.sleep(10);
    await transport.send({ jsonrpc: "2.0", id, result: {} });
    order.push(`answered ${(await answer()).id}`);
  }
  await transport.closed;
  expect(order).toEqual(["answered 3", "answered 1", "closed"]);
  // With the last answer, not when the time for answers is over.
  expect(performance.now() - began).toBeLessThan(2_500);
});

test("without requests it ends with the input, and with its reader", async () => {
  const began = performance.now();
  const left = await opened();
  left.input.end();
  await left.transport.closed;
  const cut = await opened();
  cut.input.destroy();
  await cut.transport.closed;
  expect(performance.now() - began).toBeLessThan(2_500);
});
