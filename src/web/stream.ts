/**
 * One event stream for all tabs: a browser opens at most six connections to a host, so a seventh tab with its own stream
 * would hang. The tab that holds the lock is the leader: it follows the daemon and forwards the events to the other tabs.
 * When it closes or is frozen, the next tab gets the lock and resumes from the last event.
 */
import type { Followed } from "../api/client-types.ts";
import { addressOf, CallError, type Failure, noAnswer, readAnswer, send } from "./calls.ts";
import {
  addHistory,
  applyEvent,
  applySnapshot,
  currentSnapshot,
  lostBecause,
  type PageSnapshot,
  setConnection,
} from "./store.ts";

/** The delay before a broken stream is opened again; doubled with each failure. */
const firstReconnectDelayMs = 250;
const maxReconnectDelayMs = 2_000;
/** The daemon sends a heartbeat every 15 s: a connection that is silent for this long is dead. */
const silenceTimeoutMs = 40_000;

/** How long events are applied in one go before the browser may draw. */
const sliceMs = 8;

/** Lets the browser draw and handle input. Not a timer: browsers throttle timers in hidden tabs. */
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

/** Messages between tabs. A tab with an older version of the page may be open, so these words must not change. */
type TabMessage =
  | { readonly say: "hello" }
  | { readonly say: "picture"; readonly picture: PageSnapshot; readonly lastId: string | null }
  | { readonly say: "event"; readonly event: Followed }
  | { readonly say: "history"; readonly past: readonly Followed[] }
  | { readonly say: "at"; readonly lastId: string }
  | { readonly say: "connection"; readonly now: "live" | "lost"; readonly because?: Failure | undefined };

let lastId: string | null = null;
let isLeading = false;
/** Whether this tab has had the whole since it joined the others: before, a change alone would pass for it. */
let isWhole = false;
let channel: BroadcastChannel | null = null;

/** Starts following the daemon. Call it once. */
export function startStream(): void {
  // Two daemons may be mounted below different paths of one origin; their tabs must not share a channel.
  const name = `zapd ${new URL("v1/events", document.baseURI).pathname}`;
  try {
    if ("locks" in navigator) channel = new BroadcastChannel(name);
  } catch {
    // Firefox refuses the channel to a page whose cookies are blocked.
  }
  if (channel) channel.onmessage = ({ data }: MessageEvent<TabMessage>) => onTabMessage(data);
  let leave = () => {};
  const join = () => {
    leave();
    const left = new AbortController();
    const { signal } = left;
    leave = () => left.abort();
    isWhole = false;
    // A frozen tab forwards nothing, so it leaves the lock to another.
    document.addEventListener("freeze", leave, { once: true, signal });
    if (!channel) return followAlone(signal);
    sendToTabs({ say: "hello" });
    navigator.locks
      .request(name, { signal }, () => follow(signal))
      .catch(() => {
        // It was frozen while it waited.
        if (signal.aborted) return;
        // The browser refuses the lock, as with blocked cookies.
        channel?.close();
        channel = null;
        followAlone(signal);
      });
  };
  /** With a stream of its own, which it has only while it is shown: six would leave no connection for anything else. */
  const followAlone = (signal: AbortSignal) => {
    document.addEventListener("visibilitychange", join, { once: true, signal });
    if (!document.hidden) void follow(signal);
  };
  document.addEventListener("resume", join);
  join();
}

function sendToTabs(message: TabMessage): void {
  channel?.postMessage(message);
}

function onTabMessage(message: TabMessage): void {
  if (isLeading) {
    if (message.say === "hello") sendPicture();
    return;
  }
  if (message.say === "picture" && message.picture.connection !== "connecting") {
    lastId = message.lastId;
    isWhole = true;
    applySnapshot(message.picture);
  }
  if (message.say === "event" && (isWhole || message.event.type === "snapshot")) receiveEvent(message.event);
  if (message.say === "history") addHistory(message.past);
  if (message.say === "at" && isWhole) lastId = message.lastId;
  if (message.say === "connection" && (isWhole || message.now === "lost")) setConnection(message.now, message.because);
}

function sendPicture(): void {
  sendToTabs({ say: "picture", picture: currentSnapshot(), lastId });
  const because = lostBecause.peek();
  if (because !== null) sendToTabs({ say: "connection", now: "lost", because });
}

/** The part of a snapshot that comes next. A tab that opens while one arrives misses its first parts. */
let nextPart = 1;

