/** Sideloading, for platforms with a developer mode: installing, starting anew, the console. */
import { describe, expect, test } from "bun:test";
import { type Bench, type DeveloperContract, failure, has, never } from "./bench.ts";

export function developmentContract(bench: Bench, contract: DeveloperContract): void {
  const { platform, app, direct } = bench;
  const workbench = async () => {
    const bench = await direct();
    return { set: bench.set, dev: has(bench.connection.dev), bench };
  };

  describe.concurrent(`platform ${platform.name}: development`, () => {
    test("a package is installed, shown, and listed; the same one again is taken too", async () => {
      const { set, dev, bench } = await workbench();
      const archive = contract.archive();
      const installed = await dev.install(archive, contract.password, never);
      expect(installed.package).toMatchObject({ ...contract.package, bytes: archive.bytes });
      expect(installed.package.files).toBeGreaterThan(0);
      expect(installed.messages.length).toBeGreaterThan(0);
      const own = (await has(bench.connection.apps?.list)(never)).filter((one) => one.type === "dev");
      expect(own).toMatchObject([{ name: contract.package.name }]);
      await dev.install(archive, contract.password, never);
      expect(set.inFront).toBe(own[0]?.platformId ?? "");
    }, 60_000);

    test("a wrong password is dev_auth_failed, and installs nothing", async () => {
      const { dev, bench } = await workbench();
      expect((await failure(dev.install(contract.archive(), "wrong", never))).code).toBe("dev_auth_failed");
      expect((await has(bench.connection.apps?.list)(never)).some((one) => one.type === "dev")).toBe(false);
    });

    test("a file that is no package is refused before the set sees it", async () => {
      const { dev } = await workbench();
      const { code } = await dev
        .install({ path: import.meta.path, bytes: 1 }, contract.password, never)
        .catch((error) => error);
      expect(code).toBe("invalid_archive");
    });

    test("what is sideloaded starts anew, from home and from itself; without it there is nothing to start", async () => {
      const { set, dev, bench } = await workbench();
      expect((await failure(dev.reload(never))).code).toBe("dev_package_missing");
      await dev.install(contract.archive(), contract.password, never);
      expect(await dev.reload(never)).toMatchObject({ type: "dev", name: contract.package.name });
      const own = set.inFront;
      await has(bench.connection.apps?.launch)(app.platformId, {}, never);
      await dev.reload(never);
      expect(set.inFront).toBe(own);
    }, 60_000);

    test("the console gives what was said before, then only what is new, to all who ask", async () => {
      const { set, dev } = await workbench();
      for (const line of ["first", "héllo 📺", "third"]) set.say?.(line);
      const [one, other] = await Promise.all([dev.console.read(null, never), dev.console.read(null, never)]);
      expect(one.lines).toEqual(["first", "héllo 📺", "third"]);
      expect(other).toEqual(one);
      set.say?.("fourth");
      await Bun.sleep(50);
      const next = await dev.console.read(one.cursor, never);
      expect(next.lines).toEqual(["fourth"]);
      expect((await dev.console.read(next.cursor, never)).lines).toEqual([]);
      expect((await dev.console.read("nonsense", never)).lines.length).toBe(4);
    }, 60_000);

    test("the console of a set that serves another is console_in_use; once it is let go it is ours", async () => {
      const { set, dev, bench } = await workbench();
      await dev.console.read(null, never);
      const second = bench.again();
      expect((await failure(has(second.dev).console.read(null, never))).code).toBe("console_in_use");
      bench.connection.close();
      set.say?.("for the second");
      await Bun.sleep(50);
      expect((await has(second.dev).console.read(null, never)).lines).toContain("for the second");
    }, 60_000);
  });
}
