/** Pairing, and the credentials that it leaves. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ZapdError } from "../../src/api/errors.ts";
import { Credentials } from "../../src/devices/credentials.ts";
import type { Entry } from "../../src/devices/entry.ts";
import type { PairingAnswer } from "../../src/platforms/platform.ts";
import { factsOf } from "../support/fake-platform.ts";
import { until } from "../support/http-device.ts";
import { type House, never, openHouse } from "./harness.ts";

let house: House;
let tv: Entry;
let pairing: (given: PairingAnswer, signal: AbortSignal) => Promise<void>;
beforeEach(async () => {
  house = await openHouse((set) => ({ ...set.connection(), pair: (given, signal) => pairing(given, signal) }));
  tv = await house.add("1", { name: "TV", access: "unpaired" });
  pairing = async () => keeper().keep({ key: "0123456789abcdef", certificate: "aa11" });
});
afterEach(() => house.remove());

const keeper = () => {
  house.devices.of(tv).connection;
  return house.connected.at(-1)?.target.secret ?? expect.unreachable();
};
const file = () => join(house.folder, "credentials.json");
const failure = (work: Promise<unknown>) =>
  work.then(
    () => "none",
    (error: ZapdError) => `${error.code}: ${error.message}`,
  );

describe("pairing", () => {
  test("is a capability, hands on what the caller gives, and leaves the device paired", async () => {
    const given: PairingAnswer[] = [];
    pairing = async (answer) => {
      given.push(answer);
      house.connected.at(-1)?.emit({ type: "facts", facts: factsOf("1", { name: "TV", access: "full" }) });
    };
    expect(house.devices.of(tv).describe().capabilities).toContain("pair");
    await house.devices.of(tv).pair({ pin: "1234" }, never);
    expect(given).toEqual([{ pin: "1234" }]);
    await until("it is paired", () => house.registry.get(tv.id)?.access === "full");
  });

  test("is under way once per device; others hear of it", async () => {
    const gate = Promise.withResolvers<void>();
    let asked = 0;
    pairing = () => {
      asked++;
      return gate.promise;
    };
    const first = house.devices.of(tv).pair({}, never);
    expect(await failure(house.devices.of(tv).pair({}, never))).toBe(
      "pairing_failed: TV is being paired already: its user is asked once",
    );
    gate.resolve();
    await first;
    expect(asked).toBe(1);
    await house.devices.of(tv).pair({}, never);
    expect(asked).toBe(2);
  });

  test("that fails says why, and the device has answered", async () => {
    pairing = () => Promise.reject(new ZapdError("pairing_failed", "was denied: somebody said no"));
    expect(await failure(house.devices.of(tv).pair({}, never))).toBe("pairing_failed: TV was denied: somebody said no");
    expect(house.devices.of(tv).describe().status).toBe("online");
  });

  test("ends when its caller hangs up, and another may begin", async () => {
    const caller = new AbortController();
    pairing = (_given, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const leaving = house.devices
      .of(tv)
      .pair({}, caller.signal)
      .catch((reason: unknown) => reason);
    caller.abort("gone");
    expect(await leaving).toBe("gone");
    pairing = async () => {};
    await house.devices.of(tv).pair({}, never);
  });

  test("ends with the device: removed and added anew, it can be paired at once", async () => {
    pairing = (_given, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const left = house.devices
      .of(tv)
      .pair({}, never)
      .catch((error: ZapdError) => error.code);
    await house.devices.forget(tv);
    pairing = async () => {};
    await house.devices.of(tv).pair({}, never);
    expect(await left).toBe("device_not_found");
  });

  test("does not wait behind commands, nor they behind it", async () => {
    const gate = Promise.withResolvers<void>();
    pairing = () => gate.promise;
    const waiting = house.devices.of(tv).pair({}, never);
    await house.actions.key(tv, "home", never);
    gate.resolve();
    await waiting;
  });
});

describe("credentials", () => {
  test("are on disk, for the user alone, when they are kept; secrets are hidden, a name and a certificate are not", async () => {
    await house.devices.of(tv).pair({}, never);
    const kept = JSON.parse(readFileSync(file(), "utf8"));
    expect(kept).toEqual({ version: 1, credentials: { [tv.id]: { key: "0123456789abcdef", certificate: "aa11" } } });
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    await keeper().keep({ user: "kodi", password: "s3cret!" });
    expect(house.hidden).toEqual(["0123456789abcdef", "s3cret!"]);
    expect(JSON.stringify(house.devices.describeAll())).not.toContain("s3cret!");
  });

  test("are hidden from the start when they are read from disk", async () => {
    await house.devices.of(tv).pair({}, never);
    const hidden: string[] = [];
    const again = await Credentials.open({ path: file(), damaged: () => {}, hide: (secret) => hidden.push(secret) });
    expect(hidden).toEqual(["0123456789abcdef"]);
    expect(again.keeper(tv.id).read()).toEqual({ key: "0123456789abcdef", certificate: "aa11" });
    expect(again.keeper("__proto__").read()).toBeNull();
  });

  test("are those of one device, and go with it", async () => {
    const other = await house.add("2");
    await house.credentials.keeper(other.id).keep({ key: "other-key" });
    await house.devices.of(tv).pair({}, never);
    await house.devices.forget(tv);
    expect(house.credentials.keeper(tv.id).read()).toBeNull();
    expect(house.credentials.keeper(other.id).read()).toEqual({ key: "other-key" });
    await house.credentials.keeper(other.id).drop();
    expect(JSON.parse(readFileSync(file(), "utf8")).credentials).toEqual({});
  });

  test("of a device that is removed while it is being paired are not kept", async () => {
    const gate = Promise.withResolvers<void>();
    pairing = async () => {
      await gate.promise;
      await keeper().keep({ key: "0123456789abcdef" });
    };
    const answered = failure(house.devices.of(tv).pair({}, never));
    await house.registry.remove(tv.id);
    await house.devices.forget(tv);
    gate.resolve();
    expect(await answered).toBe("device_not_found: TV was removed while it was being paired");
    expect(house.credentials.keeper(tv.id).read()).toBeNull();
  });

  test("in a damaged file are set aside and said", async () => {
    writeFileSync(file(), '{"version":1,"credentials":{"x":{"key":5}}}');
    const problems: string[] = [];
    const opened = await Credentials.open({ path: file(), damaged: (one) => problems.push(one), hide: () => {} });
    expect(problems.length).toBe(1);
    expect(opened.keeper("x").read()).toBeNull();
  });
});
