/**
 * Preloaded into a daemon under test (`startTestDaemon({ speed })`): its clock runs `$ZAPD_TEST_SPEED` times as fast, so
 * that nobody waits for what waits by design. Dates stay as they are.
 */
const speed = Number(process.env["ZAPD_TEST_SPEED"] ?? 1);

/** A breath stays one: what is on its way to the daemon comes no sooner for a fast clock. */
const breath = 60;
const scaled = (ms: number) => (ms <= breath ? ms : Math.max(breath, ms / speed));

const { setTimeout: later, setInterval: often } = globalThis;
const now = performance.now.bind(performance);
const ends = AbortSignal.timeout.bind(AbortSignal);
performance.now = () => now() * speed;
AbortSignal.timeout = (ms) => ends(Math.ceil(scaled(ms)));
Object.assign(globalThis, {
  setTimeout: (work: () => void, ms = 0, ...rest: []) => later(work, scaled(ms), ...rest),
  setInterval: (work: () => void, ms = 0, ...rest: []) => often(work, scaled(ms), ...rest),
});
// What Bun itself times at its listener, in whole seconds.
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

export {};
