import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** So many rows come and go together. */
const chunkSize = 6;
/** Up to so many, all of them stay. */
const smallHouse = 30;

interface WindowedProps<Item extends { readonly id: string }> {
  readonly items: readonly Item[];
  readonly className: string;
  /** How high a row is before it was ever drawn, with the gap below it. */
  readonly estimatedPx: number;
  /** A row: an `<li>`. */
  row(item: Item): ComponentChildren;
}

/** A list that draws what is near the window only. Where rows are not drawn their place is kept, so that nothing jumps. */
export function Windowed<Item extends { readonly id: string }>({
  items,
  className,
  estimatedPx,
  row,
}: WindowedProps<Item>) {
  if (items.length <= smallHouse) return <ul class={className}>{items.map(row)}</ul>;
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

/** How high rows were when they were drawn, by what they are: whoever comes back to a list finds the place where it was left. */
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
    const own = list.current;
    if (!own) return;
    const measure = () => heights.set(rows, own.getBoundingClientRect().height);
    const observer = new IntersectionObserver(
      ([seen]) => {
        if (!seen) return;
        if (!seen.isIntersecting) measure();
        // What has the focus stays, wherever one has scrolled to.
        setNear(seen.isIntersecting || own.contains(document.activeElement));
      },
      { rootMargin: "500px 0px" },
    );
    observer.observe(own);
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
