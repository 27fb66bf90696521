import type { Payload } from "./wire.ts";

/** What a client may subscribe to; several uris may tell of the same thing. */
export type Topic = "power" | "volume" | "app" | "media" | "apps" | "inputs" | "channel" | "keyboard";

/** Called at the moment of a change, with what is said of the change itself: `cause`, `changed`. */
export type Subscriber = (detail: Payload) => void;

export interface Feeds {
  /** Returns what ends the subscription. */
  add(topic: Topic, subscriber: Subscriber): () => void;
  changed(topic: Topic, detail?: Payload): void;
}

export function createFeeds(): Feeds {
  const subscribers = new Map<Topic, Set<Subscriber>>();
  return {
    add(topic, subscriber) {
      const those = subscribers.get(topic) ?? new Set();
      subscribers.set(topic, those.add(subscriber));
      return () => void those.delete(subscriber);
    },
    changed(topic, detail = {}) {
      for (const subscriber of subscribers.get(topic) ?? []) subscriber(detail);
    },
  };
}
