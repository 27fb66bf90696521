import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { onPageLeave } from "./leaving.ts";

interface HoldButtonProps {
  /** Its accessible name. */
  readonly label: string;
  readonly className: string;
  /** The CSS grid area. */
  readonly area?: string | undefined;
  /** Why it cannot be used now. */
  readonly withheld?: string | undefined;
  /** Called when the pointer or key goes down. */
  onDown(): void;
  /** Called on release, on a cancelled touch, when the window or page is left, and when the daemon is lost. */
  onUp(): void;
  readonly children: ComponentChildren;
}

/** A button that can be held down. Every `onDown` is followed by exactly one `onUp`. */
export function HoldButton({ label, className, area, withheld, onDown, onUp, children }: HoldButtonProps) {
  const isDown = useRef(false);
  const button = useRef<HTMLButtonElement>(null);
  const lastUp = useRef(onUp);
  lastUp.current = onUp;
  const down = () => {
    if (isDown.current || withheld !== undefined) return;
    isDown.current = true;
    button.current?.classList.add("is-down");
    onDown();
  };
  const up = useRef(() => {
    if (!isDown.current) return;
    isDown.current = false;
    button.current?.classList.remove("is-down");
    lastUp.current();
  }).current;
  useEffect(() => {
    const unsubscribe = onPageLeave(up);
    return () => {
      unsubscribe();
      up();
    };
  }, []);
  return (
    <button
      ref={button}
      type="button"
      class={`button hold ${className}`}
      style={area === undefined ? {} : { gridArea: area }}
      aria-label={label}
      aria-disabled={withheld === undefined ? undefined : "true"}
      title={withheld ?? label}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        down();
      }}
      onPointerUp={up}
      onPointerCancel={up}
      onLostPointerCapture={up}
      onContextMenu={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        // macOS reports no release of other keys while this one is down.
        if (event.metaKey) up();
        if (event.metaKey || (event.key !== "Enter" && event.key !== " ")) return;
        event.preventDefault();
        if (!event.repeat) down();
      }}
      onKeyUp={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        // Firefox would click, although `keydown` is cancelled.
        event.preventDefault();
        up();
      }}
      onBlur={up}
      onClick={(event) => {
        // A click without pointer or key events comes from a screen reader.
        if (event.detail === 0 && !isDown.current) {
          down();
          up();
        }
      }}
    >
      {children}
    </button>
  );
}
