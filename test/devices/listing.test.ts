/** The written list never says what is not so any more. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Device } from "../../src/api/operations.ts";
import type { Entry } from "../../src/devices/entry.ts";
import { Listing } from "../../src/devices/listing.ts";
import { defaultConfig, type House, openHouse } from "./harness.ts";

let house: House;
let listing: Listing;
let one: Entry;
let described = 0;

beforeAll(async () => {
  house = await openHouse();
  const { control } = house;
  const describe = control.describe.bind(control);
  control.describe = (...given) => {
    described++;
    return describe(...given);
  };
  listing = new Listing(house.registry, control, (json) => new TextEncoder().encode(json));
  one = await house.add("one", { name: "One é" });
  await house.add("two", { name: "Two" });
});
afterAll(() => house.remove());

const list = () => JSON.parse(new TextDecoder().decode(listing.bytes())) as Device[];
/** How many devices were written anew for the list. */
function writtenFor(read: () => void): number {
  const before = described;
  read();
  return described - before;
}

test("says what describing each would, and writes it once", () => {
  expect(writtenFor(list)).toBe(2);
  expect(list()).toEqual(house.control.describeAll());
  const bytes = listing.bytes();
  expect(listing.bytes()).toBe(bytes);
});

test("contact with a device is seen, and only that device is written anew", () => {
  expect(list()[0]?.status).toBe("online");
  house.registry.noteContact(one.id, false);
  expect(writtenFor(() => expect(list()[0]?.status).toBe("offline"))).toBe(1);
  const seen = list()[0]?.last_seen;
  house.registry.noteContact(one.id, true);
  expect(list()[0]?.status).toBe("online");
  expect(String(list()[0]?.last_seen) >= String(seen)).toBe(true);
  expect(list()).toEqual(house.control.describeAll());
});

test("a new name, another default, a device more and one less are seen", async () => {
  await house.registry.change(one.id, { name: "First" });
  expect(list().map(({ name }) => name)).toEqual(["First", "Two"]);
  house.config = { ...defaultConfig(), daemon: { ...defaultConfig().daemon, default_device: "two" } };
  expect(list().map((device) => device.is_default)).toEqual([false, true]);
  const three = await house.add("three");
  expect(list()).toHaveLength(3);
  await house.registry.remove(three.id);
  house.control.forget(three.id);
  expect(list()).toEqual(house.control.describeAll());
  // What was known of its contact went with it.
  await house.add("three");
  expect(list()[2]).toMatchObject({ id: three.id, status: "online" });
});
