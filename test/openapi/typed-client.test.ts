/** The typed client against a daemon: over TCP and over the control socket, with the text of answers, errors and uploads. */
import { expect, test } from "bun:test";
import { ApiError, type Arguments, createCall, createClient, NotZapdError } from "../../src/api/client.ts";
import { daemonForFile } from "../blackbox/daemon-for-file.ts";

const { daemon } = await daemonForFile();

const failureOf = (call: Promise<unknown>): Promise<unknown> => call.then(() => null).catch((error: unknown) => error);

test("a call returns the data and the unchanged text", async () => {
  const call = createCall({ url: `${daemon.url}/` });
  const { data, text } = await call("listDevices");
  expect([data, text]).toEqual([[], '{"ok":true,"data":[]}']);
  // @ts-expect-error an answer without an end is read by createStream
  ({ id: "Den", query: { follow: "true" } }) satisfies Arguments<"readLogs">;
});

test("it works over the control socket by a given fetch", async () => {
  const { socket: unix } = await createClient({ url: daemon.url }).status();
  const init = { unix } as RequestInit;
  const zapd = createClient({ url: "http://zapd/v1", fetch: (request) => fetch(request, init) });
  expect(await zapd.health()).toMatchObject({ status: "ok" });
});

test("a failure has the code, the message, the hint and the text", async () => {
  const zapd = createClient({ url: daemon.url });
  const failure = await failureOf(zapd.getState({ id: "Kitchen" }));
  expect(failure).toBeInstanceOf(ApiError);
  expect(failure).toMatchObject({ code: "device_not_found", message: 'No device is called "Kitchen"', status: 404 });
  const { code, message, hint, text } = failure as ApiError;
  expect(JSON.parse(text)).toEqual({ ok: false, error: { code, message, hint } });
  // A path of dots would be another path.
  for (const id of [".", "..", " .. "])
    expect(await failureOf(zapd.getState({ id }))).toMatchObject({
      code: "device_not_found",
      text: expect.stringContaining(`"message":"No device is called \\"${id.trim()}\\""`),
    });
  // Half a character has no place in a path.
  expect(await failureOf(zapd.getState({ id: "Den\ud83d" }))).toMatchObject({ code: "device_not_found" });
});

test("an answer that is not zapd's is a NotZapdError", async () => {
  const failures = ['{"error":"Not Found"}', '{"error":true}', '{"ok":false,"error":{}}'];
  for (const body of ["<html>", "null", '"text"', "{}", "[]", '{"ok":false}', '{"data":{}}', ...failures])
    expect(await failureOf(createClient({ fetch: () => new Response(body) }).health())).toBeInstanceOf(NotZapdError);
});

test("a picture that may be missing is an empty Blob", async () => {
  const zapd = createClient({ fetch: () => new Response(null, { status: 204 }) });
  expect((await zapd.getArtwork({ id: "Den", query: { missing: "empty" } })).size).toBe(0);
});

test("a signal ends the wait", async () => {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Promise<Response>(() => {}) });
  const giveUp = new AbortController();
  const failure = failureOf(
    createClient({ url: `http://127.0.0.1:${server.port}/v1` }).health({ signal: giveUp.signal }),
  );
  giveUp.abort();
  expect(await failure).toMatchObject({ name: "AbortError" });
  await server.stop(true);
});

test("an upload is one form with progress, from a Blob or from anything that streams", async () => {
  const bytes = crypto.getRandomValues(new Uint8Array(300_000));
  const received: { size: number; same: boolean; length: string | null }[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const length = request.headers.get("content-length");
      const file = (await request.formData()).get("archive") as File;
      const same = Buffer.from(await file.arrayBuffer()).equals(Buffer.from(bytes));
      received.push({ size: file.size, same, length });
      return Response.json({ ok: true, data: {} });
    },
  });
  const zapd = createClient({ url: `http://127.0.0.1:${server.port}/v1` });
  const told: number[] = [];
  const progress = (sent: number) => void told.push(sent);
  const blob = new Blob([bytes]);
  await zapd.installPackage({ id: "Workbench", archive: blob });
  await zapd.installPackage({ id: "Workbench", archive: blob, progress });
  await zapd.installPackage({ id: "Workbench", archive: { size: blob.size, stream: () => blob.stream() }, progress });
  expect(received.map(({ size, same }) => [size, same])).toEqual(Array(3).fill([300_000, true]));
  expect(received.every(({ length }) => Number(length) > 300_000)).toBe(true);
  expect(told.filter((sent) => sent === 300_000)).toHaveLength(2);
  await server.stop(true);
});
