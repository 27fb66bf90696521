import { describe, expect, test } from "bun:test";
import { ZapdError } from "../../src/api/errors.ts";
import { fakePlatform, sightingOf } from "../support/fake-platform.ts";
import { announce } from "../support/mdns-service.ts";
import { found, whyNoSearches } from "../support/ssdp-responder.ts";
import { at, look, platformFor, respond } from "./harness.ts";

const noSearches = await whyNoSearches();
if (noSearches !== null) process.stderr.write(`skipped: discovery over SSDP: ${noSearches}\n`);

describe.skipIf(noSearches !== null).concurrent("a scan", () => {
  test("finds each device once, the moment it answers, and answers with all when the time is over", async () => {
    const { target } = await respond(at(1, 2, 2, 3));
    const { discovery, findings } = look([platformFor(target)], { timeout_ms: 700 });
    expect((await discovery.scan()).sort()).toEqual(["id-1", "id-2", "id-3"]);
    expect(findings.map(({ sighting }) => sighting.identity).sort()).toEqual(["id-1", "id-2", "id-3"]);
    for (const finding of findings) expect(finding.at).toBeLessThan(350);
  });

  test("is shared by all who ask at the same time, and the next one is another", async () => {
    const { target } = await respond(at(1));
    let asked = 0;
    const platform = platformFor(target, async () => {
      asked++;
      return sightingOf("1");
    });
    const { discovery } = look([platform]);
    const results = await Promise.all(Array.from({ length: 10 }, () => discovery.scan()));
    expect(new Set(results).size).toBe(1);
    expect(asked).toBe(1);
    await discovery.scan();
    expect(asked).toBe(2);
  });

  test("that is joined late still hears of a device that was off before", async () => {
    let on = false;
    const { target } = await respond((_number, target) => (on ? [found(target, "http://127.0.0.1:1/")] : []));
    const { discovery } = look([platformFor(target)], { timeout_ms: 500 });
    const first = discovery.scan();
    await Bun.sleep(450);
    on = true;
    expect(await discovery.scan()).toEqual(["id-1"]);
    expect(await first).toEqual(["id-1"]);
  });

  test("passes over who is nobody", async () => {
    const { target } = await respond(at(1, 2));
    const platform = platformFor(target, async (address) => {
      if (address.port === 1) throw new ZapdError("device_error", "is nobody");
      return sightingOf("2");
    });
    expect(await look([platform]).discovery.scan()).toEqual(["2"]);
  });

  test("asks every platform's own search, and merges one device that answers twice", async () => {
    const one = await respond(at(1, 2));
    const other = await respond(at(1));
    const same = async () => sightingOf("same");
    const { discovery, findings } = look([
      platformFor(one.target, same, "one"),
      platformFor(other.target, same, "other"),
    ]);
    expect(await discovery.scan()).toEqual(["same", "same"]);
    expect(new Set(findings.map(({ platform }) => platform))).toEqual(new Set(["one", "other"]));
  });

  test("never looks at zapd's own door, nor at a port that is none", async () => {
    const { target } = await respond(at(0, 7_272, 65_536, 99_999, 5));
    const asked: number[] = [];
    const platform = platformFor(target, async (address) => {
      asked.push(address.port);
      return sightingOf(String(address.port));
    });
    await look([platform], {}, (address) => address.port === 7_272).discovery.scan();
    expect(asked).toEqual([5]);
  });
});

test("a service that is announced over mDNS is found through the query of its platform, and asked who it is", async () => {
  const service = announce("zapd-test", { id: "set-7" });
  try {
    const platform = fakePlatform({
      queries: [
        {
          over: "mdns",
          type: "_zapd-test._tcp",
          read: (one) => (one.name === service.name ? { host: "127.0.0.1", port: one.port } : null),
        },
      ],
      identify: async (address) => sightingOf(`set on ${address.port}`),
    });
    const { discovery, findings } = look([platform], { timeout_ms: 1_000 });
    expect(await discovery.scan()).toEqual([`set on ${service.port}`]);
    expect(findings[0]?.at).toBeLessThan(950);
  } finally {
    await service.stop();
  }
});
