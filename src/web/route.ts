/** The current view, from the part of the address after `#`. */
import { type ReadonlySignal, signal } from "@preact/signals";

export interface Route {
  /** The first part: `remote` in `#/remote/<id>`; empty for the house. */
  readonly view: string;
  /** The device id in the address; null without one. */
  readonly id: string | null;
}

const routeSignal = signal<Route>({ view: "", id: null });

export const route: ReadonlySignal<Route> = routeSignal;

/** The `href` of a view. */
export function linkTo(view: string, id?: string): string {
  return id === undefined ? `#/${view}` : `#/${view}/${encodeURIComponent(id)}`;
}

/** Goes to the view of a device. */
export function go(view: string, id: string): void {
  location.hash = linkTo(view, id);
}

/** The scroll position of the house when it was last left. */
let houseScrollPx = 0;

export const houseTop = (): number => houseScrollPx;

/** The device whose view was left last, until its link in the house has the focus. */
let leftId: string | null = null;

/** Whether the link to this device is to take the focus: once after its view was left, and only while nothing else has the focus. */
export function claimFocus(id: string): boolean {
  if (leftId !== id) return false;
  leftId = null;
  return document.activeElement?.matches("body, h1") === true;
}

/** Focuses the title of the view: for screen readers, and for the next Tab. */
export function focusTitle(): void {
  const title = document.querySelector<HTMLElement>("main h1");
  if (!title) return;
  title.tabIndex = -1;
  title.focus({ preventScroll: true });
}

/** What had the focus in the view that went on with another device, by its name. */
let keptName: string | null = null;

const nameOf = (element: Element | null) =>
  element?.getAttribute("aria-label") ?? (element as HTMLInputElement | null)?.labels?.[0]?.textContent ?? null;

/** Goes on with the device that this one has become a part of, if its view is open. */
export function goOnWith(whole: string, part: string): void {
  const { view, id } = routeSignal.peek();
  if (id !== part) return;
  keptName = nameOf(document.activeElement);
  history.replaceState(null, "", linkTo(view, whole));
  routeSignal.value = { view, id: whole };
}

/** Focuses what had the focus before the view went on with another device, and otherwise the title. */
export function focusView(): void {
  const name = keptName;
  keptName = null;
  const all = document.querySelectorAll<HTMLElement>("main :is(a, button, input, select, textarea)");
  const kept = [...all].find((one) => name !== null && nameOf(one) === name);
  if (kept) kept.focus();
  else focusTitle();
}

/** Follows the address. Call it once. */
export function startRouting(): void {
  history.scrollRestoration = "manual";
  const read = () => {
    if (routeSignal.peek().view === "") houseScrollPx = scrollY;
    leftId = routeSignal.peek().id;
    const [view = "", id] = location.hash.replace(/^#\/?/, "").split("/");
    routeSignal.value = { view, id: id === undefined || id === "" ? null : decodePart(id) };
  };
  addEventListener("hashchange", read);
  read();
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
