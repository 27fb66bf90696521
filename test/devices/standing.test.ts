/** Where a device stands, with a clock and a neighbour table of the test. */
import { describe, expect, test } from "bun:test";
import type { DeviceRecord } from "../../src/devices/record.ts";
import {
  initialStanding,
  type Observation,
  otherAddresses,
  type Place,
  placeAfterContact,
  probationAt,
  probationMs,
  standingSchema,
  standingWhenPaired,
  standingWhenTrusted,
  withoutExpired,
} from "../../src/devices/standing.ts";
import { provesToBe, Trust, type TrustDependencies } from "../../src/devices/trust.ts";
import type { Address, Sighting } from "../../src/platforms/platform.ts";
import { createLog } from "../../src/system/log.ts";
import { fakePlatform, sightingOf } from "../support/fake-platform.ts";
import { folderForEach } from "../support/folder.ts";
import { platformHostOf } from "../support/platform-host.ts";
import { openDevices } from "./harness.ts";

const folder = folderForEach();
const home = { host: "192.0.2.1", port: 9 };
const away = { host: "192.0.2.2", port: 9 };
const third = { host: "192.0.2.3", port: 9 };
const start = Date.parse("2026-01-01T00:00:00.000Z");
const atHome: Place = { ...home, standing: initialStanding };
const hour = 3_600_000;

function after(
  before: Place,
  at: Address | null,
  answering: readonly Address[],
  more: Partial<Observation> & { now?: number } = {},
) {
  const { now = start, ...seen } = more;
  const place = placeAfterContact(
    before,
    { at, answering, hasSecrets: true, reportedMacs: [], macOf: () => null, ...seen },
    now,
  );
  expect(standingSchema.safeParse(JSON.parse(JSON.stringify(place.standing))).success).toBe(true);
  return place;
}

/** The trust in devices, where the neighbour table has this hardware address for `home`. */
async function trustSeeing(mac: string | null, more: Partial<TrustDependencies> = {}) {
  const { registry, credentials } = await openDevices(folder(), []);
  const log = createLog({ level: "error", format: "text", colour: false, write: () => {} });
  const neighbours = { macOf: () => mac, table: () => new Map(mac === null ? [] : [[home.host, mac]]) };
  const parts = { registry, credentials, log, platforms: [], platformHost: platformHostOf(), neighbours };
  return { registry, credentials, trust: new Trust({ ...parts, now: () => start, ...more }) };
}

const reason = ({ standing }: Place, now = start) => probationAt(standing, now)?.reason;
const where = ({ host, port }: Place) => ({ host, port });

