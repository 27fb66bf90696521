/** The guard mounted alone, over thousands of generated requests. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { Hono } from "hono";
import { ZapdError } from "../../src/api/errors.ts";
import { guard } from "../../src/server/guard.ts";
import type { Env } from "../../src/server/route.ts";
import { runs, seed, within } from "../support/whole.ts";

const listed = "http://app.test:3000";
const env = { listener: "tcp", withoutIdleLimit() {} } as const;
const mounted = (origins: string[], ran: () => void) => {
  const app = new Hono<Env>();
  const cors = () => ({ cors_enabled: true, cors_allowed_origins: origins });
  app.use(
    "*",
    guard(cors, [], () => null),
  );
  app.onError((error, c) => c.text(error.message, error instanceof ZapdError ? (error.status as 403) : 500));
  app.all("*", (c) => {
    ran();
    return c.text("ran");
  });
  return app;
};
const many = { numRuns: runs(20_000, 100_000), seed };
/** Characters that a header can have and still arrives unchanged. */
const value = (text: fc.Arbitrary<string>) => text.map((one) => one.replace(/[^\x21-\x7e]/g, ""));
const pieces = (...words: string[]) =>
  value(
    fc
      .array(
        fc.oneof(
          { weight: 9, arbitrary: fc.constantFrom(...words) },
          { weight: 1, arbitrary: fc.string({ maxLength: 3 }) },
        ),
        { maxLength: 5 },
      )
      .map((all) => all.join("")),
  );

test(
  `T3 ACAO exactly for listed origins, and writes exactly for those (seed ${seed})`,
  async () => {
    const origins = [
      listed,
      "https://app.test",
      "http://127.0.0.1:8080",
      "chrome-extension://abc",
      "http://[::1]:3000",
    ];
    let ran = 0;
    const app = mounted(origins, () => ran++);
    const origin = fc.oneof(
      fc.constantFrom(...origins),
      pieces(...origins, "http://", "https://", "app.test", ":3000", "null", "*", "/", "@", ".", ","),
    );
    await fc.assert(
      fc.asyncProperty(origin, fc.constantFrom("GET", "POST", "DELETE"), async (from, method) => {
        ran = 0;
        const answer = await app.request("/v1/x", { method, headers: { host: "localhost:7272", origin: from } }, env);
        const isListed = origins.includes(from);
        expect(answer.headers.get("access-control-allow-origin")).toBe(isListed ? from : null);
        expect(ran).toBe(isListed || method === "GET" ? 1 : 0);
        expect(answer.headers.get("vary")).toBe("Origin");
      }),
      many,
    );
  },
  within(),
);

test(
  `T2 Host exactly when it is a loopback name (seed ${seed})`,
  async () => {
    let ran = 0;
    const app = mounted([], () => ran++);
    const names = ["127.0.0.1", "localhost", "[::1]"];
    const parts = pieces(
      ...names,
      ":",
      ":80",
      ":65535",
      ":65536",
      ".",
      "@",
      "0",
      "1",
      "evil.test",
      "[",
      "]",
      ":1",
      "%",
      "/",
      "LOCALHOST",
    );
    const withPort = fc
      .tuple(fc.constantFrom(...names), fc.integer({ min: 0, max: 140_000 }))
      .map(([name, port]) => `${name}:${port}`);
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(fc.oneof(parts, withPort), async (host) => {
        ran = 0;
        const answer = await app.request("/v1/x", { headers: { host } }, env);
        expect(answer.status).toBe(ran === 1 ? 200 : 403);
        expect([host, ran]).toEqual([host, isLoopback(host) ? 1 : 0]);
        accepted += ran;
      }),
      many,
    );
    expect(accepted).toBeGreaterThan(2_000);
  },
  within(),
);

/** Written independently of the guard. */
function isLoopback(host: string): boolean {
  const name = ["127.0.0.1", "localhost", "[::1]"].find((one) => host === one || host.startsWith(`${one}:`));
  if (name === undefined) return false;
  const port = host.slice(name.length + 1);
  if (host.length === name.length) return true;
  return (
    port.length > 0 &&
    port.length <= 5 &&
    [...port].every((digit) => "0123456789".includes(digit)) &&
    Number(port) > 0 &&
    Number(port) < 65_536
  );
}
