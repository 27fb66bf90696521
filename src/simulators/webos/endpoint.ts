import type { Topic } from "./feeds.ts";
import type { Model } from "./model.ts";
import type { Payload } from "./wire.ts";

/** The connection that a request came by. */
export interface Caller {
  /** A url on the same port; `wss` or `https` on the secure one. */
  url(scheme: "ws" | "http", path: string): string;
  /** Closes the connection without an answer. */
  hangUp(): void;
  subscribed(topic: Topic): boolean;
}

interface Common {
  /** Null: everybody who is registered may. */
  readonly permission: string | null;
  /** Default: on every firmware. */
  exists?(model: Model): boolean;
}

/** Something done. `null` is no answer at all. */
export interface Action extends Common {
  answer(model: Model, payload: Payload, caller: Caller): Payload | null;
}

/** Something told, once to a request and again at each change to a subscription. */
export interface Reading extends Common {
  readonly topic: Topic;
  readonly subscribeOnly?: boolean;
  read(model: Model, caller: Caller): Payload;
  /** What is told of a change, where that is not what a request is told. */
  push?(model: Model, detail: Payload, caller: Caller): Payload;
}

export type Endpoint = Action | Reading;

/** By uri, without `ssap://`. */
export type Endpoints = Readonly<Record<string, Endpoint>>;

export const DONE: Payload = {};
