/**
 * Preloaded into a daemon under test (`startTestDaemon({ speed })`): its timers run `$ZAPD_TEST_SPEED` times as fast, so
 * that tests need not wait. Dates stay as they are.
 */
import net from "node:net";
import tls from "node:tls";

const speed = Number(process.env["ZAPD_TEST_SPEED"] ?? 1);

/** Shorter delays stay as they are: data from the network arrives no sooner on a faster clock. */
const shortestMs = 60;
const scaled = (ms: number) => (ms <= shortestMs ? ms : Math.max(shortestMs, ms / speed));

const { setTimeout: later, setInterval: often } = globalThis;
const now = performance.now.bind(performance);
const ends = AbortSignal.timeout.bind(AbortSignal);

/**
 * A longer time in which the process did not run counts as it is: a busy machine keeps it from running for a second, which is
 * no five seconds of sleep.
 */
const beatMs = 100;
const longMs = 600;
let beatAt = now();
let heldUpMs = 0;
const heldUpNow = () => Math.max(0, now() - beatAt - longMs);
performance.now = () => now() * speed - (heldUpMs + heldUpNow()) * (speed - 1);
often(() => {
  heldUpMs += heldUpNow();
  beatAt = now();
}, beatMs).unref();
AbortSignal.timeout = (ms) => ends(Math.ceil(scaled(ms)));
// Nor does a faster clock open a connection sooner: the time for that stays as it is. It is the timer set right after the call.
let isConnecting = false;
const opens =
  <Of extends unknown[], Opened>(connect: (...of: Of) => Opened) =>
  (...of: Of): Opened => {
    isConnecting = true;
    queueMicrotask(() => {
      isConnecting = false;
    });
    return connect(...of);
  };
Object.assign(net, { connect: opens(net.connect) });
Object.assign(tls, { connect: opens(tls.connect) });
Object.assign(globalThis, {
  setTimeout: (work: () => void, ms = 0, ...rest: []) => later(work, isConnecting ? ms : scaled(ms), ...rest),
  setInterval: (work: () => void, ms = 0, ...rest: []) => often(work, scaled(ms), ...rest),
});
// Timeouts of Bun's own listener, in whole seconds.
const { serve } = Bun;
const sooner = (seconds: number) => Math.ceil(seconds / speed);
Object.assign(Bun, {
  serve(options: { idleTimeout?: number }) {
    const server = serve({
      ...options,
      ...(options.idleTimeout && { idleTimeout: sooner(options.idleTimeout) }),
    } as never);
    const limit = server.timeout.bind(server);
    return Object.assign(server, {
      timeout: (request: Request, seconds: number) => limit(request, sooner(seconds)),
    });
  },
});
