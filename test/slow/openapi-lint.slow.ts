/** The OpenAPI document passes Redocly with all its recommended rules. */
import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { frozenFile } from "../openapi/document.ts";
import { saidBy } from "../support/said.ts";
import { root } from "../support/sources.ts";

interface Verdict {
  readonly totals: Readonly<Record<"errors" | "warnings" | "ignored", number>>;
  readonly problems: readonly { readonly ruleId: string; readonly message: string }[];
}

/** Runs Redocly on a document, without telemetry and update notices. */
async function lint(text: string): Promise<Verdict> {
  const folder = mkdtempSync(join(tmpdir(), "zapd-lint-"));
  try {
    writeFileSync(join(folder, "openapi.json"), text);
    copyFileSync(join(import.meta.dir, "../openapi/redocly.yaml"), join(folder, "redocly.yaml"));
    const program = join(root, "node_modules/@redocly/cli/bin/cli.js");
    const child = spawn(process.execPath, [program, "lint", "openapi.json", "--format=json"], {
      cwd: folder,
      env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "true" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const said = saidBy(child);
    await new Promise((resolve) => child.on("close", resolve));
    return JSON.parse(said.stdout) as Verdict;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("no error and no warning, and nothing is ignored", async () => {
  const { totals, problems } = await lint(readFileSync(frozenFile, "utf8"));
  expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
  expect(totals).toEqual({ errors: 0, warnings: 0, ignored: 0 });
});

test("the linter would say so", async () => {
  const spoilt = readFileSync(frozenFile, "utf8")
    .replace('"operationId": "listDevices"', '"operationId": "getDevice"')
    .replace('"#/components/schemas/Volume"', '"#/components/schemas/Loudness"')
    .replace('"summary": "Every known device"', '"summery": "Every known device"');
  const rules = (await lint(spoilt)).problems.map(({ ruleId }) => ruleId);
  for (const rule of ["operation-operationId-unique", "no-unresolved-refs", "struct"]) expect(rules).toContain(rule);
});
