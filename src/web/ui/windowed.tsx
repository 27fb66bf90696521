import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** How many rows are rendered or removed together. */
const chunkSize = 6;
/** A list of at most this many rows is rendered whole. */
const maxPlainRows = 30;

interface WindowedProps<Item extends { readonly id: string }> {
  readonly items: readonly Item[];
  readonly className: string;
  /** The height to assume for a row that was never rendered, with the gap below it. */
  readonly estimatedPx: number;
  /** Renders a row as an `<li>`. */
  row(item: Item): ComponentChildren;
}

/** A list that renders only rows near the viewport. Other rows keep their height, so that nothing moves. */
export function WindowedList<Item extends { readonly id: string }>({
  items,
  className,
  estimatedPx,
  row,
}: WindowedProps<Item>) {
  if (items.length <= maxPlainRows) return <ul class={className}>{items.map(row)}</ul>;
  const chunks = Array.from({ length: Math.ceil(items.length / chunkSize) }, (_, at) =>
    items.slice(at * chunkSize, (at + 1) * chunkSize),
  );
  return (
    <>
      {chunks.map((chunk, at) => (
        <Chunk
          key={chunk[0]?.id}
          isFirst={at < 2}
          items={chunk}
          className={className}
          estimatedPx={estimatedPx}
          row={row}
        />
      ))}
    </>
  );
}

/** Measured heights of chunks, kept so that coming back to a list restores its scroll position. */
const heights = new Map<string, number>();

function Chunk<Item extends { readonly id: string }>({
  items,
  className,
  estimatedPx,
  row,
  isFirst,
}: WindowedProps<Item> & { readonly isFirst: boolean }) {
  const [isNear, setNear] = useState(isFirst);
  const list = useRef<HTMLUListElement>(null);
  const rows = `${items.length} from ${items[0]?.id}`;
  useEffect(() => {
    const element = list.current;
    if (!element) return;
    const measure = () => heights.set(rows, element.getBoundingClientRect().height);
    const observer = new IntersectionObserver(
      ([seen]) => {
        if (!seen) return;
        if (!seen.isIntersecting) measure();
        // A chunk with the focus stays rendered.
        setNear(seen.isIntersecting || element.contains(document.activeElement));
      },
      { rootMargin: "500px 0px" },
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      measure();
    };
  }, [rows]);
  return (
    <ul
      ref={list}
      class={className}
      style={isNear ? {} : { height: `${heights.get(rows) ?? items.length * estimatedPx}px` }}
    >
      {isNear && items.map(row)}
    </ul>
  );
}
