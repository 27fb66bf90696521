/**
 * Ports and addresses of this process alone: test files run side by side, and the sets and daemons of one must not be those
 * of another. Taken by what the system gives to one only, a listener; it is given back with the process.
 */
const lanes = 180;
const first = 10_000;
const width = 100;

/** From 0 to 179, unlike that of any other process of this network. */
export const lane = claim();

/** The ports of this lane: below those that the system gives out. The last one holds the lane. */
export const street = { from: first + lane * width, ports: width - 1 } as const;

function claim(): number {
  for (let tries = 0; tries < lanes; tries++) {
    const lane = (process.pid + tries) % lanes;
    const port = first + lane * width + width - 1;
    try {
      // Bound, or thrown, before it returns.
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).unref();
      return lane;
    } catch {
      // Another process has it.
    }
  }
  throw new Error(`of ${lanes} lanes none is free`);
}

let made = 0;
/** An address of this machine that no other set has. */
export const freeHost = (): string => `127.0.${20 + lane}.${1 + (made++ % 250)}`;
