/** How a set is found: one set answers to several searches (smart-tvs.md 3.1). */
import type { Discovery } from "../bench/set.ts";
import { createResponder } from "../bench/ssdp.ts";
import type { Model } from "./model.ts";
import { rendererUuid } from "./renderer.ts";

const REMOTE = "urn:samsung.com:device:RemoteControlReceiver:1";
const RENDERER = "urn:schemas-upnp-org:device:MediaRenderer:1";
const CONTROL = "urn:schemas-upnp-org:service:RenderingControl:1";

export function createDiscovery(model: Model, port: () => number, delayMs: number): Discovery {
  const { host, duid } = model.identity;
  const targets = [REMOTE, ...(model.hasRenderer ? [RENDERER, CONTROL] : [])];
  return createResponder({
    host,
    delayMs,
    replies: (asked) =>
      targets
        .filter((target) => asked === "ssdp:all" || asked === target.toLowerCase())
        .map((target) => {
          const uuid = target === REMOTE ? duid : rendererUuid(model);
          return [
            "HTTP/1.1 200 OK",
            "CACHE-CONTROL: max-age=1800",
            "EXT:",
            `LOCATION: http://${host}:${port()}/dmr`,
            "SERVER: SHP, UPnP/1.0, Samsung UPnP SDK/1.0",
            `ST: ${target}`,
            `USN: uuid:${uuid}::${target}`,
          ];
        }),
  });
}
