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
  writeFileSync(path, "{");
  const other = await ownSite(state);
  expect(other).not.toBe(site);
  const kept = readFileSync(path, "utf8");
  writeFileSync(join(state, "elsewhere"), kept);
  rmSync(path);
  symlinkSync("elsewhere", path);
  await expect(ownSite(state)).rejects.toMatchObject({ code: "ELOOP" });
  expect(readFileSync(path, "utf8")).toBe(kept);
});
