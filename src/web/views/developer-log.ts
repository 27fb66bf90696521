/** Follows the console of a set, keeps the last lines, and resumes after a break. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { addressOf, type Failure, failureOf } from "../calls.ts";
import { connection, type Entry } from "../store.ts";
import { linesOf, openLines } from "../stream.ts";
import { useVisible } from "../ui/visible.ts";

export interface LogLine {
  /** The number of the line, counted from the first one that was shown. */
  readonly at: number;
  readonly text: string;
}

export interface Log {
  /** The kept lines, the oldest first. */
  readonly lines: Signal<readonly LogLine[]>;
  /** How many lines are missing before the kept ones. */
  readonly dropped: Signal<number>;
  readonly isLive: Signal<boolean>;
  /** Why the console cannot be read; retried by `retry`, when the set is online again, and by itself where that may pass. */
  readonly failure: Signal<Failure | null>;
  retry(): void;
}

/** Bounds the memory for a set that writes all day. */
export const maxLines = 2_000;
const maxCharacters = 4_000;
/** The delay before a console stream that ended is opened again: it ends whenever the set briefly does not answer. */
const reopenDelayMs = 1_000;
/** After a restart of the set its console opens later than the rest, and is still taken by the connection that is dead. */
const retryDelayMs = 3_000;
const passingFailures: ReadonlySet<Failure["code"]> = new Set([
  "device_refused",
  "console_in_use",
  "device_unreachable",
  "device_timeout",
  "too_many_streams",
]);

type LogMessage =
  | { readonly type?: undefined; readonly id: string; readonly lines: readonly string[]; readonly dropped?: number }
  | { readonly type: "heartbeat"; readonly id: string };

/** Follows the console while this tab is visible: each stream uses one of the six connections that a browser has for all tabs. */
export function useLog(entry: Entry): Log {
  const lines = useSignal<readonly LogLine[]>([]);
  const dropped = useSignal(0);
  const isLive = useSignal(false);
  const failure = useSignal<Failure | null>(null);
  const isVisible = useVisible();
  const tries = useSignal(0);
  const cursor = useRef<string | undefined>(undefined);
  const isLiveDaemon = connection.value === "live";
  const { status } = entry.device.value;
  useEffect(() => {
    if (!isLiveDaemon || !isVisible || status === "offline") return;
    let isLeft = false;
    let stop = new AbortController();
    const append = (message: LogMessage) => {
      // A restarted daemon numbers its lines anew and sends all that it has.
      const isFirst = epochOf(cursor.current) !== epochOf(message.id);
      cursor.current = message.id;
      if (message.type === "heartbeat") return;
      const before = isFirst ? [] : lines.peek();
      const next = (lines.peek().at(-1)?.at ?? 0) + 1;
      const added = message.lines.map((text, at) => ({ at: next + at, text: cut(text) }));
      const all = [...before, ...added];
      dropped.value = (isFirst ? 0 : dropped.peek()) + (message.dropped ?? 0) + Math.max(0, all.length - maxLines);
      lines.value = all.slice(-maxLines);
    };
    const follow = async () => {
      while (!isLeft) {
        stop = new AbortController();
        const query = { follow: "true", cursor: cursor.current };
        const body = await openLines(addressOf("readLogs", { id: entry.id, query }), stop.signal);
        isLive.value = true;
        failure.value = null;
        try {
          for await (const message of linesOf<LogMessage>(body, stop)) append(message);
        } catch {
          // The stream broke or was silent for too long; the loop opens it again.
        }
        isLive.value = false;
        await new Promise((resolve) => setTimeout(resolve, reopenDelayMs));
      }
    };
    let retrying: ReturnType<typeof setTimeout> | undefined;
    const start = () =>
      void follow().catch((error: unknown) => {
        if (isLeft || connection.peek() !== "live") return;
        failure.value = failureOf(error);
        if (failure.value && passingFailures.has(failure.value.code)) retrying = setTimeout(start, retryDelayMs);
      });
    start();
    return () => {
      isLeft = true;
      clearTimeout(retrying);
      stop.abort();
    };
  }, [entry.id, isLiveDaemon, isVisible, status === "offline", tries.value]);
  return {
    lines,
    dropped,
    isLive,
    failure,
    retry() {
      tries.value++;
    },
  };
}

/** A cursor is `<epoch>.<number>`. */
const epochOf = (cursor: string | undefined) => cursor?.split(".")[0];

function cut(text: string): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)} …` : text;
}
