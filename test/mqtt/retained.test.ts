/** What a broker refuses to keep is a problem for as long as it does. */
import { expect, test } from "bun:test";
import { BusError } from "../../src/mqtt/bus.ts";
import { RetainedDocuments } from "../../src/mqtt/retained.ts";
import { until } from "../support/http-device.ts";
import { passTime } from "../support/test-clock.ts";
import { MemoryBroker } from "./memory-bus.ts";

test("a document that is refused is a problem until the broker takes it, and while it is sent again", async () => {
  let answer = Promise.withResolvers<void>();
  const bus = Object.assign(new MemoryBroker().client(), { publish: () => answer.promise });
  const documents = new RetainedDocuments(() => false);
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

test("optional documents for which the broker closes the connection twice in a row are left out, and the others are not", async () => {
  const sent: string[] = [];
  const documents = new RetainedDocuments((topic) => topic === "more/den");
  documents.set("more/den", {});
  documents.set("lab/den", {});
  /** Whether documents are left out after a connection, which a broker may close. */
  const connect = async (closes: boolean) => {
    const bus = Object.assign(new MemoryBroker().client(), {
      subscribe: () => Promise.reject(new BusError("forbidden", "may not")),
      async publish(topic: string) {
        sent.push(topic);
        if (closes && topic === "more/den") throw new BusError("closed", "it closed the connection");
      },
    });
    await documents.attach(bus, [], () => true, new AbortController().signal);
    documents.detach();
    return documents.refused !== undefined;
  };
  const leftOut: boolean[] = [];
  for (const closes of [true, false, true, true, true]) leftOut.push(await connect(closes));
  expect(leftOut).toEqual([false, false, false, true, true]);
  expect(sent.join(" ")).toBe(`${"more/den lab/den ".repeat(4)}lab/den`);
});

test("over a new connection only what differs is sent, and all where the broker has lost something", async () => {
  const broker = new MemoryBroker();
  for (const [topic, text] of [
    ["lab/same", '{"name":"Same","seq":1}'],
    ["lab/other", '{"name":"Before"}'],
    ["lab/gone", '{"name":"Gone"}'],
    ["lab/none", "null"],
  ] as const)
    broker.kept.set(topic, Buffer.from(text));
  const documents = new RetainedDocuments(() => false);
  documents.set("lab/same", { name: "Same", seq: 2 });
  documents.set("lab/other", { name: "Other" });
  // It is not read.
  documents.set("more/shown", {});
  /** What is sent over a new connection. */
  const sentOver = async () => {
    const sent: string[] = [];
    const bus = broker.client();
    const { publish } = bus;
    const spied = Object.assign(bus, {
      publish(topic: string, ...rest: [string]) {
        sent.push(topic);
        return publish.call(bus, topic, ...rest);
      },
    });
    const isKnown = (topic: string) => topic === "lab/same" || topic === "lab/other";
    await documents.attach(spied, ["lab/+"], isKnown, new AbortController().signal);
    documents.detach();
    return sent.toSorted();
  };
  expect(await sentOver()).toEqual(["lab/gone", "lab/none", "lab/other", "more/shown"]);
  expect([...broker.kept.keys()].toSorted()).toEqual(["lab/other", "lab/same", "more/shown"]);
  expect(await sentOver()).toEqual([]);
  broker.kept.delete("lab/other");
  expect(await sentOver()).toEqual(["lab/other", "more/shown"]);
});

test("a document that changes while it is sent is sent once more, and one that is removed unread is cleared", async () => {
  const sent: string[] = [];
  let answer = Promise.withResolvers<void>();
  const bus = Object.assign(new MemoryBroker().client(), {
    subscribe: () => Promise.reject(new BusError("forbidden", "may not")),
    publish(_topic: string, text: string) {
      sent.push(text);
      return answer.promise;
    },
  });
  const documents = new RetainedDocuments(() => false);
  documents.set("lab/removed", null);
  void documents.attach(bus, [], () => true, new AbortController().signal);
  await until("it is cleared", () => sent.length === 1);
  for (const n of [1, 2, 3]) documents.set("lab/removed", { n });
  answer.resolve();
  answer = Promise.withResolvers();
  await until("the last is sent", () => sent.length === 2);
  answer.resolve();
  await Bun.sleep(1);
  expect(sent).toEqual(["", '{"n":3}']);
});

test("a topic that was not read is cleared", async () => {
  const broker = new MemoryBroker();
  broker.kept.set("more/gone", Buffer.from("{}"));
  const documents = new RetainedDocuments(() => false);
  documents.clearUnread("more/gone");
  await documents.attach(broker.client(), [], () => true, new AbortController().signal);
  expect(broker.kept.size).toBe(0);
});

test("what arrives after this process has read nothing for a while is not missed", async () => {
  const broker = new MemoryBroker();
  broker.kept.set("lab/gone", Buffer.from("{}"));
  const bus = broker.client();
  const { subscribe } = bus;
  const late = Object.assign(bus, {
    subscribe: (...[filters, listener]: Parameters<typeof subscribe>) => {
      setTimeout(passTime, 10, 400);
      return subscribe.call(bus, filters, (message) => void setTimeout(listener, 100, message));
    },
  });
  const documents = new RetainedDocuments(() => false);
  await documents.attach(late, ["lab/+"], () => false, new AbortController().signal);
  documents.detach();
  expect([...broker.kept.keys()]).toEqual([]);
});

test("a connection that ends while the documents are read counts for nothing", async () => {
  const documents = new RetainedDocuments((topic) => topic === "more/den");
  documents.set("more/den", {});
  for (let times = 0; times < 2; times++) {
    const bus = new MemoryBroker().client();
    const cut = Object.assign(bus, { publish: () => Promise.reject(new BusError("closed", "is gone")) });
    const attached = documents.attach(cut, ["lab/+"], () => true, new AbortController().signal);
    setTimeout(() => bus.cut(), 10);
    await expect(attached).rejects.toMatchObject({ reason: "closed" });
    documents.detach();
  }
  expect(documents.refused).toBeUndefined();
  const broker = new MemoryBroker();
  await documents.attach(broker.client(), ["lab/+"], () => true, new AbortController().signal);
  expect([...broker.kept.keys()]).toEqual(["more/den"]);
});
