/** Two sockets made one line: each is handed what the other says, and both end as soon as one has ended. */
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
