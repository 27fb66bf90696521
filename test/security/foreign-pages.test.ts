/**
 * T31: pages of origins that are not listed reach no device, whatever they call its address, and learn of none by the time
 * that an answer takes. What is served from memory is answered as ever, without CORS headers.
 */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { operations } from "../../src/api/operations.ts";
import { daemonForFile } from "../blackbox/daemon-for-file.ts";
import { callTo, type RawAnswer } from "../support/raw-http.ts";
import { isQuick, runs, seed } from "../support/whole.ts";
import { WiredRoku } from "../support/wired-roku.ts";

const listed = "http://app.test:3000";
const { daemon, startRoku } = await daemonForFile({
  config: { daemon: { cors_enabled: true, cors_allowed_origins: [listed] } },
});
const set = await startRoku();
const { id } = (await daemon.api("POST", "/devices", { ...set.address, name: "Den" })).body.data;
for (const read of ["apps", "state"]) expect((await daemon.api("GET", `/devices/Den/${read}`)).status).toBe(200);

const call = callTo.bind(null, daemon.port);
const codeOf = ({ body }: RawAnswer): string => (body === "" ? "" : (JSON.parse(body).error?.code ?? "none"));

const pages = {
  "a page": ["Origin: http://evil.test"],
  "a page of null": ["Origin: null"],
  "a page on another port": ["Origin: http://localhost:3000", "Sec-Fetch-Site: same-site"],
  "an image of another site": ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"],
  "a page of an odd site": ["Sec-Fetch-Site: future-value"],
  "a page that has it fetched ahead": ["Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Purpose: prefetch"],
  "a page that says same-origin": ["Origin: http://evil.test", "Sec-Fetch-Site: same-origin"],
} as const;

/** Reads that a device has a part in, and reads that it has none in, as the contract has them. */
const reaching = [
  ..."state apps apps/12/icon artwork channels inputs screenshot dev/logs"
    .split(" ")
    .map((read) => `/v1/devices/Den/${read}`),
  // It looks at all of them.
  "/v1/doctor",
];
const remembered = [
  "/v1/devices",
  "/v1/devices/Den",
  "/v1/health",
  "/v1/config",
  "/v1/daemon/status",
  "/v1/scenes",
  "/openapi.json",
];

test("the reads of the contract are those that are asked for here", () => {
  // What never ends is looked at by itself (T33).
  const reads = Object.values(operations).filter(({ method, reaches }) => method === "get" && reaches !== "stream");
  const asked = [...reaching, ...remembered].map((path) =>
    path.replace("/Den", "/:id").replace("/12/", "/:app/").replace("/v1", ""),
  );
  expect(reads.map(({ path }) => path as string).toSorted()).toEqual(
    asked.filter((path) => path !== "/openapi.json").toSorted(),
  );
});

describe.each(Object.entries(pages))("T31 %s", (_who, headers) => {
  test("reaches no device, by no name, and with a full cache as well", async () => {
    set.forget();
    for (const path of reaching)
      for (const name of ["Den", "den", id, "default", "nobody", "%25", "."])
        for (const method of ["GET", "HEAD"]) {
          const answer = await call(method, path.replace("Den", name === "." ? "%2e%2e%2f" : name), headers);
          expect([name, path, answer.status]).toEqual([name, path, 403]);
          if (method === "GET") expect(codeOf(answer)).toBe("forbidden_origin");
          expect(answer.headers.has("access-control-allow-origin")).toBe(false);
        }
    expect(set.wire.requests).toEqual([]);
    expect(set.console.taken).toBe(0);
  });

  test("is answered from memory as ever, and cannot read it", async () => {
    for (const path of remembered) {
      const answer = await call("GET", path, headers);
      expect([path, answer.status]).toEqual([path, 200]);
      expect(answer.headers.has("access-control-allow-origin")).toBe(false);
    }
    expect((await call("GET", "/v1/devices/nobody", headers)).status).toBe(404);
    expect((await call("GET", "/v1/nothing", headers)).status).toBe(404);
  });
});

