import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readAnswer, searchSsdp } from "../../src/discovery/ssdp.ts";
import { ScanWindow } from "../../src/discovery/window.ts";
import type { SsdpAnswer } from "../../src/platforms/platform.ts";
import { found, type Responder, startResponder, whyNoSearches } from "../support/ssdp-responder.ts";
import { runs, within } from "../support/whole.ts";

const noSearches = await whyNoSearches();
if (noSearches !== null) process.stderr.write(`skipped: searching over SSDP: ${noSearches}\n`);

const bytes = (text: string) => Buffer.from(text, "latin1");

describe("a datagram", () => {
  test("that answers a search gives its headers, names in lower case, and who sent it", () => {
    const answer = readAnswer(
      bytes("HTTP/1.1 200 OK\r\nST: x:y\r\nLOCATION:http://1.2.3.4:80/ \r\nExt:\r\n\r\n"),
      "1.2.3.4",
    );
    expect(answer?.source).toBe("1.2.3.4");
    expect(Object.fromEntries(answer?.headers ?? [])).toEqual({ st: "x:y", location: "http://1.2.3.4:80/", ext: "" });
  });

  test("may end its lines carelessly, lack its end, and say things twice: the first counts", () => {
    const answer = readAnswer(bytes("HTTP/1.0 200\nst: a\nST: b\nno header\n: c\nusn : d"), "1.2.3.4");
    expect(Object.fromEntries(answer?.headers ?? [])).toEqual({ st: "a", usn: "d" });
  });

  test("that is a search, an announcement, a failure, empty or too long is none", () => {
    const long = `HTTP/1.1 200 OK\r\nX: ${"y".repeat(5_000)}\r\n\r\n`;
    for (const text of [
      "",
      "M-SEARCH * HTTP/1.1\r\nST: x\r\n\r\n",
      "NOTIFY * HTTP/1.1\r\n\r\n",
      "HTTP/1.1 404 No\r\n\r\n",
      "HTTP/1.1 2000\r\n",
      "HTTP/2 200 OK",
      " HTTP/1.1 200 OK",
      "\0",
      long,
    ])
      expect([text.slice(0, 20), readAnswer(bytes(text), "1.2.3.4")]).toEqual([text.slice(0, 20), null]);
  });

  test(
    "T6 of any bytes is an answer or none, and no header holds a line break",
    () => {
      const good = bytes("HTTP/1.1 200 OK\r\nST: x\r\nUSN: uuid:1\r\nLOCATION: http://1.2.3.4:80/\r\n\r\n");
      const noise = fc.uint8Array({ maxLength: 200 });
      const mutated = fc
        .tuple(fc.nat(good.length), fc.uint8Array({ maxLength: 20 }), fc.nat(10))
        .map(([at, more, cut]) => Buffer.concat([good.subarray(0, at), more, good.subarray(at + cut)]));
      fc.assert(
        fc.property(fc.oneof({ weight: 4, arbitrary: mutated }, noise), (datagram) => {
          const answer = readAnswer(datagram, "1.2.3.4");
          for (const [name, value] of answer?.headers ?? []) {
            expect(name).toBe(name.trim().toLowerCase());
            expect(name + value).not.toInclude("\n");
          }
        }),
        { numRuns: runs(20_000, 200_000) },
      );
    },
    within(),
  );
});

