/** Relays two sockets to each other; both end as soon as one does. */
import type { Socket } from "node:net";

export function joined(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on("error", () => to.destroy());
    from.on("close", () => to.destroy());
    from.pipe(to);
  }
}
