/** What comes from others (SECURITY.md T25, T26): few packages, locked by their hashes, none of which runs anything when installed. */
import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../support/sources.ts";

interface Locked {
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}
const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), "utf8"));
const own = readJson("package.json") as {
  readonly version: string;
  readonly scripts: Record<string, string>;
  readonly dependencies: Record<string, string>;
  readonly devDependencies: Record<string, string>;
  readonly allowScripts: Record<string, boolean>;
};
const lock = readJson("package-lock.json") as { lockfileVersion: number; packages: Record<string, Locked> };
const packages = Object.entries(lock.packages).filter(([path]) => path !== "");
const running = packages.filter(([, one]) => !one.dev);
const nameOf = (path: string) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);

/** Licences that ask for no more than to be named. */
const free = ["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "0BSD"];

describe("T25 dependencies", () => {
  test("T25 are few, each locked by its hash", () => {
    expect(Object.keys(own.dependencies).length).toBeLessThanOrEqual(10);
    expect(lock.lockfileVersion).toBe(3);
    for (const [path, { integrity }] of packages)
      expect([path, integrity]).toEqual([path, expect.stringMatching(/^sha512-[A-Za-z0-9+/]{86}==$/)]);
  });

  test("T25 run nothing when they are installed, but for the runtimes", () => {
    const scripts = packages.filter(([, one]) => one.hasInstallScript).map(([path]) => nameOf(path));
    expect(scripts.toSorted()).toEqual(["bun", "deno"]);
    expect(own.allowScripts).toEqual({ bun: true, deno: true });
  });

  test("T25 are installed as they are locked: the lockfile is that of package.json, and node_modules that of the lockfile", () => {
    const folder = mkdtempSync(join(tmpdir(), "zapd-frozen-"));
    try {
      for (const name of ["package.json", "package-lock.json"]) copyFileSync(join(root, name), join(folder, name));
      // It refuses a lockfile that does not fit, and with `--dry-run` fetches and writes nothing.
      execFileSync("npm", ["ci", "--dry-run", "--offline", "--ignore-scripts"], { cwd: folder, stdio: "pipe" });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    for (const [path, { version }] of running) {
      if (path.includes("node_modules/@oven/")) continue;
      expect([path, (readJson(`${path}/package.json`) as Locked).version]).toEqual([path, version]);
    }
  });

  test("T25 that run are free to use", () => {
    for (const [path, { license = "none" }] of running)
      expect([path, free]).toEqual([path, expect.arrayContaining([license])]);
  });

  test("T25 are no older than the last known holes of their kind", () => {
    const least = { hono: [4, 12, 16] } as const;
    for (const [name, wanted] of Object.entries(least)) {
      const is = lock.packages[`node_modules/${name}`]?.version.split(".").map(Number) ?? [];
      const at = wanted.findIndex((part, index) => part !== is[index]);
      expect([name, at === -1 || (is[at] ?? 0) > (wanted[at] ?? 0)]).toEqual([name, true]);
    }
  });
});

test("T25 the list of what is in the program names each package with its hash, and the runtime", async () => {
  const { sbomOf } = (await import(join(root, ".ci/sbom.ts"))) as {
    sbomOf(name: string, version: string, lock: unknown, runtime: string): string;
  };
  const text = sbomOf("zapd", own.version, lock, Bun.version);
  expect(sbomOf("zapd", own.version, lock, Bun.version)).toBe(text);
  const sbom = JSON.parse(text) as {
    bomFormat: string;
    components: { name: string; version: string; purl: string; hashes: { content: string }[]; licenses: unknown[] }[];
  };
  expect(sbom.bomFormat).toBe("CycloneDX");
  const listed = sbom.components.map(({ name, version }) => `${name} ${version}`);
  const expected = [...running.map(([path, { version }]) => `${nameOf(path)} ${version}`), `bun ${Bun.version}`];
  expect(listed.toSorted()).toEqual(expected.toSorted());
  for (const { hashes, purl, licenses } of sbom.components) {
    expect(hashes[0]?.content).toMatch(/^[0-9a-f]{128}$/);
    expect(purl).toMatch(/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d/);
    expect(licenses).toHaveLength(1);
  }
});

describe("T26 the runtimes", () => {
  test("T26 are pinned, and are those that run here", () => {
    for (const name of ["bun", "deno"]) {
      const pinned = own.devDependencies[name];
      expect([name, pinned]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
      expect([name, lock.packages[`node_modules/${name}`]?.version]).toEqual([name, pinned]);
    }
    expect(Bun.version).toBe(own.devDependencies["bun"] ?? "");
    const deno = execFileSync(join(root, "node_modules/.bin/deno"), ["--version"], { encoding: "utf8" });
    expect(deno).toStartWith(`deno ${own.devDependencies["deno"]} `);
  });

  test("T26 are each held to the doors: guard, framing, sizes, slow callers, faults", () => {
    const doors = ["test/blackbox", "test/server/guard", "test/server/limits", "test/security/raw-"];
    const gate = readFileSync(join(root, ".ci/run"), "utf8");
    for (const runtime of ["binary", "deno"]) {
      const words = own.scripts[`test:${runtime}`]?.split(" ") ?? [];
      expect(words).toEqual(expect.arrayContaining([`ZAPD_TEST_RUNTIME=${runtime}`, ...doors]));
      expect(gate).toContain(`npm run -s test:${runtime}\n`);
    }
  });
});
