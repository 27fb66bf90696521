/** The console of a set, live: followed to its end, or held still, filtered and copied. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Device } from "../../api/client-types.ts";
import { connection, type Entry } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Refusal } from "../ui/refusal.tsx";
import { say } from "../ui/status.tsx";
import { counted } from "../words.ts";
import { type Log, type LogLine, mostLines, useLog } from "./developer-log.ts";

/** So near to its end, it goes along with it. */
const nearPx = 24;

export function Console({ entry }: { readonly entry: Entry }) {
  const log = useLog(entry);
  const wanted = useSignal("");
  /** The lines as they were when it was held still; `null` while it runs. */
  const held = useSignal<readonly LogLine[] | null>(null);
  /** What was put away: lines up to this one. */
  const clearedTo = useSignal(0);
  const { name, status } = entry.device.value;
  const kept = (held.value ?? log.lines.value).filter(({ at }) => at > clearedTo.value);
  const shown = filtered(kept, wanted.value);
  const last = (lines: readonly LogLine[]) => lines.at(-1)?.at ?? 0;
  const more = held.value === null ? 0 : last(log.lines.value) - last(held.value);
  return (
    <section class="dev-card dev-console" aria-labelledby="dev-console">
      <header>
        <h2 id="dev-console">Console</h2>
        <p class="muted" role="status">
          {held.value !== null
            ? `held still${more > 0 ? `; ${counted(more, "line")} more since` : ""}`
            : standing(log, status)}
          {wanted.value.trim() !== "" && ` · ${shown.length} of ${counted(kept.length, "line")}`}
        </p>
      </header>
      <div class="dev-tools">
        <Field label="Filter the console" labelHidden type="search" placeholder="Filter" text={wanted} />
        <Button
          label={held.value === null ? "Pause" : "Go on"}
          icon={held.value === null ? "pause" : "play"}
          onPress={() => {
            held.value = held.value === null ? log.lines.value : null;
          }}
        />
        <Button label="Copy" icon="copy" onPress={() => void copy(shown)} />
        <Button
          label="Put away what is shown"
          icon="trash-2"
          iconOnly
          onPress={() => {
            held.value = null;
            clearedTo.value = last(log.lines.value);
          }}
        />
      </div>
      {log.failure.value && (
        <div class="dev-refused">
          <Refusal failure={log.failure.value} />
          <Button label="Try again" icon="refresh-cw" onPress={log.again} />
        </div>
      )}
      <Lines shown={shown} wanted={wanted.value.trim()} name={name} empty={emptyWords(log, kept, wanted)} />
      {log.dropped.value > 0 && (
        <p class="dev-count muted">
          The last {mostLines.toLocaleString()} lines are kept; {log.dropped.value.toLocaleString()} before them are
          not.
        </p>
      )}
    </section>
  );
}

function standing({ isLive, failure }: Log, status: Device["status"]): string {
  if (isLive.value) return "live";
  if (connection.value === "lost") return "goes on once zapd is back";
  if (status === "offline") return "goes on once the set is back";
  return failure.value ? "not to be read now" : "being opened …";
}

function emptyWords({ isLive }: Log, kept: readonly LogLine[], wanted: Signal<string>): string {
  if (kept.length > 0) return `No line has “${wanted.value.trim()}”.`;
  return isLive.value ? "Nothing was written yet. What the package prints stands here as it comes." : "";
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
    const { current: own } = box;
    if (!own) return;
    // What scrolls must be reached by who has no mouse.
    own.tabIndex = 0;
    // Where there is less room, lines take more of it.
    const sized = new ResizeObserver(() => isAtEnd.peek() && goToEnd());
    sized.observe(own);
    return () => sized.disconnect();
  }, []);
  return (
    <div class="dev-log">
      <section
        ref={box}
        class="dev-lines"
        aria-label={`Console of ${name}`}
        onScroll={({ currentTarget: at }) => {
          // It is left by going up, not by what is written below.
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
          label="To the newest line"
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

/** A line with what was looked for marked, wherever it stands. */
function marked(text: string, wanted: string) {
  const parts = [];
  const [low, word] = [text.toLowerCase(), wanted.toLowerCase()];
  let from = 0;
  // Letters that are longer when they are small would shift all places.
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
    say(lines.length === 1 ? "1 line is copied" : `${lines.length} lines are copied`);
  } catch {
    // Pages of another host than this machine have no clipboard, and some people refuse it.
    const all = document.querySelector(".dev-lines");
    if (all) getSelection()?.selectAllChildren(all);
    say("This browser lets no page copy here: the lines are selected, copy them yourself");
  }
}
