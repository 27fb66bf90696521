/** Discovery: a set runs four UPnP stacks, each with a description. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { tag, upnpDescription } from "../bench/documents.ts";
import { uuidOf } from "../bench/identity.ts";
import { Listener } from "../bench/listeners.ts";
import type { Discovery } from "../bench/set.ts";
import { createResponder, upnpReply } from "../bench/ssdp.ts";
import { createWebServer } from "../bench/websocket.ts";
import type { Model } from "./model.ts";

/** The search targets of the stacks; each stack has its own UUID and random port (smart-tvs.md 2.1). */
const STACKS = [
  "urn:lge-com:service:webos-second-screen:1",
  "urn:dial-multiscreen-org:service:dial:1",
  "urn:schemas-upnp-org:device:MediaRenderer:1",
  "urn:lge:device:tv:1",
];

export interface Stack {
  readonly target: string;
  readonly uuid: string;
  /** The port of its description. */
  readonly listener: Listener;
}

/** The Server header shows the webOS version (smart-tvs.md 2.1). */
const serverOf = ({ firmware }: Model) => `WebOS/${firmware.release} UPnP/1.0`;

export function createStacks(model: Model): readonly Stack[] {
  const { host, uuid: own, model: modelName, describedModel } = model.options;
  return STACKS.map((target) => {
    const uuid = uuidOf(`${own} ${target}`);
    const answer = (_request: IncomingMessage, response: ServerResponse) => {
      const device = {
        deviceType: "urn:schemas-upnp-org:device:Basic:1",
        friendlyName: model.name,
        manufacturer: "LG Electronics",
        modelName: describedModel ?? modelName,
        UDN: `uuid:${uuid}`,
      };
      response.writeHead(200, { "Content-Type": "text/xml", Server: serverOf(model) });
      response.end(upnpDescription(device, [tag("service", { serviceType: target })]));
    };
    const listener = new Listener(host, 0, (track) => createWebServer({ certificate: null, answer }, track));
    return { target, uuid, listener };
  });
}

export function createDiscovery(model: Model, stacks: readonly Stack[]): Discovery {
  const { host, ssdpDelayMs } = model.options;
  const server = serverOf(model);
  const responder = createResponder(
    host,
    (wants) =>
      stacks
        .filter(({ target }) => wants(target))
        .map(({ target, uuid, listener: { port } }) =>
          upnpReply({ location: `http://${host}:${port}/`, server, target, uuid }),
        ),
    ssdpDelayMs,
  );
  return {
    get on() {
      return responder.on;
    },
    async open() {
      for (const { listener } of stacks) await listener.open();
      await responder.open();
    },
    async close() {
      await Promise.all([responder.close(), ...stacks.map(({ listener }) => listener.close())]);
    },
  };
}