test("T31 the listed origin, pages of our own and scripts ask devices as ever", async () => {
  for (const headers of [
    [],
    [`Origin: ${listed}`, "Sec-Fetch-Site: cross-site"],
    [`Origin: http://127.0.0.1:${daemon.port}`, "Sec-Fetch-Site: same-origin"],
    ["Sec-Fetch-Site: same-origin"],
    ["Sec-Fetch-Site: none"],
  ])
    for (const path of reaching.slice(0, 2)) {
      set.forget();
      expect([path, headers, (await call("GET", path, headers)).status]).toEqual([path, headers, 200]);
    }
});

test(`T31 no spelling of an address takes a page to a device (seed ${seed})`, async () => {
  // The cache is cold: the list of apps asks the set as well.
  const fresh = await WiredRoku.start();
  const added = (await daemon.api("POST", "/devices", { ...fresh.address, name: "Cold" })).body.data;
  fresh.forget();
  const percent = (text: string) => `%${text.charCodeAt(0).toString(16).padStart(2, "0")}`;
  const letter = fc.constantFrom("plain", "encoded", "upper", "twice");
  const segment = (word: string) =>
    fc
      .array(fc.oneof({ weight: 12, arbitrary: fc.constant("plain") }, { weight: 1, arbitrary: letter }), {
        minLength: word.length,
        maxLength: word.length,
      })
      .map((how) =>
        [...word]
          .map((one, at) => {
            if (how[at] === "encoded") return percent(one);
            if (how[at] === "upper") return one.toUpperCase();
            return how[at] === "twice" ? percent(one).replace("%", "%25") : one;
          })
          .join(""),
      );
  const slash = fc.oneof(
    { weight: 20, arbitrary: fc.constant("/") },
    {
      weight: 1,
      arbitrary: fc.constantFrom("//", "%2F", "%2f", "/./", "/%2e/", "\\", "%5c", ";/", "/x/../", "/%2e%2e/", "/ "),
    },
  );
  const target = fc
    .tuple(
      fc.constantFrom("/v1/devices/Cold/state", "/v1/devices/Cold/apps", "/v1/devices/Cold/dev/logs").chain((path) => {
        const words = path.split("/").slice(1);
        return fc.tuple(...words.flatMap((word) => [slash, segment(word)]));
      }),
      fc.constantFrom("", "", "", "/", "?", "?x=/v1/health", "#", "#/v1/health", "%00", ";x", "%20", "."),
      fc.constantFrom("", "", "", "", `http://127.0.0.1:${daemon.port}`, "http://127.0.0.1:80/..", "//127.0.0.1"),
    )
    .map(([path, end, before]) => `${before}${path.join("")}${end}`);
  try {
    const served: string[] = [];
    const count = runs(isQuick ? 600 : 3_000, 40_000);
    await fc.assert(
      fc.asyncProperty(
        target,
        fc.constantFrom("GET", "HEAD"),
        fc.constantFrom(...Object.values(pages)),
        async (where, method, headers) => {
          const answer = await call(method, where.replaceAll(" ", "%20"), headers);
          if (answer.status === 200) served.push(where);
        },
      ),
      { numRuns: count, seed },
    );
    expect(served).toEqual([]);
    expect(fresh.wire.requests).toEqual([]);
  } finally {
    await daemon.api("DELETE", `/devices/${added.id}`);
    await fresh.stop();
  }
});

test("T31 a page is refused as fast for a name that exists as for one that does not", async () => {
  const times: Record<"known" | "unknown", number[]> = { known: [], unknown: [] };
  const one = async (which: "known" | "unknown", path: string) => {
    const start = performance.now();
    const response = await fetch(`http://127.0.0.1:${daemon.port}${path}`, { headers: { origin: "http://evil.test" } });
    await response.text();
    times[which].push(performance.now() - start);
  };
  for (let round = 0; round < (isQuick ? 300 : 1_500); round++)
    for (const path of reaching) {
      await one("known", path);
      await one("unknown", path.replace("Den", "Dem"));
    }
  const middle = (all: readonly number[]) => all.toSorted((x, y) => x - y)[Math.floor(all.length / 2)] ?? 0;
  const spread = (all: readonly number[]) => {
    const sorted = all.toSorted((x, y) => x - y);
    return (sorted[Math.floor(all.length * 0.75)] ?? 0) - (sorted[Math.floor(all.length * 0.25)] ?? 0);
  };
  // Between the two lies no more than a part of what one of them varies by itself.
  expect(Math.abs(middle(times.known) - middle(times.unknown))).toBeLessThan(Math.max(0.05, spread(times.unknown) / 2));
});
