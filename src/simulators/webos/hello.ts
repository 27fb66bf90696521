import type { Model } from "./model.ts";
import type { Payload } from "./wire.ts";

/** As a set on release 6.4.0 was logged answering, `deviceOSVersion` 4.1.0 included (home-assistant/core#131981). */
export function helloOf({ firmware, identity }: Model, id: unknown): Payload {
  const payload = {
    protocolVersion: 1,
    deviceType: "tv",
    deviceOS: "webOS",
    deviceOSVersion: "4.1.0",
    deviceOSReleaseVersion: firmware.release,
    deviceUUID: identity.uuid,
    pairingTypes: firmware.pairingTypes,
  };
  return { ...(firmware.hello === "with-id" ? { id } : {}), type: "hello", payload };
}
