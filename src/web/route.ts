/** Which view is shown: the part of the address behind `#`. */
import { type ReadonlySignal, signal } from "@preact/signals";

export interface Route {
  /** The first word: `remote` of `#/remote/<id>`; empty for the house. */
  readonly view: string;
  /** The device, where the view is of one. */
  readonly id: string | null;
}

const routeNow = signal<Route>({ view: "", id: null });

export const route: ReadonlySignal<Route> = routeNow;

/** The address of a view, for a link. */
export function linkTo(view: string, id?: string): string {
  return id === undefined ? `#/${view}` : `#/${view}/${encodeURIComponent(id)}`;
}

/** Shows a view. */
export function go(view: string, id: string): void {
  location.hash = linkTo(view, id);
}

/** How far the house was scrolled when it was left, in px. */
let leftHouseAt = 0;

export const houseTop = (): number => leftHouseAt;

/** Follows the address. Called once. */
export function startRouting(): void {
  history.scrollRestoration = "manual";
  const read = () => {
    if (routeNow.peek().view === "") leftHouseAt = scrollY;
    const [view = "", id] = location.hash.replace(/^#\/?/, "").split("/");
    routeNow.value = { view, id: id === undefined || id === "" ? null : textIn(id) };
  };
  addEventListener("hashchange", read);
  read();
}

function textIn(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
