/** The console of a set as it grows, kept to so many lines; it goes on where it was when it was broken off. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { addressOf, type Failure, failureOf } from "../calls.ts";
import { connection, type Entry } from "../store.ts";
import { linesOf, openLines } from "../stream.ts";

export interface LogLine {
  /** Counts up from the first line that was shown. */
  readonly at: number;
  readonly text: string;
}

export interface Log {
  /** The last lines, the oldest first. */
  readonly lines: Signal<readonly LogLine[]>;
  /** Lines that this page never had or has no more. */
  readonly dropped: Signal<number>;
  readonly isLive: Signal<boolean>;
  /** Why there is none; it is tried again when it is asked for, and when the set is there again. */
  readonly failure: Signal<Failure | null>;
  again(): void;
}

/** What is kept, so that a set that writes all day fills no memory. */
export const mostLines = 2_000;
const mostCharacters = 4_000;
/** Until a console that ended is asked for again: it ends when its set does not answer for a moment. */
const pauseMs = 1_000;

type Told =
  | { readonly type?: undefined; readonly id: string; readonly lines: readonly string[]; readonly dropped?: number }
  | { readonly type: "heartbeat"; readonly id: string };

/** Follows the console while this tab is seen: each stream is one of the six connections that a browser has for all its tabs. */
export function useLog(entry: Entry): Log {
  const lines = useSignal<readonly LogLine[]>([]);
  const dropped = useSignal(0);
  const isLive = useSignal(false);
  const failure = useSignal<Failure | null>(null);
  const isSeen = useSignal(!document.hidden);
  const tries = useSignal(0);
  const cursor = useRef<string | undefined>(undefined);
  useEffect(() => {
    const look = () => {
      isSeen.value = !document.hidden;
    };
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  const isThere = connection.value === "live";
  const { status } = entry.device.value;
  useEffect(() => {
    // Another run of the daemon numbers its lines anew, and tells all that it has.
    if (!isThere) cursor.current = undefined;
  }, [isThere]);
  useEffect(() => {
    if (!isThere || !isSeen.value || status === "offline") return;
    const stop = new AbortController();
    const take = (told: Told) => {
      const isFirst = cursor.current === undefined;
      cursor.current = told.id;
      if (told.type === "heartbeat") return;
      const before = isFirst ? [] : lines.peek();
      const next = (lines.peek().at(-1)?.at ?? 0) + 1;
      const come = told.lines.map((text, at) => ({ at: next + at, text: cut(text) }));
      const all = [...before, ...come];
      dropped.value = (isFirst ? 0 : dropped.peek()) + (told.dropped ?? 0) + Math.max(0, all.length - mostLines);
      lines.value = all.slice(-mostLines);
    };
    const follow = async () => {
      while (!stop.signal.aborted) {
        const own = new AbortController();
        const signal = AbortSignal.any([own.signal, stop.signal]);
        const query = { follow: "true", cursor: cursor.current };
        const body = await openLines(addressOf("readLogs", { id: entry.id, query }), signal);
        isLive.value = true;
        failure.value = null;
        try {
          for await (const told of linesOf<Told>(body, own)) take(told);
        } catch {
          // Broken off, or silent for too long: it is asked for again.
        }
        isLive.value = false;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    };
    follow().catch((error: unknown) => {
      if (!stop.signal.aborted && connection.peek() === "live") failure.value = failureOf(error);
    });
    return () => stop.abort();
  }, [entry.id, isThere, isSeen.value, status === "offline", tries.value]);
  return {
    lines,
    dropped,
    isLive,
    failure,
    again() {
      tries.value++;
    },
  };
}

function cut(text: string): string {
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters)} …` : text;
}
