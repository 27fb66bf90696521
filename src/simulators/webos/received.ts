import type { Payload } from "./wire.ts";

export interface ReceivedRequest {
  readonly port: "secure" | "plain";
  /** `request`, `subscribe`, `unsubscribe`, `hello`, `register`. */
  readonly type: string;
  /** "" when the message had none. */
  readonly uri: string;
  readonly payload: Payload;
  /** `answered`, the error as sent, `ignored` by a silent socket, or `closed` when the set hung up instead. */
  outcome: string;
}

export interface ShownPrompt {
  /** What the client asked for in the outer list of its manifest. */
  readonly permissions: readonly string[];
  /** `gone`: the client left, or the set was switched off. */
  answer: "open" | "accepted" | "denied" | "gone";
}

export interface Launched {
  readonly id: string;
  readonly contentId: string | null;
  readonly params: Payload;
  /** Of `system.launcher/open`. */
  readonly target: string | null;
}

/** What came in, the oldest first: the last ten thousand of each. */
export interface Received {
  readonly requests: ReceivedRequest[];
  readonly prompts: ShownPrompt[];
  readonly buttons: string[];
  readonly pointer: { action: "click" | "move" | "scroll"; dx: number; dy: number }[];
  readonly texts: string[];
  readonly launches: Launched[];
  readonly toasts: string[];
}

const KEPT = 10_000;

export function createReceived(): Received {
  return { requests: [], prompts: [], buttons: [], pointer: [], texts: [], launches: [], toasts: [] };
}

export function keep<T>(list: T[], one: T): T {
  list.push(one);
  if (list.length > KEPT) list.shift();
  return one;
}
