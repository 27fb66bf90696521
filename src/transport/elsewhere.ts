import { ZapdError } from "../api/errors.ts";

/** Another device has taken the address of the one that is meant: no silence, and nothing that waking would mend. */
export class Elsewhere extends ZapdError {
  constructor(host: string) {
    const hint = "Find it at its new address: zapd discover";
    super("device_unreachable", `is not at ${host} any more: another device answers there`, {
      hint,
      reason: "wrong_device",
    });
  }
}
