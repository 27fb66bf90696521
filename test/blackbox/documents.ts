/** Documents of Rokus that the simulator does not send. */
import type { SimulatedApp } from "../../src/simulators/roku.ts";
import type { Reply } from "../support/wire.ts";

/** Without a type or a version the attribute is missing, as on old firmware. */
export const app = (
  id: string,
  name: string,
  type: string | null = "appl",
  version: string | null = "4.2.17",
): SimulatedApp => ({ id, name, type, version });

export const page = (body: string | Buffer, type = 'text/xml; charset="utf-8"'): Reply => ({
  status: 200,
  headers: { "Content-Type": type },
  body,
});
