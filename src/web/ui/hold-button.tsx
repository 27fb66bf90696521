import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { onLeaving } from "./leaving.ts";

interface HoldButtonProps {
  /** Its name, as it is read out. */
  readonly label: string;
  readonly className: string;
  /** Why it cannot be used now. */
  readonly withheld?: string | undefined;
  /** The finger, the mouse or the key came down: at once, whether it will be held or not. */
  onDown(): void;
  /** It was let go: by its release, by leaving the window or the page, by a cancelled touch, by a stream that was lost. */
  onUp(): void;
  readonly children: ComponentChildren;
}

/** A button that can be held down. Between each `onDown` and the next there is one `onUp`, whatever happens. */
export function HoldButton({ label, className, withheld, onDown, onUp, children }: HoldButtonProps) {
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
    const stay = onLeaving(up);
    return () => {
      stay();
      up();
    };
  }, []);
  return (
    <button
      ref={button}
      type="button"
      class={`button hold ${className}`}
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
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        if (!event.repeat) down();
      }}
      onKeyUp={(event) => {
        if (event.key === "Enter" || event.key === " ") up();
      }}
      onBlur={up}
      onClick={(event) => {
        // What no pointer and no key made: a screen reader's press.
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
