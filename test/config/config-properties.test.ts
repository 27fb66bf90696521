/** The config file over generated patches and generated damage. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { ZapdError } from "../../src/api/errors.ts";
import { ConfigFile } from "../../src/config/config.ts";
import { type Config, settingOf, settings } from "../../src/config/schema.ts";
import { testFolder } from "../support/folder.ts";
import { runs, seed, within } from "../support/whole.ts";

const path = join(testFolder(), "config.toml");

const annotated = readFileSync(join(import.meta.dir, "../../config.toml"), "utf8");
const canary = "c4nary-pass";
const text = () => readFileSync(path, "utf8");

const origins = fc.subarray([
  "http://a.test",
  "http://localhost:3000",
  "https://b.test:8443",
  "chrome-extension://abc",
]);
const plain = fc.string({ unit: "binary", maxLength: 40 }).filter((value) => !/[\p{Cc}\p{Cs}]/u.test(value));
const values: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  "daemon.http_port": fc.integer({ min: 1, max: 65_535 }),
  "daemon.http_host": fc.constantFrom("127.0.0.1", "::1", "localhost", "127.9.9.9"),
  "daemon.cors_enabled": fc.boolean(),
  "daemon.cors_allowed_origins": origins,
  "daemon.default_device": plain.filter((value) => !/[/%]/.test(value)),
  "daemon.log_level": fc.constantFrom("error", "warn", "info", "debug"),
  "discovery.interval_s": fc.integer({ min: 0, max: 86_400 }),
  "discovery.hosts": fc.subarray(["192.168.1.40", "tv.local:8060", "[fe80::1]"]),
  "dev.vendor_password": plain.filter((value) => value !== "[redacted]"),
};
const patch = fc.record(
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, fc.option(value, { freq: 4 })])),
  { requiredKeys: [] },
);
const files = [
  annotated,
  annotated.replaceAll("\n", "\r\n"),
  "",
  annotated.replace(/^[a-z]\w* =.*$/gm, ""),
  annotated.trimEnd(),
];

test(
  `T23 the comments stay, other lines stay, and what was given is read again (seed ${seed})`,
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...files),
        fc.array(patch, { minLength: 1, maxLength: 3 }),
        async (content, patches) => {
          writeFileSync(path, content);
          const config = await ConfigFile.open(path);
          const expected = new Map<string, unknown>(
            [...settings.keys()].map((key) => [key, settingOf(config.running, key)]),
          );
          let last: Config = config.running;
          for (const one of patches) {
            for (const [key, value] of Object.entries(one)) expected.set(key, value ?? settings.get(key)?.defaultValue);
            const given = Object.fromEntries(
              Object.entries(one).map(([key, value]) => [key, Array.isArray(value) ? value.join(",") : value]),
            );
            last = (await config.patch(given)).config;
          }
          const again = (await ConfigFile.open(path)).running;
          expect(again).toEqual(last);
          for (const [key, value] of expected) expect([key, settingOf(again, key)]).toEqual([key, value]);
          expect(commentsIn(text())).toEqual(commentsIn(content));
          const touched = new Set(patches.flatMap((one) => Object.keys(one)));
          const lines = text().split("\n");
          for (const line of content.split("\n")) {
            const name = /^(\w+) =/.exec(line)?.[1];
            if (name && ![...touched].some((key) => key.endsWith(`.${name}`))) expect(lines).toContain(line);
          }
        },
      ),
      { numRuns: runs(60, 5_000), seed },
    );
  },
  within(),
);

test(
  `T23 a damaged file is taken or refused by its place, and never quoted (seed ${seed})`,
  async () => {
    const sound = annotated.replace('vendor_password = ""', `vendor_password = "${canary}"`);
    const damage = fc.array(
      fc.tuple(
        fc.nat(sound.length),
        fc.nat(4),
        fc.constantFrom('"', "[", "]", "=", "\n", "{", "'", ",", "\\", "\0", "x", "#", ".", "é"),
      ),
      { minLength: 1, maxLength: 3 },
    );
    const numRuns = runs(3_000, 45_000);
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(damage, async (cuts) => {
        const damaged = cuts.reduce(
          (rest, [at, length, put]) => rest.slice(0, at) + put + rest.slice(at + length),
          sound,
        );
        writeFileSync(path, damaged);
        const outcome = await ConfigFile.open(path).catch((error: unknown) => error);
        if (outcome instanceof ConfigFile) return void expect(outcome.warnings.join()).not.toContain(canary);
        refused++;
        expect(outcome).toBeInstanceOf(ZapdError);
        const { code, message, hint, cause } = outcome as ZapdError;
        expect([code, message]).toEqual(["config_invalid", expect.stringMatching(/line \d+, column \d+: /)]);
        expect(`${message}${hint}${String(cause)}`).not.toContain(canary);
      }),
      { numRuns, seed },
    );
    expect(refused).toBeGreaterThan(500);
  },
  within(),
);

/** Lines that are comments. */
function commentsIn(toml: string): string[] {
  return toml.split(/\r?\n/).filter((line) => /^\s*#/.test(line));
}