describe.skipIf(noSearches !== null).concurrent("a search", () => {
  const lo = { name: "lo", address: "127.0.0.1", netmask: "255.0.0.0", broadcast: "127.255.255.255", loopback: true };
  const responders: Responder[] = [];
  afterAll(() => {
    for (const responder of responders.splice(0)) responder.stop();
  });

  async function respond(reply: Parameters<typeof startResponder>[0]): Promise<Responder> {
    const responder = await startResponder(reply);
    responders.push(responder);
    return responder;
  }

  /** Searches on loopback, and gives the answers. */
  async function search(
    targets: readonly string[],
    timeoutMs: number,
    options: { interfaces?: (typeof lo)[]; stop?: AbortSignal; join?: number; heard?: () => void } = {},
  ) {
    const start = performance.now();
    const answers: SsdpAnswer[] = [];
    const troubles: string[] = [];
    const window = new ScanWindow(timeoutMs, options.stop ?? new AbortController().signal);
    if (options.join !== undefined) setTimeout(() => window.extend(), options.join);
    await searchSsdp({
      targets,
      interfaces: options.interfaces ?? [lo],
      window,
      onAnswer: (answer) => {
        answers.push(answer);
        options.heard?.();
      },
      onTrouble: (problem) => troubles.push(problem),
    });
    return { answers, troubles, took: performance.now() - start };
  }

  test("asks as UPnP wants it, and hears of a device at once, long before it ends", async () => {
    const { target, searches } = await respond((_number, target) => [found(target, "http://127.0.0.1:8060/")]);
    // What is heard ends this search.
    const stop = new AbortController();
    const options = { stop: stop.signal, heard: () => stop.abort() };
    const { answers, took, troubles } = await search([target], 20_000, options);
    expect(searches[0]).toBe(
      [
        "M-SEARCH * HTTP/1.1",
        "HOST: 239.255.255.250:1900",
        'MAN: "ssdp:discover"',
        "MX: 3",
        `ST: ${target}`,
        "",
        "",
      ].join("\r\n"),
    );
    expect(answers[0]?.source).toBe("127.0.0.1");
    expect(answers[0]?.headers.get("location")).toBe("http://127.0.0.1:8060/");
    expect(took).toBeLessThan(19_000);
    expect(troubles).toEqual([]);
  });

  test("is repeated, so that a set that misses the first is found", async () => {
    const { target, searches } = await respond((number, target) =>
      number < 3 ? [] : [found(target, "http://127.0.0.1:1/")],
    );
    const { answers, took } = await search([target], 1_500);
    expect(answers.length).toBeGreaterThan(0);
    expect(searches[0]).toInclude("\r\nMX: 1\r\n");
    expect(took).toBeGreaterThan(1_450);
    expect(searches.length).toBeGreaterThanOrEqual(3);
  });

  test("asks again for one who joins, and listens as long for it", async () => {
    const { target, searches } = await respond(() => []);
    const { took } = await search([target], 990, { join: 350 });
    expect(searches[0]).toInclude("\r\nMX: 1\r\n");
    expect(took).toBeGreaterThan(1_300);
    expect(took).toBeLessThan(4_000);
    expect(searches.length).toBeGreaterThanOrEqual(6);
  });

  test("ends at once when the daemon stops", async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 60);
    expect((await search(["zapd-test:none"], 5_000, { stop: stop.signal })).took).toBeLessThan(4_000);
    expect((await search(["zapd-test:none"], 5_000, { stop: stop.signal })).took).toBeLessThan(4_000);
  });

  test("on an interface that is gone says so, and goes on with the others", async () => {
    const { target } = await respond((_number, target) => [found(target, "http://127.0.0.1:1/")]);
    const gone = {
      name: "wlan9",
      address: "203.0.113.7",
      netmask: "255.255.255.0",
      broadcast: "203.0.113.255",
      loopback: false,
    };
    const { answers, troubles } = await search([target], 1_500, { interfaces: [gone, lo] });
    expect(answers.length).toBeGreaterThan(0);
    expect(troubles.length).toBe(1);
    expect(troubles[0]).toMatch(/^The SSDP search on wlan9 \(203\.0\.113\.7\) failed: (?!Error).+\. zapd doctor says /);
  });

  test("that cannot be sent says so once, and is not sent again for one who joins", async () => {
    const { troubles } = await search(["x".repeat(70_000)], 1_000, { join: 300 });
    expect(troubles).toEqual([expect.stringContaining("The SSDP search on lo (127.0.0.1) failed: ")]);
  });

  test("without a target or an interface asks nothing, and ends at once", async () => {
    expect((await search([], 5_000)).took).toBeLessThan(4_000);
    expect((await search(["x"], 5_000, { interfaces: [] })).took).toBeLessThan(4_000);
  });
});
