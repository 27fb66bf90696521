/** The list of the house, which renders only rows near the viewport. Other rows keep their height, so that nothing moves. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Entry } from "../store.ts";

/** How many rows are rendered or removed together. */
const chunkSize = 6;
/** A list of at most this many rows is rendered whole. */
const maxPlainRows = 30;
/** The height to assume for a row that was never rendered, with the gap below it. */
const estimatedPx = 92;

interface HouseListProps {
  readonly entries: readonly Entry[];
  /** Renders a row as an `<li>`. */
  row(entry: Entry): ComponentChildren;
}

export function HouseList({ entries, row }: HouseListProps) {
  if (entries.length <= maxPlainRows) return <ul class="house">{entries.map(row)}</ul>;
  const chunks = Array.from({ length: Math.ceil(entries.length / chunkSize) }, (_, at) =>
    entries.slice(at * chunkSize, (at + 1) * chunkSize),
  );
  return (
    <>
      {chunks.map((chunk, at) => (
        <Chunk key={at} isFirst={at < 2} entries={chunk} row={row} />
      ))}
    </>
  );
}

/** Measured heights of chunks, kept so that coming back to a list restores its scroll position. */
const heights = new Map<string, number>();

function Chunk({ entries, row, isFirst }: HouseListProps & { readonly isFirst: boolean }) {
  const [isNear, setNear] = useState(isFirst);
  const list = useRef<HTMLUListElement>(null);
  const rows = `${entries.length} from ${entries[0]?.id}`;
  useEffect(() => {
    const element = list.current;
    if (!element) return;
    const sizes = new ResizeObserver(() => {
      // The last report may come when the view has been left.
      if (element.isConnected) heights.set(rows, element.getBoundingClientRect().height);
    });
    sizes.observe(element);
    const observer = new IntersectionObserver(
      ([seen]) => {
        if (!seen) return;
        // A chunk with the focus stays rendered.
        setNear(seen.isIntersecting || element.contains(document.activeElement));
      },
      { rootMargin: "500px 0px" },
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      sizes.disconnect();
    };
  }, [rows]);
  return (
    <ul
      ref={list}
      class="house"
      style={isNear ? {} : { height: `${heights.get(rows) ?? entries.length * estimatedPx}px` }}
    >
      {isNear && entries.map(row)}
    </ul>
  );
}
