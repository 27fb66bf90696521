import { ZapdError } from "../api/errors.ts";

/**
 * The machine at the address answers that nothing of the device runs there any more: it is off, and no magic packet starts
 * it; unless it has moved, which is worth a look.
 */
export class Ended extends ZapdError {
  constructor(problem: string, hint: string) {
    super("device_unreachable", problem, { hint });
  }
}
