/** Discovery over platforms of a test: devices say in LOCATION where they are, and are who they are by that port. */
import { afterAll } from "bun:test";
import type { Config } from "../../src/config/config.ts";
import { Discovery } from "../../src/discovery/discover.ts";
import type { Finding } from "../../src/discovery/probe-queue.ts";
import type { Address, DiscoveryQuery, Platform, Sighting, SsdpAnswer } from "../../src/platforms/platform.ts";
import { fakePlatform, sightingOf } from "../support/fake-platform.ts";
import { found, type Responder, startResponder } from "../support/ssdp-responder.ts";
import { surroundingsOf } from "../support/surroundings.ts";

const cleanups: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

/** A platform whose devices say in LOCATION on which port they are, and are who they are by that port. */
export function platformFor(
  target: string,
  identify?: (address: Address, signal: AbortSignal) => Promise<Sighting>,
  name = "fake",
): Platform {
  const read = ({ headers, source }: SsdpAnswer): Address | null => {
    const port = /^http:\/\/127\.0\.0\.1:(\d+)\//.exec(headers.get("location") ?? "")?.[1];
    return headers.get("st") === target && port ? { host: source, port: Number(port) } : null;
  };
  const queries: DiscoveryQuery[] = target === "" ? [] : [{ over: "ssdp", target, read }];
  const usual = async (address: Address) => sightingOf(`id-${address.port}`);
  return fakePlatform({ name, queries, port: 4_321, identify: identify ?? usual });
}

export interface Looking {
  readonly discovery: Discovery<string>;
  readonly findings: (Finding & { readonly at: number })[];
  readonly warnings: string[];
}

export function look(
  platforms: readonly Platform[],
  config: Partial<Config["discovery"]> = {},
  isOwnListener = (_address: Address) => false,
): Looking {
  const findings: Looking["findings"] = [];
  const warnings: string[] = [];
  const start = performance.now();
  const discovery = new Discovery<string>({
    platforms,
    surroundings: { ...surroundingsOf(), isOwnListener },
    config: () => ({
      on_start: false,
      interval_s: 0,
      timeout_ms: 400,
      interfaces: ["127.0.0.1"],
      hosts: [],
      ...config,
    }),
    found: async (finding) => {
      findings.push({ ...finding, at: performance.now() - start });
      return finding.sighting.identity;
    },
    debug: () => {},
    warn: (message) => warnings.push(message),
  });
  cleanups.push(() => discovery.stop());
  return { discovery, findings, warnings };
}

export async function respond(reply: Parameters<typeof startResponder>[0]): Promise<Responder> {
  const responder = await startResponder(reply);
  cleanups.push(() => responder.stop());
  return responder;
}

export const at =
  (...ports: number[]) =>
  (_number: number, target: string) =>
    ports.map((port) => found(target, `http://127.0.0.1:${port}/`));
