/**
 * One stream of events for all tabs: a browser opens six connections to a host at most, and a seventh tab with a stream of
 * its own would freeze. The tab that holds the lock leads: it follows the daemon and hands on what it is told. When it goes,
 * the next one gets the lock and goes on from the last event that it has.
 */
import type { Followed } from "../api/client-types.ts";
import { addressOf, CallError, readAnswer, send } from "./calls.ts";
import { type Picture, pictureNow, setConnection, take, takeHistory, takePicture } from "./store.ts";

/** Milliseconds until a broken stream is opened again, doubled each time that it fails. */
const firstPauseMs = 250;
const longestPauseMs = 2_000;
/** The daemon says something every 15 s: after this the connection is taken to be dead. */
const deadAfterMs = 40_000;

/** What is told is taken in for so long at a time. */
const sliceMs = 8;

/** Lets the browser draw, and answer to a hand, before it goes on. No timer: in a tab that nobody sees they are slow. */
function nextTask(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** What tabs tell each other. An older page may be open beside this one: these words stay as they are. */
type TabMessage =
  | { readonly say: "hello" }
  | { readonly say: "picture"; readonly picture: Picture; readonly lastId: string | null }
  | { readonly say: "event"; readonly event: Followed }
  | { readonly say: "history"; readonly past: readonly Followed[] }
  | { readonly say: "at"; readonly lastId: string }
  | { readonly say: "connection"; readonly now: "live" | "lost" };

let lastId: string | null = null;
let isLeading = false;
let channel: BroadcastChannel | null = null;

/** Follows the daemon for all tabs, from now on. */
function lead(): void {
  isLeading = true;
  void follow();
}

/** Begins to follow. Called once. */
export function startStream(): void {
  // Pages of two daemons of one origin, mounted below different paths, are no tabs of one another.
  const name = `zapd ${new URL("v1/events", document.baseURI).pathname}`;
  if (!("locks" in navigator)) return lead();
  channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => receive(data);
  post({ say: "hello" });
  void navigator.locks.request(name, () => {
    lead();
    // Held until the tab goes.
    return new Promise<never>(() => {});
  });
}

function post(message: TabMessage): void {
  channel?.postMessage(message);
}

function receive(message: TabMessage): void {
  if (isLeading) {
    if (message.say === "hello") post({ say: "picture", picture: pictureNow(), lastId });
    return;
  }
  if (message.say === "picture") {
    lastId = message.lastId;
    if (message.picture.connection !== "connecting") takePicture(message.picture);
  }
  if (message.say === "event") takeEvent(message.event);
  if (message.say === "history") takeHistory(message.past);
  if (message.say === "at") lastId = message.lastId;
  if (message.say === "connection") setConnection(message.now);
}

function takeEvent(event: Followed): void {
  lastId = event.id;
  take(event);
  if (event.type === "snapshot" && event.last) setConnection("live");
}

/** Follows the daemon for as long as this tab is there, through its stops and starts. */
async function follow(): Promise<never> {
  let pause = firstPauseMs;
  let wantsHistory = true;
  for (;;) {
    try {
      const resumes = lastId !== null;
      const stop = new AbortController();
      const query = lastId === null ? {} : { since: lastId };
      const body = await openLines(addressOf("events", { query }), stop.signal);
      let since = performance.now();
      for await (const told of linesOf(body, stop)) {
        pause = firstPauseMs;
        // A house that tells everything at once must not hold up what is scrolled.
        if (performance.now() - since > sliceMs) {
          await nextTask();
          since = performance.now();
        }
        if (told.type === "heartbeat") {
          lastId = told.id;
          post({ say: "at", lastId });
        } else {
          takeEvent(told);
          post({ say: "event", event: told });
        }
        // Whoever comes back after its last event is live at once; else a snapshot makes it so.
        if (resumes || (told.type === "snapshot" && told.last)) becomes("live");
        if (wantsHistory && told.type === "snapshot" && told.last) {
          wantsHistory = false;
          void readHistory(told.id).catch(() => {});
        }
      }
    } catch {
      // Whatever it was, it is tried again: the page says that nobody answers.
    }
    becomes("lost");
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(longestPauseMs, 2 * pause);
  }
}

function becomes(now: "live" | "lost"): void {
  setConnection(now);
  post({ say: "connection", now });
}

type Line = Followed | { readonly type: "heartbeat"; readonly id: string };

/** Opens a stream of JSON Lines. Fails with what the daemon said, where it is none. */
export async function openLines(address: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const accept = "application/x-ndjson";
  const response = await send(address, { signal, headers: { accept } });
  if (response.headers.get("content-type")?.startsWith(accept) === true && response.body) return response.body;
  await readAnswer(response);
  throw new CallError({ code: "no_answer", message: "What answers is not zapd", hint: null, reason: null });
}

/** The lines of a stream, until it ends or falls silent; `stop` is of this stream alone, and ends it. */
export async function* linesOf<Told = Line>(
  body: ReadableStream<Uint8Array>,
  stop: AbortController,
): AsyncGenerator<Told> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    for (;;) {
      clearTimeout(timer);
      timer = setTimeout(() => stop.abort(), deadAfterMs);
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) if (part !== "") yield JSON.parse(part) as Told;
    }
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}

/** What happened before, up to an event: all that the daemon still has. */
async function readHistory(upTo: string): Promise<void> {
  const end = placeOf(upTo);
  const stop = new AbortController();
  const past: Followed[] = [];
  const body = await openLines(addressOf("events", { query: { since: "oldest", snapshot: "false" } }), stop.signal);
  for await (const told of linesOf(body, stop)) {
    if (told.type !== "heartbeat" && placeOf(told.id) <= end) past.push(told);
    if (told.type === "heartbeat" || placeOf(told.id) >= end) break;
  }
  takeHistory(past);
  post({ say: "history", past });
}

/** Where an event stands among all since the daemon's start: ids are `<boot>.<number>`. */
function placeOf(id: string): number {
  return Number(id.split(".")[1]);
}
