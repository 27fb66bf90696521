/** Discovery: a set answers searches for several targets (smart-tvs.md 3.1). */
import type { Discovery } from "../bench/set.ts";
import { createResponder, upnpReply } from "../bench/ssdp.ts";
import type { Model } from "./model.ts";
import { rendererUuid } from "./renderer.ts";

const REMOTE = "urn:samsung.com:device:RemoteControlReceiver:1";
const RENDERER = "urn:schemas-upnp-org:device:MediaRenderer:1";
const CONTROL = "urn:schemas-upnp-org:service:RenderingControl:1";
const SERVER = "SHP, UPnP/1.0, Samsung UPnP SDK/1.0";

export function createDiscovery(model: Model, port: () => number): Discovery {
  const { host, duid, rendererPort } = model.options;
  const targets = [REMOTE, ...(rendererPort === null ? [] : [RENDERER, CONTROL])];
  return createResponder(host, (wants) =>
    targets.filter(wants).map((target) => {
      const uuid = target === REMOTE ? duid : rendererUuid(model);
      return upnpReply({ location: `http://${host}:${port()}/dmr`, server: SERVER, target, uuid });
    }),
  );
}
