/** The README of test/security shows the orders that are played, and what stays possible. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Order, orders } from "./orders.ts";
import { listOfAccepted, listOfManners, tableOfOrders } from "./table.ts";

const readme = readFileSync(join(import.meta.dir, "..", "README.md"), "utf8");

test("the README holds the orders that are played, the manners of the strangers, and what stays possible", () => {
  for (const part of [tableOfOrders(), listOfManners(), listOfAccepted()]) expect(readme).toContain(part);
});

test("T29 every order that SECURITY.md 2.4 names is among them", () => {
  const seen = (field: keyof Order) => new Set(orders.map((order) => order[field]));
  for (const story of ["up", "off", "returning", "moved", "replaced"] as const) expect(seen("real")).toContain(story);
  for (const time of ["before", "during", "after"] as const) expect(seen("stranger")).toContain(time);
  for (const way of ["scan", "add", "announcement"] as const) expect(seen("seenBy")).toContain(way);
  for (const where of ["same address", "other address"] as const) expect(seen("where")).toContain(where);
  expect(seen("secrets")).toEqual(new Set([true, false]));
  expect(new Set(orders.map(({ title }) => title)).size).toBe(orders.length);
});
