import { signal } from "@preact/signals";

const message = signal<{ readonly text: string; readonly at: number } | null>(null);
let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows a message at the bottom for 4 s; screen readers read it out. Not for failures. */
export function announce(text: string): void {
  clearTimeout(timer);
  message.value = { text, at: performance.now() };
  timer = setTimeout(() => {
    message.value = null;
  }, 4_000);
}

/** The place of the messages. Rendered once, in the shell. */
export function Toast() {
  return (
    <div class="toast" role="status" aria-live="polite">
      {message.value && <p key={message.value.at}>{message.value.text}</p>}
    </div>
  );
}