function receiveEvent(event: Followed): void {
  lastId = event.id;
  if (event.type === "snapshot") {
    const isIncomplete = event.part !== 1 && event.part !== nextPart;
    nextPart = isIncomplete || event.last ? 1 : event.part + 1;
    if (isIncomplete) {
      // Should this tab lead next, it needs the whole.
      lastId = null;
      if (event.last) sendToTabs({ say: "hello" });
      return;
    }
  }
  applyEvent(event);
  if (event.type !== "snapshot" || !event.last) return;
  isWhole = true;
  setConnection("live");
}

/** Makes this tab the one that follows the daemon for all, until it is frozen or closed. Reconnects whenever the stream ends. */
async function follow(frozen: AbortSignal): Promise<void> {
  isLeading = true;
  // A tab that has opened since the one before went was not answered.
  if (lastId !== null) sendPicture();
  let stop = new AbortController();
  const end = new Promise<void>((resolve) => {
    frozen.addEventListener("abort", () => {
      stop.abort();
      resolve();
    });
  });
  let delayMs = firstReconnectDelayMs;
  while (!frozen.aborted) {
    let because = noAnswer;
    try {
      const resumes = lastId !== null;
      stop = new AbortController();
      const query = lastId === null ? {} : { since: lastId };
      const silence = setTimeout(() => stop.abort(), silenceTimeoutMs);
      const body = await openLines(addressOf("events", { query }), stop.signal).finally(() => clearTimeout(silence));
      let sliceStart = performance.now();
      for await (const line of linesOf(body, stop)) {
        delayMs = firstReconnectDelayMs;
        // Many events at once must not block scrolling.
        if (performance.now() - sliceStart > sliceMs) {
          await nextTask();
          sliceStart = performance.now();
        }
        if (line.type === "heartbeat") {
          lastId = line.id;
          sendToTabs({ say: "at", lastId });
        } else {
          receiveEvent(line);
          sendToTabs({ say: "event", event: line });
        }
        // A stream that goes on is up to date at once; one that begins with a snapshot is after its last part.
        if (line.type === "snapshot" ? line.last : resumes) setConnectionForAllTabs("live");
        // The events before it were not followed.
        if (line.type === "snapshot" && line.last) void readHistory(line.id).catch(() => {});
      }
    } catch (error) {
      // Any failure is retried, and shown meanwhile.
      if (error instanceof CallError) because = error.failure;
    }
    if (frozen.aborted) break;
    setConnectionForAllTabs("lost", because);
    await Promise.race([end, new Promise((resolve) => setTimeout(resolve, delayMs))]);
    delayMs = Math.min(maxReconnectDelayMs, 2 * delayMs);
  }
  isLeading = false;
}

function setConnectionForAllTabs(now: "live" | "lost", because?: Failure): void {
  setConnection(now, because);
  sendToTabs({ say: "connection", now, because });
}

type Line = Followed | { readonly type: "heartbeat"; readonly id: string };

/** Opens a stream of JSON Lines. Throws a `CallError` if the response is anything else. */
export async function openLines(address: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const accept = "application/x-ndjson";
  const response = await send(address, { signal, headers: { accept } });
  if (response.headers.get("content-type")?.startsWith(accept) === true && response.body) return response.body;
  await readAnswer(response);
  throw new CallError({ code: "no_answer", message: "The server that answered is not zapd", hint: null, reason: null });
}

/** The lines of a stream, until it ends or is silent for too long. `stop` must belong to this stream alone; it is aborted at the end. */
export async function* linesOf<Message = Line>(
  body: ReadableStream<Uint8Array>,
  stop: AbortController,
): AsyncGenerator<Message> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    for (;;) {
      clearTimeout(timer);
      timer = setTimeout(() => stop.abort(), silenceTimeoutMs);
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) if (part !== "") yield JSON.parse(part) as Message;
    }
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}

/** Reads the events that the daemon still has from before the given one. */
async function readHistory(untilId: string): Promise<void> {
  const end = numberOf(untilId);
  const stop = new AbortController();
  const past: Followed[] = [];
  const body = await openLines(addressOf("events", { query: { since: "oldest", snapshot: "false" } }), stop.signal);
  for await (const line of linesOf(body, stop)) {
    if (line.type !== "heartbeat" && numberOf(line.id) <= end) past.push(line);
    if (line.type === "heartbeat" || numberOf(line.id) >= end) break;
  }
  addHistory(past);
  sendToTabs({ say: "history", past });
}

/** What names the start of the daemon that is followed: another one after a restart. */
export function currentBoot(): string | undefined {
  return lastId?.split(".")[0];
}

/** The number in an event id, which is `<boot>.<number>`. */
function numberOf(id: string): number {
  return Number(id.split(".")[1]);
}
