import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icon.tsx";

export interface MenuItem {
  readonly label: string;
  readonly icon: IconName;
  readonly danger?: boolean;
  onPick(): void;
}

/** A button that opens a menu: arrow keys move, Escape closes and restores the focus, and Tab closes it and moves on. */
export function Menu({ label, items }: { readonly label: string; readonly items: readonly MenuItem[] }) {
  const [isOpen, setOpen] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const close = (restoresFocus: boolean) => {
    setOpen(false);
    if (restoresFocus) place.current?.querySelector("button")?.focus();
  };
  // A layout effect, so that the first key press is handled too.
  useLayoutEffect(() => {
    const { current: root } = place;
    const { current: menu } = list;
    // There is a list only while the menu is open.
    if (!root || !menu) return;
    // The menu opens upwards if it does not fit below.
    const { height } = menu.getBoundingClientRect();
    const { top, bottom } = root.getBoundingClientRect();
    menu.classList.toggle("is-above", bottom + height > innerHeight && top > height);
    const all = () => [...menu.querySelectorAll<HTMLElement>("[role=menuitem]")];
    const closeOutside = (event: Event) => {
      if (event.target instanceof Node && !root.contains(event.target)) close(false);
    };
    const onKeyDown = (event: KeyboardEvent) => {
      const items = all();
      const at = items.indexOf(document.activeElement as HTMLElement);
      const to: Readonly<Record<string, number>> = {
        ArrowDown: at + 1,
        ArrowUp: at - 1,
        Home: 0,
        End: items.length - 1,
      };
      const next = to[event.key];
      if (next !== undefined) items[(next + items.length) % items.length]?.focus();
      else if (event.key === "Escape") close(true);
      // Goes on from the button.
      else if (event.key === "Tab") return close(true);
      else return;
      event.preventDefault();
      event.stopPropagation();
    };
    const over = new AbortController();
    document.addEventListener("pointerdown", closeOutside, { signal: over.signal });
    document.addEventListener("focusin", closeOutside, { signal: over.signal });
    root.addEventListener("keydown", onKeyDown, { signal: over.signal });
    all()[0]?.focus();
    return () => over.abort();
  }, [isOpen]);
  return (
    <div class="menu" ref={place}>
      <button
        type="button"
        class="button quiet icon-only"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="ellipsis-vertical" />
      </button>
      {isOpen && (
        <div ref={list} class="menu-list" id={id} role="menu" aria-label={label}>
          {items.map((item) => (
            <button
              key={item.label}
              type="button"
              role="menuitem"
              tabIndex={-1}
              class={item.danger ? "danger" : ""}
              onClick={() => {
                close(true);
                item.onPick();
              }}
            >
              <Icon name={item.icon} size={18} />
              {item.label}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
