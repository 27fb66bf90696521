/** Sets of this platform, and connections to them. */
import type { ZapdError } from "../../../src/api/errors.ts";
import { roku } from "../../../src/platforms/roku/adapter.ts";
import type { RokuMemory } from "../../../src/platforms/roku/identity.ts";
import type { RokuSimulator, RokuSimulatorOptions } from "../../../src/simulators/roku.ts";
import { plugInRoku } from "../../support/sets.ts";
import { failure, lineTo } from "../harness.ts";

/** A set, a connection to it, and what it is described to have. */
export async function drive(options: Partial<RokuSimulatorOptions> = {}) {
  const set = await plugInRoku(options);
  const { host, port } = set;
  const line = await lineTo<RokuSimulator, RokuMemory, unknown>(roku, set, { lead: { host, port } });
  return { ...line, ...roku.describe(line.target.facts, line.target.memory, false) };
}

export const refusal = (work: Promise<unknown> | undefined): Promise<ZapdError> => failure(work ?? Promise.resolve());
