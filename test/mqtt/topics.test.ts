/** The topics of a site, and which of them an answer may go to. */
import { expect, test } from "bun:test";
import { isReplyTopic, matches, partsOf, topicsOf } from "../../src/mqtt/topics.ts";

const topics = topicsOf("zapd", "lab");

test("filters match as in MQTT", () => {
  const meant = (filter: string, topic: string) => matches(filter, topic);
  expect(meant("a/+/c", "a/b/c")).toBe(true);
  expect(meant("a/+/c", "a/b/d")).toBe(false);
  expect(meant("a/+", "a/b/c")).toBe(false);
  expect(meant("a/#", "a/b/c")).toBe(true);
  expect(meant("a/#", "a")).toBe(true);
  expect(meant("a", "a/b")).toBe(false);
  expect(partsOf(topics, topics.set("x", "power"))).toEqual(["x", "set", "power"]);
  expect(partsOf(topics, topics.status)).toBeNull();
});

test("an answer may not be sent to commands, to retained documents, or to wildcards", () => {
  for (const topic of ["me/answers", topics.reply("zapd-cli-1"), "zapdx/1/lab/rpc"])
    expect([topic, isReplyTopic(topics, topic)]).toEqual([topic, true]);
  const others = [topics.rpc, topics.status, topics.set("x", "text"), topics.state("x"), "zapd/1/other/reply/me"];
  for (const topic of [...others, "", "$SYS/x", "a/+", "a/#", "a\nb", "x".repeat(513)])
    expect([topic, isReplyTopic(topics, topic)]).toEqual([topic, false]);
});
