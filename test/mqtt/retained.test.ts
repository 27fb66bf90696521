/** What a broker refuses to keep is a problem for as long as it does. */
import { expect, test } from "bun:test";
import { BusError } from "../../src/mqtt/bus.ts";
import { RetainedDocuments } from "../../src/mqtt/retained.ts";
import { until } from "../support/http-device.ts";
import { MemoryBroker } from "./memory-bus.ts";

test("a document that is refused is a problem until the broker takes it, and while it is sent again", async () => {
  let answer = Promise.withResolvers<void>();
  const bus = Object.assign(new MemoryBroker().client(), { publish: () => answer.promise });
  const documents = new RetainedDocuments();
  await documents.attach(bus, [], () => true, new AbortController().signal);
  documents.set("lab/den", { name: "Den" });
  expect(documents.refused).toBeUndefined();
  answer.reject(new BusError("forbidden", "may not"));
  await until("it is refused", () => documents.refused?.message === "may not");
  answer = Promise.withResolvers();
  documents.set("lab/den", { name: "Attic" });
  expect(documents.refused?.message).toBe("may not");
  answer.resolve();
  await until("it is taken", () => documents.refused === undefined);
});
