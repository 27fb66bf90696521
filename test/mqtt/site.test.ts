/** The id of a site that is kept in the state folder. */
import { expect, test } from "bun:test";
import { readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ownSite } from "../../src/mqtt/settings.ts";
import { testFolder } from "../support/folder.ts";

const state = testFolder();
const path = join(state, "mqtt.json");

test("it is made once, and again where the file is damaged, but not where the system cannot read it", async () => {
  const site = await ownSite(state);
  expect(await ownSite(state)).toBe(site);
  const made = new Set([site]);
  for (const text of ["{", "null", '{"site":7}', '{"site":"lab/#"}']) {
    writeFileSync(path, text);
    made.add(await ownSite(state));
  }
  expect([...made].filter((one) => /^[0-9a-f-]{36}$/.test(one))).toHaveLength(5);
  const kept = readFileSync(path, "utf8");
  writeFileSync(join(state, "elsewhere"), kept);
  rmSync(path);
  symlinkSync("elsewhere", path);
  await expect(ownSite(state)).rejects.toMatchObject({ code: "ELOOP" });
  expect(readFileSync(path, "utf8")).toBe(kept);
});
