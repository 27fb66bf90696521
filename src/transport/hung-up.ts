import { ZapdError } from "../api/errors.ts";

/** The connection ended before an answer was whole: whether what was asked has been done is not known. */
export class HungUp extends ZapdError {
  constructor(problem: string, cause?: unknown) {
    super("device_error", problem, { cause });
  }
}
