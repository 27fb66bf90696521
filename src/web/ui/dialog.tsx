import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { focusTitle } from "../route.ts";
import { Button } from "./button.tsx";

interface DialogProps {
  readonly title: string;
  /** Called for Escape, the close button and a press outside. */
  onClose(): void;
  readonly children: ComponentChildren;
}

/** A modal dialog that traps the focus and restores it at the end. Render it only while it is open. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Runs before the effects of its children: a field can take the focus only in an open dialog.
  useLayoutEffect(() => {
    const element = dialog.current;
    const { activeElement: opener, body } = document;
    element?.showModal();
    return () => {
      // Only `close` restores the focus; removing an open dialog does not.
      element?.close();
      requestAnimationFrame(() => {
        // The opener may be gone, as the button that pairs is once that is done.
        if (opener !== body && document.activeElement === body) focusTitle();
      });
    };
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
      onPointerDown={({ target, currentTarget, clientX: x, clientY: y, pointerType }) => {
        // A press on the scroll bar of the dialog has the dialog as target too, but lies inside.
        const { left, right, top, bottom } = currentTarget.getBoundingClientRect();
        if (target !== currentTarget || (x >= left && x <= right && y >= top && y <= bottom)) return;
        if (pointerType !== "touch") return onClose();
        // The click of a finger comes later, and would press what lies below.
        const close = (event: Event) => event.target === currentTarget && onClose();
        currentTarget.addEventListener("click", close, { once: true });
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
