/** What every platform that pairs must keep to, seen over HTTP: whatever becomes of a pairing, nothing is left of it but its success. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { operations, success } from "../../src/api/operations.ts";
import type { Pairing, Platform } from "../../src/platforms/platform.ts";
import { type House, openHouseOf } from "../support/house-of.ts";
import { until } from "../support/http-device.ts";

/** A set that lets nobody in yet. */
export interface LockedSet {
  readonly host: string;
  readonly port: number;
  /** Whether it asks for something on its screen now; one that wants a login shows nothing. */
  readonly asking: boolean;
  /** The code that it shows now, where it shows one. */
  readonly code?: string | null;
  /** Its user accepts, where that is how it is paired. */
  accept(): void;
  /** Its user refuses, where that is how it is paired. */
  refuse(): void;
  stop(): Promise<void>;
}

export interface PairingContract {
  readonly platform: Platform;
  readonly step: Pairing["step"];
  start(): Promise<LockedSet>;
  /** What is typed, where something is; of a set that shows a code, what it shows. */
  readonly right?: object | ((set: LockedSet) => object);
  /** What is certainly not that. */
  readonly wrong?: object | ((set: LockedSet) => object);
}

export function pairingContract({ platform, step, start, right, wrong }: PairingContract): void {
  let house: House;
  let set: LockedSet;
  let id = "";
  const started: LockedSet[] = [];

  beforeAll(async () => {
    house = await openHouseOf(platform);
  });
  afterAll(async () => {
    await house.dispose();
    for (const one of started) await one.stop();
  });
  beforeEach(async () => {
    set = await start();
    started.push(set);
    const { host, port } = set;
    const added = await house.api("POST", "/devices", { host, port, platform: platform.name });
    if (added.status !== 200) throw new Error(`the set was not added: ${JSON.stringify(added.body)}`);
    id = added.body.data.id;
  });

  const typed = (what: PairingContract["right"]) => (typeof what === "function" ? what(set) : what);
  const pair = (body?: object) => house.api("POST", `/devices/${id}/pair`, body);
  const begin = async () => success(operations.pairDevice.data).parse((await pair({ begin: true })).body).data;
  const access = async () => (await house.api("GET", `/devices/${id}`)).body.data?.access;
  const kept = () => {
    const file = join(house.folder, "state/credentials.json");
    return existsSync(file) && Object.hasOwn(JSON.parse(readFileSync(file, "utf8")).credentials, id);
  };
  /** Ends it well, whoever does that. */
  const finish = async () => {
    if (right) return pair(typed(right));
    const waiting = pair();
    set.accept();
    return waiting;
  };

  describe(`platform ${platform.name}: pairing`, () => {
    test("right: it is told how to go on, lets us in, and what it gave is kept", async () => {
      expect(await access()).toBe("unpaired");
      const begun = await begin();
      expect(begun.step).toBe(step);
      expect(Date.parse(begun.expires_at ?? "") - Date.now()).toBeWithin(20_000, 300_001);
      expect(set.asking).toBe(step !== "login");
      expect((await finish()).status).toBe(200);
      expect([await access(), kept()]).toEqual(["full", true]);
      await until("nothing is asked any more", () => !set.asking);
    });

    test("wrong, or denied: it says which, and nothing is kept; another try can be right", async () => {
      if (wrong) await begin();
      const failing = pair(typed(wrong));
      if (!wrong) {
        await until("it is asked", () => set.asking);
        set.refuse();
      }
      const { body } = await failing;
      expect([body.error.code, body.error.reason]).toEqual(["pairing_failed", wrong ? "wrong" : "denied"]);
      expect([await access(), kept()]).toEqual(["unpaired", false]);
      if (!wrong) await begin();
      expect((await finish()).status).toBe(200);
      expect(kept()).toBe(true);
    });

    test("given up: nothing is asked any more, and nothing is kept", async () => {
      await begin();
      const given = success(operations.cancelPairing.data).parse(
        (await house.api("DELETE", `/devices/${id}/pair`)).body,
      );
      expect(given.data.cancelled).toBe(true);
      await until("nothing is asked any more", () => !set.asking);
      expect([await access(), kept()]).toEqual(["unpaired", false]);
      await begin();
      expect((await finish()).status).toBe(200);
    });

    test("twice at once: the second waits for the same prompt, or hears that it is busy", async () => {
      await begin();
      const second = pair({ begin: true });
      if (step === "confirm") expect((await second).body.data.step).toBe(step);
      else expect((await second).body.error.code).toBe("device_busy");
      expect((await finish()).status).toBe(200);
    });

    test("removed in the midst: nothing is asked any more, and nothing is left", async () => {
      await begin();
      expect((await house.api("DELETE", `/devices/${id}`)).status).toBe(200);
      await until("nothing is asked any more", () => !set.asking);
      if (!right) set.accept();
      expect((await finish()).status).toBe(404);
      expect(kept()).toBe(false);
    });

    test("what was kept stays while another pairing comes to nothing", async () => {
      await begin();
      expect((await finish()).status).toBe(200);
      if (wrong) {
        await begin();
        expect((await pair(typed(wrong))).body.error.reason).toBe("wrong");
      }
      expect((await house.api("DELETE", `/devices/${id}/pair`)).status).toBe(200);
      expect([await access(), kept()]).toEqual(["full", true]);
    });
  });
}