describe("T29 a device that is met elsewhere, while its home", () => {
  test("is silent, has moved: on probation with secrets, followed as ever without", () => {
    const moved = after(atHome, away, [away]);
    expect([where(moved), reason(moved)]).toEqual([away, "moved"]);
    const followed = after(atHome, away, [away], { hasSecrets: false });
    expect([where(followed), reason(followed)]).toEqual([away, undefined]);
    expect(otherAddresses(followed.standing, start)).toEqual([home]);
  });

  test("a developer password of its own is such a secret", async () => {
    const { registry, credentials, trust } = await trustSeeing(null);
    const { record } = await registry.merge({ platform: "fake", sighting: sightingOf("1"), address: home });
    expect(reason(trust.placeOf(record, away, [away]))).toBeUndefined();
    await credentials.developer(record.id).keep({ password: "its own" });
    expect(reason(trust.placeOf(record, away, [away]))).toBe("moved");
  });

  test("R17 is not asked to the end when the daemon stops, which does not count as silence", async () => {
    const identify = (_at: Address, signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const stopping = new AbortController();
    const more = { platforms: [fakePlatform({ identify })], stopping: stopping.signal };
    const { registry, trust } = await trustSeeing(null, more);
    const found = { platform: "fake", sighting: sightingOf("1"), address: home };
    const { record } = await registry.merge(found);
    const locating = trust.locate(record, { ...found, address: away }, 60_000);
    stopping.abort(new Error("it stops"));
    await expect(locating).rejects.toThrow("it stops");
  });

  test("answers, stays there, and two answer for it, also without secrets", () => {
    for (const hasSecrets of [true, false]) {
      const met = after(atHome, away, [home, away], { hasSecrets });
      expect([where(met), reason(met)]).toEqual([home, "rival"]);
      expect(met.standing.rivals).toMatchObject([away]);
    }
  });
});

describe("T29 the former address wins when it answers again", () => {
  for (const hasSecrets of [true, false])
    for (const [by, seen] of [
      ["it is met there", { at: home, answering: [home, away] }],
      ["it is asked there when it is met where it moved to", { at: away, answering: [away, home] }],
      ["it is asked there when it is met at a third", { at: third, answering: [third, home] }],
    ] as const)
      test(`and ${by}, ${hasSecrets ? "with" : "without"} secrets`, () => {
        const moved = after(atHome, away, [away], { hasSecrets });
        const back = after(moved, seen.at, seen.answering, { hasSecrets, now: start + hour });
        expect([where(back), reason(back, start + hour)]).toEqual([home, "rival"]);
        expect(back.standing.former).toBeUndefined();
      });

  test("alone: it is back, plausible, and off probation", () => {
    const back = after(after(atHome, away, [away]), home, [home]);
    expect(back).toEqual(atHome);
  });

  test("however often it has moved since", () => {
    const moved = after(after(atHome, away, [away]), third, [third]);
    expect(where(moved)).toEqual(third);
    expect(where(after(moved, home, [home, third]))).toEqual(home);
  });

  test("but not when a day has made the new one plausible: then it is a rival", () => {
    const moved = after(atHome, away, [away]);
    const late = start + probationMs;
    expect(reason(moved, late - 1)).toBe("moved");
    expect(reason(moved, late)).toBeUndefined();
    expect(otherAddresses(moved.standing, late)).toEqual([]);
    const met = after(moved, home, [home, away], { now: late });
    expect([where(met), reason(met, late)]).toEqual([away, "rival"]);
  });
});

describe("probation", () => {
  test("lasts for a day from the last sight of a rival, and a clock that was set back does not end it", () => {
    let place = after(atHome, away, [home, away]);
    place = after(place, away, [home, away], { now: start + 20 * hour });
    expect(place.standing.rivals).toHaveLength(1);
    expect(reason(place, start + 30 * hour)).toBe("rival");
    expect(reason(place, start + 43 * hour)).toBe("rival");
    expect(reason(place, start + 44 * hour)).toBeUndefined();
    expect(reason(place, start - 1_000 * hour)).toBe("rival");
    expect(withoutExpired(place.standing, start + 44 * hour)).toEqual(initialStanding);
  });

  test("goes with a device that moves on, also without secrets", () => {
    const met = after(atHome, away, [home, away], { hasSecrets: false });
    const moved = after(met, away, [away], { hasSecrets: false });
    expect([where(moved), reason(moved)]).toEqual([away, "moved"]);
    expect(otherAddresses(moved.standing, start)).toEqual([home]);
  });

  test("ends with trust; a rival that was dismissed is none while the trusted address answers, another one is", () => {
    const doubted = after(atHome, away, [home, away]);
    const believed = { ...home, standing: standingWhenTrusted(doubted, null) };
    expect(reason(believed)).toBeUndefined();
    expect(after(believed, away, [home, away])).toEqual(believed);
    expect(reason(after(believed, third, [home, third]))).toBe("rival");
    // Where the trusted address is silent, the dismissed one is no more than anybody.
    const moved = after(believed, away, [away]);
    expect([where(moved), reason(moved)]).toEqual([away, "moved"]);
    expect(after(moved, home, [home, away])).toEqual(believed);
  });

  test("ends with pairing anew elsewhere, which dismisses the address that was left", () => {
    const doubted = after(atHome, away, [home, away]);
    const standing = standingWhenPaired(doubted, away, start);
    expect(probationAt(standing, start)).toBeDefined();
    expect(standing.rivals).toMatchObject([home]);
    expect(standingWhenPaired(after(atHome, away, [away]), third, start).former).toBeUndefined();
    const believed = { ...away, standing: standingWhenTrusted({ ...away, standing }, null) };
    expect(after(believed, home, [home, away])).toEqual(believed);
  });

  test("keeps a bounded list of rivals, however many answer, of those dismissed, and of hardware", () => {
    let [place, trusted] = [atHome, atHome];
    for (let port = 10; port < 60; port++) {
      const met = [home, { ...home, port }];
      place = after(place, { ...home, port }, met);
      trusted = { ...home, standing: standingWhenTrusted(after(trusted, null, met), `0a:00:00:00:00:${port}`) };
    }
    expect(place.standing.rivals).toHaveLength(4);
    expect(where(place)).toEqual(home);
    expect([trusted.standing.dismissed.length, trusted.standing.macs.length]).toEqual([16, 16]);
  });
});

describe("the neighbour table", () => {
  const shows = (mac: string | null) => ({ macOf: () => mac });
  const [own, other] = ["0a:00:00:00:00:01", "0a:00:00:00:00:02"];

  test("with other hardware than every known one puts a device on probation, no more", () => {
    const met = after(atHome, home, [home], { reportedMacs: [own], hasSecrets: false, ...shows(other) });
    expect([where(met), reason(met)]).toEqual([home, "hardware"]);
    expect(reason(after(atHome, home, [home], { reportedMacs: [own], ...shows(own) }))).toBeUndefined();
  });

  test("with nothing to say, or of a device of which no hardware is known, is no reason", () => {
    expect(after(atHome, home, [home], { reportedMacs: [own] })).toEqual(atHome);
    const learned = after(atHome, home, [home], shows(own));
    expect(reason(learned)).toBeUndefined();
    expect(reason(after(learned, home, [home], shows(other)))).toBe("hardware");
  });

  test("is known from then on by trust, or by a day", () => {
    const doubted = after(atHome, home, [home], { reportedMacs: [own], ...shows(other) });
    const believed = { ...home, standing: standingWhenTrusted(doubted, other) };
    expect(reason(after(believed, home, [home], { reportedMacs: [own], ...shows(other) }))).toBeUndefined();
    const late = start + probationMs;
    const seen = { reportedMacs: [own], ...shows(other) };
    const again = after(doubted, home, [home], { now: start + hour, ...seen });
    const later = after(again, home, [home], { now: late, ...seen });
    expect(reason(later, late)).toBeUndefined();
  });

  test("teaches nothing of a device that is doubted or has moved, nor where it is paired elsewhere", () => {
    const doubted = after(atHome, home, [home], { reportedMacs: [own], ...shows(other) });
    const paired = standingWhenPaired(doubted, away, start);
    expect(standingWhenTrusted({ ...away, standing: paired }, null).macs).toEqual([]);
    const pairedHere = standingWhenPaired(doubted, home, start);
    expect(standingWhenTrusted({ ...home, standing: pairedHere }, null).macs).toEqual([other]);
    const met = after(atHome, away, [home, away]);
    expect(after(met, home, [home], shows(own)).standing.macs).toEqual([]);
    const moved = after(atHome, away, [away], { hasSecrets: false, ...shows(own) });
    expect(moved.standing.macs).toEqual([]);
    expect(reason(after(doubted, away, [home, away]))).toBe("rival");
  });

  test("says nothing of a device that has left the address at which it shows other hardware: that is the next one's there", () => {
    const doubted = (hasSecrets: boolean) =>
      after(atHome, home, [home], { reportedMacs: [own], hasSecrets, ...shows(other) });
    const moved = (hasSecrets: boolean) =>
      after(doubted(hasSecrets), away, [away], { reportedMacs: [own], hasSecrets, ...shows(own) });
    expect([reason(moved(false)), reason(moved(true))]).toEqual([undefined, "moved"]);
    for (const { standing } of [moved(false), moved(true)]) {
      expect(standingWhenTrusted({ ...away, standing }, own).macs).toEqual([own]);
      expect(withoutExpired(standing, start + probationMs).macs).toEqual([]);
    }
  });

  test("says nothing of a group of speakers, which has no hardware of its own: another of them may lead it", async () => {
    const { registry, trust } = await trustSeeing(other);
    const sighting: Sighting = { ...sightingOf("1"), alone: true };
    const found = await registry.merge({ platform: "fake", sighting, address: away });
    const group = await registry.setStanding(found.record.id, () => ({ ...initialStanding, macs: [own] }));
    const moved = trust.placeOf(group, home, [home]);
    expect([where(moved), reason(moved), trust.doubt(group)]).toEqual([home, undefined, null]);
    expect(reason(trust.placeOf({ ...group, alone: undefined }, home, [home]))).toBe("hardware");
  });

  test("is no reason any more once the user has trusted the device, though it is read again before that is saved", async () => {
    const { registry, trust } = await trustSeeing(other);
    const sighting = sightingOf("1", { macs: [own] });
    const { record } = await registry.merge({ platform: "fake", sighting, address: home });
    expect(trust.doubt(record)?.code).toBe("device_unproven");
    const trusted = trust.trust(record);
    // A health check, while that is being written.
    expect(trust.warnings()).toHaveLength(1);
    await trusted;
    await registry.settled();
    expect(trust.doubt(record)).toBeNull();
  });
});

interface Shown {
  readonly identity: string;
  readonly provisional?: true;
  readonly macs?: readonly string[];
}

test.each([
  ["its own identity", { identity: "a" }, { identity: "a" }, true],
  ["another identity", { identity: "b" }, { identity: "a" }, false],
  ["only an address, where its identity is known", { identity: "a", provisional: true }, { identity: "a" }, false],
  [
    "the address that is all that is known of it",
    { identity: "a", provisional: true },
    { identity: "a", provisional: true },
    true,
  ],
  ["only an address, and its MAC", { identity: "b", provisional: true, macs: ["m"] }, { identity: "a" }, true],
  ["only an address, and another MAC", { identity: "b", provisional: true, macs: ["n"] }, { identity: "a" }, false],
  ["only an address", { identity: "b", provisional: true }, { identity: "a" }, false],
] as const)("T29 what shows %s", (_what, { macs = [], ...shown }: Shown, record: Shown, isIt) => {
  const sighting = { ...shown, facts: { macs } } as unknown as Sighting;
  expect(provesToBe(sighting, { ...record, macs: ["m"] } as unknown as DeviceRecord)).toBe(isIt);
});

test("T29 what tells nothing of itself holds a place against rivals, but what another certificate or port shows moves nothing", async () => {
  const locked = (macs: readonly string[] = [], pairing: Sighting["pairing"] = "required") =>
    sightingOf("x", { macs }, { provisional: true, pairing });
  const located = async (shown: Sighting, at: Address, answer: Sighting | null, known: Partial<Sighting> = {}) => {
    const identify = async () => answer ?? Promise.reject(new Error("nobody answers"));
    const { registry, credentials, trust } = await trustSeeing(null, { platforms: [fakePlatform({ identify })] });
    const { record } = await registry.merge({ platform: "fake", sighting: sightingOf("1", {}, known), address: home });
    if (shown.certificate) await credentials.keeper(record.id).keep({ certificate: "its own" });
    const { place, sighting } = await trust.locate(record, { platform: "fake", sighting: shown, address: at }, 1_000);
    return { ...where(place), sighting };
  };
  const own = sightingOf("1");
  expect(await located(own, away, locked())).toMatchObject(home);
  expect(await located(own, away, locked(["m"]))).toMatchObject(away);
  expect(await located(own, away, locked([], "none"))).toMatchObject(away);
  expect(await located(own, away, sightingOf("y", {}, { pairing: "required" }))).toMatchObject(away);
  expect(await located({ ...own, atSecondaryPort: true }, { ...home, port: 10 }, null)).toMatchObject(home);
  const provisional = { provisional: true } as const;
  expect(await located(sightingOf("2"), away, locked(), provisional)).toMatchObject({ sighting: provisional });
  expect(await located(sightingOf("2"), home, null, provisional)).toMatchObject({ sighting: { identity: "2" } });
  // Nor is what it says of itself taken for what is there.
  expect(await located({ ...own, certificate: "another" }, away, null)).toEqual({ ...home, sighting: null });
});
