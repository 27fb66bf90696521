import { signal } from "@preact/signals";

const said = signal<{ readonly text: string; readonly at: number } | null>(null);
let timer: ReturnType<typeof setTimeout> | undefined;

/** Says something in passing: it is read out, shown for a while at the bottom, and goes by itself. Refusals do not belong here. */
export function say(text: string): void {
  clearTimeout(timer);
  said.value = { text, at: performance.now() };
  timer = setTimeout(() => {
    said.value = null;
  }, 4_000);
}

/** Where it is said; once, in the shell. */
export function Status() {
  return (
    <div class="toast" role="status" aria-live="polite">
      {said.value && <p key={said.value.at}>{said.value.text}</p>}
    </div>
  );
}
