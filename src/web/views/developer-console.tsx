/** The live console of a set, with pause, filter and copy. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Device } from "../../api/client-types.ts";
import { connection, type Entry } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Refusal } from "../ui/refusal.tsx";
import { announce } from "../ui/status.tsx";
import { countOf } from "../words.ts";
import { type Log, type LogLine, maxLines, useLog } from "./developer-log.ts";

/** Scrolled to within this distance of the end, the list follows new lines. */
const nearPx = 24;

export function Console({ entry }: { readonly entry: Entry }) {
  const log = useLog(entry);
  const wanted = useSignal("");
  /** The lines at the moment of the pause; `null` while it is not paused. */
  const pausedLines = useSignal<readonly LogLine[] | null>(null);
  /** Lines up to this number are hidden. */
  const clearedTo = useSignal(0);
  const { name, status } = entry.device.value;
  const kept = (pausedLines.value ?? log.lines.value).filter(({ at }) => at > clearedTo.value);
  const shown = filtered(kept, wanted.value);
  const last = (lines: readonly LogLine[]) => lines.at(-1)?.at ?? 0;
  const more = pausedLines.value === null ? 0 : last(log.lines.value) - last(pausedLines.value);
  return (
    <section class="dev-card card dev-console" aria-labelledby="dev-console">
      <header>
        <h2 id="dev-console">Console</h2>
        <p class="muted" role="status">
          {pausedLines.value !== null
            ? `paused${more > 0 ? `; ${countOf(more, "line")} more since` : ""}`
            : statusWords(log, status)}
          {wanted.value.trim() !== "" && ` · ${shown.length} of ${countOf(kept.length, "line")}`}
        </p>
      </header>
      <div class="dev-tools">
        <Field label="Filter the console" labelHidden type="search" placeholder="Filter" text={wanted} />
        <Button
          label={pausedLines.value === null ? "Pause" : "Resume"}
          icon={pausedLines.value === null ? "pause" : "play"}
          onPress={() => {
            pausedLines.value = pausedLines.value === null ? log.lines.value : null;
          }}
        />
        <Button label="Copy" icon="copy" onPress={() => void copy(shown)} />
        <Button
          label="Clear"
          icon="trash-2"
          iconOnly
          onPress={() => {
            pausedLines.value = null;
            clearedTo.value = last(log.lines.value);
          }}
        />
      </div>
      {log.failure.value && (
        <div class="dev-refused">
          <Refusal failure={log.failure.value} />
          <Button label="Try again" icon="refresh-cw" onPress={log.retry} />
        </div>
      )}
      <Lines shown={shown} wanted={wanted.value.trim()} name={name} empty={emptyWords(log, kept, wanted)} />
      {log.dropped.value > 0 && (
        <p class="dev-count muted">
          Only the last {maxLines.toLocaleString()} lines are kept; {log.dropped.value.toLocaleString()} earlier ones
          are not.
        </p>
      )}
    </section>
  );
}

function statusWords({ isLive, failure }: Log, status: Device["status"]): string {
  if (isLive.value) return "live";
  if (connection.value === "lost") return "resumes once zapd is back";
  if (status === "offline") return "resumes once the device is back";
  return failure.value ? "cannot be read now" : "opening …";
}

function emptyWords({ isLive, lines }: Log, kept: readonly LogLine[], wanted: Signal<string>): string {
  if (kept.length > 0) return `No line contains “${wanted.value.trim()}”.`;
  if (lines.value.length > 0) return "Cleared. New output appears here.";
  return isLive.value ? "Nothing was printed yet. The output of the package appears here." : "";
}

function filtered(lines: readonly LogLine[], wanted: string): readonly LogLine[] {
  const words = wanted.trim().toLowerCase();
  return words === "" ? lines : lines.filter(({ text }) => text.toLowerCase().includes(words));
}

interface LinesProps {
  readonly shown: readonly LogLine[];
  readonly wanted: string;
  readonly name: string;
  readonly empty: string;
}

function Lines({ shown, wanted, name, empty }: LinesProps) {
  const box = useRef<HTMLElement>(null);
  const isAtEnd = useSignal(true);
  const lastTop = useRef(0);
  const goToEnd = () => {
    box.current?.scrollTo(0, box.current.scrollHeight);
  };
  useLayoutEffect(() => {
    if (isAtEnd.peek()) goToEnd();
  }, [shown]);
  useEffect(() => {
    const { current: element } = box;
    if (!element) return;
    // A scrollable area must be reachable by keyboard.
    element.tabIndex = 0;
    // A narrower box wraps more lines, which moves its end.
    const observer = new ResizeObserver(() => isAtEnd.peek() && goToEnd());
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div class="dev-log">
      <section
        ref={box}
        class="dev-lines"
        aria-label={`Console of ${name}`}
        onScroll={({ currentTarget: at }) => {
          // Only scrolling up ends following; new lines below do not.
          if (at.scrollHeight - at.scrollTop - at.clientHeight < nearPx) isAtEnd.value = true;
          else if (at.scrollTop < lastTop.current) isAtEnd.value = false;
          lastTop.current = at.scrollTop;
        }}
      >
        {shown.length === 0 && <p class="muted">{empty}</p>}
        {shown.map(({ at, text }) => (
          <div key={at}>{wanted === "" ? text : marked(text, wanted)}</div>
        ))}
      </section>
      {!isAtEnd.value && (
        <Button
          label="Go to the newest line"
          icon="arrow-down"
          iconOnly
          onPress={() => {
            isAtEnd.value = true;
            goToEnd();
          }}
        />
      )}
    </div>
  );
}

/** A line with each match of the filter marked. */
function marked(text: string, wanted: string) {
  const parts = [];
  const [low, word] = [text.toLowerCase(), wanted.toLowerCase()];
  let from = 0;
  // Some letters change their length in lower case, which would shift every match.
  if (low.length !== text.length) return text;
  for (let at = low.indexOf(word); at >= 0; at = low.indexOf(word, from)) {
    parts.push(text.slice(from, at), <mark key={at}>{text.slice(at, at + word.length)}</mark>);
    from = at + word.length;
  }
  return [...parts, text.slice(from)];
}

async function copy(lines: readonly LogLine[]): Promise<void> {
  const text = lines.map((line) => line.text).join("\n");
  try {
    await navigator.clipboard.writeText(text);
    announce(`${countOf(lines.length, "line")} copied`);
  } catch {
    // The clipboard is missing on pages of other hosts over plain HTTP, and a user may deny it.
    const all = document.querySelector(".dev-lines");
    if (all) getSelection()?.selectAllChildren(all);
    announce("The browser does not allow the page to copy. The lines are selected: copy them yourself");
  }
}
