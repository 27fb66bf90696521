/** Labels, and commands to all devices with one. */
import { expect, test } from "bun:test";
import { createClient } from "../../src/api/client.ts";
import { createRokuSimulator, type RokuSimulator } from "../../src/simulators/roku.ts";
import { EventStream, type Frame } from "../support/event-stream.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const pressed: string[] = [];
const sets: RokuSimulator[] = ["One", "Two", "Three"].map((name, at) =>
  createRokuSimulator({
    name,
    serial: `X0GROUP0000${at}`,
    ssdp: false,
    launchMs: 0,
    onEvent: ({ type }) => type === "key" && pressed.push(name),
  }),
);

const { daemon, startSimulator } = await daemonForFile({
  // A scan would find the sets of tests that run beside this one.
  config: { discovery: { interfaces: ["none"] }, devices: { request_timeout_ms: 2_000 } },
});
for (const set of sets) {
  await startSimulator(set);
  await daemon.api("POST", "/devices", { host: set.host, port: set.port });
}
for (const name of ["One", "Two"]) await daemon.api("PATCH", `/devices/${name}`, { labels: ["bar", "a=1"] });

const press = (group: string, body: object = { key: "info" }) =>
  daemon.api("POST", `/groups/${group}/remote/key`, body);

test("labels are set, kept and removed; a device without labels has no such field", async () => {
  expect((await daemon.api("GET", "/devices/One")).body.data.labels).toEqual(["a=1", "bar"]);
  expect((await daemon.api("GET", "/devices/Three")).body.data).not.toHaveProperty("labels");
  for (const labels of [["Bar"], ["a b"], [""], ["x".repeat(65)], Array(33).fill("a"), "bar"])
    expect([labels, (await daemon.api("PATCH", "/devices/Three", { labels })).body.error?.code]).toEqual([
      labels,
      "invalid_payload",
    ]);
  expect((await daemon.api("PATCH", "/devices/Three", { labels: ["bar"] })).body.data.labels).toEqual(["bar"]);
  expect((await daemon.api("PATCH", "/devices/Three", { labels: [] })).body.data).not.toHaveProperty("labels");
});

test("removing the last label is an event", async () => {
  const stream = new EventStream({ to: daemon.port, path: "/events?types=device.changed" });
  await stream.until(({ type }) => type === "snapshot");
  for (const labels of [["bar"], []]) await daemon.api("PATCH", "/devices/Three", { labels });
  const bare = ({ type, device }: Frame) => type === "device.changed" && device.labels === undefined;
  expect((await stream.until(bare))["changed"]).toEqual(["labels"]);
  stream.close();
});

test("a key reaches all devices, or those with the label", async () => {
  pressed.length = 0;
  const { status, body } = await press("bar");
  expect([
    status,
    body.data.results.map((one: { device: { name: string }; ok: boolean }) => [one.device.name, one.ok]),
  ]).toEqual([
    200,
    [
      ["One", true],
      ["Two", true],
    ],
  ]);
  expect(body.data.results[0].data).toMatchObject({ action: "key", key: "info", device: { name: "One" } });
  expect(pressed.toSorted()).toEqual(["One", "Two"]);
  await press("label:bar");
  await press("all");
  expect(pressed.toSorted()).toEqual(["One", "One", "One", "Three", "Two", "Two", "Two"]);
  const client = createClient({ url: daemon.url });
  expect((await client.pressKeysOfGroup({ group: "bar", body: { keys: ["info"] } })).results).toHaveLength(2);
});

test("a label that no device has is an error", async () => {
  const { status, body } = await press("cellar");
  expect([status, body.error.code]).toEqual([404, "group_not_found"]);
});

test("where all fail, the error is that of the first, with the result of each", async () => {
  const { status, body } = await press("bar", { key: "stop" });
  expect([status, body.error.code]).toEqual([400, "unsupported_key"]);
  expect(body.error.details.results).toMatchObject([
    { device: { name: "One" }, ok: false, error: { code: "unsupported_key" } },
    { device: { name: "Two" }, ok: false },
  ]);
});

test("a device that hangs does not delay the others", async () => {
  pressed.length = 0;
  const stream = new EventStream({ to: daemon.port, path: "/events?types=action.finished" });
  await stream.until(({ type }) => type === "snapshot");
  await sets[0]?.fault("hang");
  // By the second answer the daemon has noticed that its kept connection to the set has ended.
  for (let answers = 0; answers < 2; answers++) await daemon.api("GET", "/health");
  let isOver = false;
  const asked = press("all").finally(() => {
    isOver = true;
  });
  // There is an event for each as it ends: the others end before the timeout of the one that hangs.
  const took = new Set<string>();
  const tells = ({ type, ok, device_id }: Frame) => type === "action.finished" && ok && !took.has(device_id);
  while (took.size < 2) took.add((await stream.until(tells))["device_id"]);
  stream.close();
  expect([isOver, pressed.toSorted()]).toEqual([false, ["Three", "Two"]]);
  const { status, body } = await asked;
  expect(status).toBe(200);
  expect(body.data.results).toMatchObject([
    { ok: false, error: { code: "device_timeout" } },
    { ok: true },
    { ok: true },
  ]);
  await sets[0]?.fault(null);
});
