import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "./button.tsx";

interface DialogProps {
  readonly title: string;
  /** Escape, the cross and a press beside it. */
  onClose(): void;
  readonly children: ComponentChildren;
}

/** A modal card: it takes the focus, keeps it, and gives it back when it goes. Rendered while it is open. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before the effects of what is in it: a field can take the focus only once the card is open.
  useLayoutEffect(() => {
    const own = dialog.current;
    own?.showModal();
    // Closed, it gives the focus back to what had it; removed while it is open, it would not.
    return () => own?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={({ target, currentTarget, clientX: x, clientY: y }) => {
        // Its own scroll bar is no place beside it.
        const { left, right, top, bottom } = currentTarget.getBoundingClientRect();
        if (target === currentTarget && (x < left || x > right || y < top || y > bottom)) onClose();
      }}
    >
      <div class="dialog-card">
        <header>
          <h2 id={id}>{title}</h2>
          <Button label="Close" icon="x" iconOnly kind="quiet" onPress={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}
