/**
 * Ports and addresses of this process: test files run in parallel, and must not use those of another. The process that
 * listens on the last port of a lane has the lane, until it ends.
 */
const lanes = 180;
const first = 10_000;
const width = 100;

const claimed = claim();
/** From 0 to 179, another one in each process of this network. */
export const lane = claimed.lane;
/** Kept: collected, it would free its port. */
export const laneListener = claimed.listener;

/** The ports of this lane, below the ephemeral ports of the system. */
export const street = { from: first + lane * width, ports: width - 1 } as const;

function claim() {
  for (let tries = 0; tries < lanes; tries++) {
    const lane = (process.pid + tries) % lanes;
    const port = first + lane * width + width - 1;
    try {
      // It is bound when this returns.
      const listener = Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } });
      listener.unref();
      return { lane, listener };
    } catch {
      // Another process has it.
    }
  }
  throw new Error(`of ${lanes} lanes none is free`);
}

let made = 0;
/** A loopback address that no other set has. */
export const freeHost = (): string => `127.0.${20 + lane}.${1 + (made++ % 250)}`;
